package layout

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// program is type-checked source, and who calls whom in it.
type program struct {
	fset     *token.FileSet
	info     types.Info
	packages map[string]*types.Package
	others   types.Importer // packages that are only known by what they export
	bodies   map[*types.Func]*ast.FuncDecl
	values   map[string][]*types.Func // functions that are used as values, by signature
	concrete []types.Type             // types that may be behind an interface
}

// newProgram is an empty program. exports has files with what a package exports, as the
// compiler writes them, by import path.
func newProgram(exports map[string]string) *program {
	p := &program{
		fset:     token.NewFileSet(),
		packages: map[string]*types.Package{},
		bodies:   map[*types.Func]*ast.FuncDecl{},
		values:   map[string][]*types.Func{},
	}
	p.info.Types = map[ast.Expr]types.TypeAndValue{}
	p.info.Defs = map[*ast.Ident]types.Object{}
	p.info.Uses = map[*ast.Ident]types.Object{}
	p.others = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return p
}

// Import is types.Importer's.
func (p *program) Import(path string) (*types.Package, error) {
	if pkg := p.packages[path]; pkg != nil {
		return pkg, nil
	}
	return p.others.Import(path)
}

// add takes in the source of a package whose imports are there already.
func (p *program) add(path string, files ...*ast.File) error {
	config := types.Config{Importer: p}
	pkg, err := config.Check(path, p.fset, files, &p.info)
	if err != nil {
		return err
	}
	p.packages[path] = pkg
	for _, name := range pkg.Scope().Names() {
		if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() && !types.IsInterface(t.Type()) {
			p.concrete = append(p.concrete, types.NewPointer(t.Type()))
		}
	}
	for _, file := range files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				p.bodies[p.info.Defs[d.Name].(*types.Func)] = d
			}
		}
		p.addValues(file)
	}
	return nil
}

// goList asks the go command about packages and what they import, imports first.
func goList(format string, packages ...string) (lines []string, err error) {
	command := exec.Command("go", append([]string{"list", "-deps", "-export", "-f", format}, packages...)...)
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	return strings.Split(strings.TrimSpace(string(out)), "\n"), err
}

// loadProgram reads packages of the program, and those of ours that they import.
func loadProgram(dirs ...string) (*program, error) {
	var packages []string
	for _, dir := range dirs {
		packages = append(packages, module+dir)
	}
	lines, err := goList(`{{.ImportPath}} {{.Export}} {{.Dir}} {{join .GoFiles ","}}`, packages...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	p := newProgram(exports)
	for _, line := range lines {
		field := strings.Split(line, " ")
		path, dir := field[0], field[2]
		exports[path] = field[1]
		if !strings.HasPrefix(path, module) {
			continue
		}
		var files []*ast.File
		for name := range strings.SplitSeq(field[3], ",") {
			file, err := parser.ParseFile(p.fset, filepath.Join(dir, name), nil, 0)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		if err := p.add(path, files...); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// standard has what the packages of the standard library export that examples import.
var standard = sync.OnceValues(func() (map[string]string, error) {
	lines, err := goList(`{{.ImportPath}} {{.Export}}`, "fmt", "log/slog", "slices", "strings", "sync", "time")
	exports := map[string]string{}
	for _, line := range lines {
		path, file, _ := strings.Cut(line, " ")
		exports[path] = file
	}
	return exports, err
})

// parseProgram makes a program of one file.
func parseProgram(text string) (*program, error) {
	exports, err := standard()
	if err != nil {
		return nil, err
	}
	p := newProgram(exports)
	file, err := parser.ParseFile(p.fset, "x.go", text, 0)
	if err != nil {
		return nil, err
	}
	return p, p.add("x", file)
}

// name is how the lists of this package call a function: "worker.New",
// "worker.Worker.Turn".
func name(f *types.Func) string {
	text := f.Pkg().Name() + "."
	if receiver := f.Signature().Recv(); receiver != nil {
		t := receiver.Type()
		if pointer, ok := t.(*types.Pointer); ok {
			t = pointer.Elem()
		}
		if named, ok := t.(*types.Named); ok {
			text += named.Obj().Name() + "."
		}
	}
	return text + f.Name()
}

// reach returns the functions that run when those in roots do, each with the one that it
// was found from. It does not go into functions that are cut off.
func (p *program) reach(roots []string, cut func(name string) bool) map[*types.Func]*types.Func {
	from := map[*types.Func]*types.Func{}
	var queue []*types.Func
	visit := func(f, caller *types.Func) {
		if _, seen := from[f]; !seen && p.bodies[f] != nil && !cut(name(f)) {
			from[f] = caller
			queue = append(queue, f)
		}
	}
	for f := range p.bodies {
		if slices.Contains(roots, name(f)) {
			visit(f, nil)
		}
	}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		for _, callee := range p.callees(p.bodies[f].Body) {
			visit(callee, f)
		}
	}
	return from
}

// callees are the functions that code may call: those that it names, the methods behind
// those that it calls of an interface, and, where it calls a value, every function of the
// type that is a value anywhere.
func (p *program) callees(code ast.Node) (all []*types.Func) {
	p.inspect(code, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Ident:
			f, ok := p.info.Uses[n].(*types.Func)
			if !ok {
				return
			}
			all = append(all, f.Origin())
			if receiver := f.Signature().Recv(); receiver != nil && types.IsInterface(receiver.Type()) {
				all = append(all, p.behind(receiver.Type().Underlying().(*types.Interface), f.Name())...)
			}
		case *ast.CallExpr:
			if p.callee(n) == nil && p.info.Types[n.Fun].IsValue() {
				all = append(all, p.values[signature(p.info.Types[n.Fun].Type)]...)
			}
		}
	})
	return all
}

// callee is the function that a call names, nil if it names none.
func (p *program) callee(call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X // type arguments
	}
	if selector, ok := fun.(*ast.SelectorExpr); ok {
		fun = selector.Sel
	}
	id, _ := fun.(*ast.Ident)
	f, _ := p.info.Uses[id].(*types.Func)
	return f
}

// signature is the same for functions that one variable can hold.
func signature(t types.Type) string { return types.TypeString(t.Underlying(), nil) }

// addValues notes which functions a file uses as values.
func (p *program) addValues(file *ast.File) {
	called := map[*ast.Ident]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch fun := ast.Unparen(n.Fun).(type) {
			case *ast.Ident:
				called[fun] = true
			case *ast.SelectorExpr:
				called[fun.Sel] = true
			}
		case *ast.SelectorExpr: // comes before its identifiers
			if f, ok := p.info.Uses[n.Sel].(*types.Func); ok && !called[n.Sel] {
				called[n.Sel] = true
				p.addValue(f, p.info.Types[n].Type)
			}
		case *ast.Ident:
			if f, ok := p.info.Uses[n].(*types.Func); ok && !called[n] {
				p.addValue(f, f.Type())
			}
		}
		return true
	})
}

func (p *program) addValue(f *types.Func, t types.Type) {
	key := signature(t)
	p.values[key] = append(p.values[key], f.Origin())
}

// behind are the methods that a call of an interface's method may reach.
func (p *program) behind(i *types.Interface, method string) (all []*types.Func) {
	for _, t := range p.concrete {
		if !types.Implements(t, i) {
			continue
		}
		for m := range types.NewMethodSet(t).Methods() {
			if f := m.Obj().(*types.Func); f.Name() == method {
				all = append(all, f.Origin())
			}
		}
	}
	return all
}

// inspect visits code, all but what is only evaluated for a panic.
func (p *program) inspect(code ast.Node, visit func(ast.Node)) {
	ast.Inspect(code, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && p.isBuiltin(call.Fun, "panic") {
			return false
		}
		if n != nil {
			visit(n)
		}
		return true
	})
}

func (p *program) isBuiltin(fun ast.Expr, name string) bool {
	id, ok := ast.Unparen(fun).(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, ok = p.info.Uses[id].(*types.Builtin)
	return ok
}

//go:build giouring

package uringabi

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// binding is what one package declares about the kernel's interface.
type binding struct {
	name      string
	constants map[string]constant.Value
	structs   map[string]*types.Struct
}

var (
	fset = token.NewFileSet()
	std  = importer.ForCompiler(fset, "source", nil)

	// sizes are those of the compiler that built this test.
	sizes = types.SizesFor(runtime.Compiler, runtime.GOARCH)
)

// ours is the binding under test.
func ours(t *testing.T) binding { return readBinding(t, "../../src/sys", "uring_abi.go") }

// giouring is its witness.
func giouring(t *testing.T) binding {
	t.Helper()
	out, err := exec.Command("go", "list", "-tags", "giouring", "-f", "{{.Dir}}", "github.com/pawelgaczynski/giouring").Output()
	if err != nil {
		t.Fatal(err)
	}
	return readBinding(t, strings.TrimSpace(string(out)), "include.go", "probe.go")
}

// libc is a witness for the structures that are not io_uring's own.
func libc(t *testing.T) binding {
	t.Helper()
	pkg, err := std.Import("syscall")
	if err != nil {
		t.Fatal(err)
	}
	return declared(pkg)
}

// readBinding type-checks some files of a package without the others. What they do not
// declare may be missing: only function bodies use it.
func readBinding(t *testing.T, dir string, names ...string) binding {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var faults []string
	config := types.Config{
		Importer: std, Sizes: sizes, IgnoreFuncBodies: true,
		Error: func(err error) {
			if !strings.Contains(err.Error(), "undefined: Ring") { // a receiver
				faults = append(faults, err.Error())
			}
		},
	}
	pkg, _ := config.Check(dir, fset, files, nil)
	if len(faults) > 0 {
		t.Fatalf("%s:\n%s", dir, strings.Join(faults, "\n"))
	}
	return declared(pkg)
}

func declared(pkg *types.Package) binding {
	b := binding{name: pkg.Name(), constants: map[string]constant.Value{}, structs: map[string]*types.Struct{}}
	for _, name := range pkg.Scope().Names() {
		switch object := pkg.Scope().Lookup(name).(type) {
		case *types.Const:
			b.constants[name] = object.Val()
		case *types.TypeName:
			if s, ok := object.Type().Underlying().(*types.Struct); ok {
				b.structs[name] = s
			}
		}
	}
	return b
}

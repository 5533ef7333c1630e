package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"slices"
	"strings"
	"testing"
)

const (
	fileLinesMax     = 500
	functionLinesMax = 70
)

var fileLengthRule = rule{
	name:    "a file has one subject",
	applies: func(s *source) bool { return !s.isGenerated() },
	check: func(s *source) []string {
		if n := lines(s.text); n > fileLinesMax {
			return []string{fmt.Sprintf("%s has %d lines, at most %d are wanted", s.path, n, fileLinesMax)}
		}
		return nil
	},
	bad: []example{{"src/slot/x.go", "package slot\n" + strings.Repeat("\n", fileLinesMax)}},
}

var functionLengthRule = rule{
	name:    "a function fits on a screen",
	applies: func(s *source) bool { return !s.isGenerated() },
	check: func(s *source) (complaints []string) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if n > functionLinesMax {
				complaints = append(complaints, s.complain(f, "%s has %d lines, at most %d are wanted", f.Name.Name, n, functionLinesMax))
			}
		}
		return complaints
	},
	bad: []example{{"src/slot/x.go", "package slot\nfunc f() {" + strings.Repeat("\n", functionLinesMax) + "}"}},
}

var skipRule = rule{
	name:    "no test is skipped",
	applies: func(s *source) bool { return s.isTest() || s.under("tests") },
	check: func(s *source) (complaints []string) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f, ok := call.Fun.(*ast.SelectorExpr)
				if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, f.Sel.Name) {
					complaints = append(complaints, s.complain(n, "%s", f.Sel.Name))
				}
			}
			return true
		})
		return complaints
	},
	bad: []example{{"src/slot/x_test.go", `package slot; import "testing"; func TestX(t *testing.T) { t.Skip("later") }`}},
}

// wellKnown are methods whose interface says what they do.
var wellKnown = []string{"Close", "Error", "Len", "Less", "Read", "Set", "String", "Swap", "Unwrap", "Write"}

var exportedRule = rule{
	name:    "exported names are documented",
	applies: func(s *source) bool { return !s.isTest() },
	check: func(s *source) (complaints []string) {
		missing := func(name *ast.Ident, docs ...*ast.CommentGroup) {
			if name.IsExported() && !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil }) {
				complaints = append(complaints, s.complain(name, "%s has no comment", name.Name))
			}
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || isExportedType(d.Recv.List[0].Type) && !slices.Contains(wellKnown, d.Name.Name) {
					missing(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						missing(spec.Name, d.Doc, spec.Doc)
					case *ast.ValueSpec:
						if !d.Lparen.IsValid() { // the names of a group explain each other
							missing(spec.Names[0], d.Doc)
						}
					}
				}
			}
		}
		return complaints
	},
	bad: []example{
		{"src/slot/x.go", `package slot; func F() {}`},
		{"src/slot/x.go", `package slot; type T int`},
		{"src/slot/x.go", `package slot; const C = 1`},
		{"src/slot/x.go", `package slot; func (t *T) F() {}`},
	},
}

// isExportedType says that the type of a receiver is exported.
func isExportedType(receiver ast.Expr) bool {
	exported := false
	ast.Inspect(receiver, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		exported = exported || ok && name.IsExported()
		return !ok
	})
	return exported
}

var gofmtRule = rule{
	name:    "files are formatted",
	applies: everyFile,
	check: func(s *source) []string {
		formatted, err := format.Source(s.text)
		if err != nil || !bytes.Equal(formatted, s.text) {
			return []string{s.path + " is not as gofmt writes it"}
		}
		return nil
	},
	bad: []example{{"src/slot/x.go", "package slot\nfunc f() {}\n"}},
}

// TestPackagesAreDocumented wants a comment for each package, in one of its files.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		documented[s.dir] = documented[s.dir] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
	}
}

package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is one Go file.
type source struct {
	path string // from the root of the repository, with slashes
	dir  string // of path
	text []byte
	fset *token.FileSet
	file *ast.File
}

func parse(name string, text []byte) (*source, error) {
	s := &source{path: name, dir: path.Dir(name), text: text, fset: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.fset, name, text, parser.ParseComments)
	return s, err
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s *source) isGenerated() bool { return ast.IsGenerated(s.file) }

// complain is a complaint about the node of the file, with its place.
func (s *source) complain(at ast.Node, format string, args ...any) string {
	return fmt.Sprintf("%s: %s", s.fset.Position(at.Pos()), fmt.Sprintf(format, args...))
}

// under says that the file lies in dir or below it.
func (s *source) under(dir string) bool { return s.dir == dir || strings.HasPrefix(s.dir, dir+"/") }

const root = "../.."

// builtDirs are what the make targets leave at the root, besides the dot files.
var builtDirs = map[string]bool{"bin": true}

// files lists every file that belongs to the repository.
func files() (names []string, err error) {
	err = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		if err != nil || name == "." {
			return err
		}
		name = filepath.ToSlash(name)
		switch base := path.Base(name); {
		case e.IsDir() && (builtDirs[name] || base == "node_modules" || strings.HasPrefix(base, ".") && base != ".ci"):
			return fs.SkipDir
		case e.Type().IsRegular():
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// allSources parses every Go file once.
var allSources = sync.OnceValues(func() (all []*source, err error) {
	names, err := files()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		s, err := parse(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

func sources(t *testing.T) []*source {
	t.Helper()
	all, err := allSources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("found %d Go files: this is not the repository", len(all))
	}
	return all
}

func lines(text []byte) int { return bytes.Count(text, []byte("\n")) }

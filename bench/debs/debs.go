package debs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mithril/tools/testbed"
	"mithril/tools/testbed/debian"
)

const (
	suite        = "bookworm"
	fetchTimeout = 10 * time.Minute
	manifestName = "manifest" // written last: a tree that has it is whole
)

// Program is a program of a Debian package.
type Program struct {
	Package string
	Path    string // from the root of the package's tree
}

// The programs that the benchmarks use.
var (
	HAProxy    = Program{"haproxy", "usr/sbin/haproxy"}
	Nutcracker = Program{"nutcracker", "usr/sbin/nutcracker"}
	Valgrind   = Program{"valgrind", "usr/bin/valgrind.bin"} // usr/bin/valgrind is a script around it
)

// Installed is a program that is ready to run.
type Installed struct {
	Root    string   // its tree
	Command []string // the program and its first arguments
	Version string   // of the package
}

// Ensure returns the program and fetches it first if the cache lacks it. Two processes that fetch at the same time
// both download; the first tree stays.
func (p Program) Ensure(ctx context.Context) (Installed, error) {
	cache, err := testbed.CacheDir()
	if err != nil {
		return Installed{}, err
	}
	root := filepath.Join(cache, p.Package+"-"+suite)
	manifest, err := os.ReadFile(filepath.Join(root, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		if err := p.fetch(ctx, root); err != nil {
			return Installed{}, fmt.Errorf("package %s of %s: %w", p.Package, suite, err)
		}
		manifest, err = os.ReadFile(filepath.Join(root, manifestName))
	}
	if err != nil {
		return Installed{}, err
	}
	command, err := debian.Root(root).Command(p.Path)
	return Installed{root, command, version(string(manifest), p.Package)}, err
}

// fetch unpacks into a directory beside root, checks the program there, and renames it.
func (p Program) fetch(ctx context.Context, root string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(root), p.Package+".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tree, scratch := filepath.Join(work, "tree"), filepath.Join(work, "apt")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	packages, err := debian.Unpack(ctx, debian.Request{
		Suite: suite, Packages: []string{p.Package}, Dir: tree, Scratch: scratch,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, p.Package+": "+format+"\n", args...) },
	})
	if err != nil {
		return err
	}
	if err := debian.Root(tree).Check(ctx, p.Path); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, manifestName), []byte(strings.Join(packages, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Rename(tree, root); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// version takes a package's version from a manifest of "name version" lines.
func version(manifest, name string) string {
	for line := range strings.Lines(manifest) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(text)
		}
	}
	return "of unknown version"
}

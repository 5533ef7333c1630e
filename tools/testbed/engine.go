package testbed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mithril/tools/testbed/debian"
)

// The engines that the test bed knows, by name.
const (
	Valkey91 = "valkey9.1"
	Redis70  = "redis7.0"
	Redis80  = "redis8.0"
)

// Engines lists every engine, the default one first.
var Engines = []string{Valkey91, Redis70, Redis80}

// Engine is one server release, unpacked and ready to run. The paths are
// absolute.
type Engine struct {
	Name      string
	Server    string
	CLI       string
	Benchmark string
}

// recipe says where an engine comes from. The packages of program p are
// p-server and p-tools; its version output must contain version.
type recipe struct {
	suite   string
	program string
	version string
}

var recipes = map[string]recipe{
	Valkey91: {suite: "forky", program: "valkey", version: "v=9.1."},
	Redis70:  {suite: "bookworm", program: "redis", version: "v=7.0."},
	Redis80:  {suite: "trixie", program: "redis", version: "v=8.0."},
}

// manifestFormat is the first line of an engine's manifest. A tree with
// another one is fetched anew, so it changes with the layout of the tree.
const manifestFormat = "mithril servers layout 2"

// fetchTimeout bounds the fetch of one engine, from the wait for its lock to
// the last check.
const fetchTimeout = 10 * time.Minute

// Ensure returns an engine by name and fetches it first if the cache lacks
// it. Concurrent calls, also from other processes, fetch once.
func Ensure(name string) (Engine, error) {
	return Fetch(context.Background(), name, func(string, ...any) {})
}

// Fetch is Ensure with a context and a log of what it does.
func Fetch(ctx context.Context, name string, log func(format string, args ...any)) (Engine, error) {
	r, ok := recipes[name]
	if !ok {
		return Engine{}, fmt.Errorf("unknown engine %q: known are %s", name, strings.Join(Engines, ", "))
	}
	cache, err := CacheDir()
	if err != nil {
		return Engine{}, err
	}
	dir := filepath.Join(cache, name)
	engine := r.engine(name, dir)
	if isComplete(dir) {
		log("%s: cached in %s", name, dir)
		return engine, nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Engine{}, err
	}
	held, err := lock(ctx, filepath.Join(cache, name+".lock"), func() { log("%s: another run is fetching it, waiting", name) })
	if err != nil {
		return Engine{}, fmt.Errorf("engine %s: %w", name, err)
	}
	defer held.Close()
	if isComplete(dir) {
		log("%s: cached in %s", name, dir)
		return engine, nil
	}
	if err := r.fetch(ctx, dir, func(format string, args ...any) { log(name+": "+format, args...) }); err != nil {
		return Engine{}, fmt.Errorf("engine %s: %w", name, err)
	}
	log("%s: ready in %s", name, dir)
	return engine, nil
}

// CacheDir is where engines are unpacked: servers under $MITHRIL_CACHE, or
// under mithril in the user's cache directory.
func CacheDir() (string, error) {
	if dir := os.Getenv("MITHRIL_CACHE"); dir != "" {
		dir, err := filepath.Abs(dir)
		return filepath.Join(dir, "servers"), err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no directory to keep servers in: %w; set MITHRIL_CACHE to one", err)
	}
	return filepath.Join(dir, "mithril", "servers"), nil
}

// Version runs the engine's server and returns its --version line.
func (e Engine) Version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, e.Server, "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", e.Server, err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// AtomicMigration reports whether the engine has CLUSTER MIGRATESLOTS.
func (e Engine) AtomicMigration() bool { return e.Name == Valkey91 }

func (r recipe) engine(name, dir string) Engine {
	program := func(part string) string { return filepath.Join(dir, "bin", r.program+"-"+part) }
	return Engine{Name: name, Server: program("server"), CLI: program("cli"), Benchmark: program("benchmark")}
}

// fetch builds the tree under a temporary name, checks it, and renames it,
// so that a directory with the engine's name is always whole.
func (r recipe) fetch(ctx context.Context, dir string, log func(string, ...any)) error {
	work := dir + ".fetch" // one at a time, under the lock
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tree, scratch := filepath.Join(work, "tree"), filepath.Join(work, "apt")
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	packages, err := debian.Unpack(ctx, debian.Request{
		Suite:    r.suite,
		Packages: []string{r.program + "-server", r.program + "-tools"},
		Dir:      tree,
		Scratch:  scratch,
		Log:      log,
	})
	if err != nil {
		return err
	}
	if err := r.check(ctx, debian.Root(tree), log); err != nil {
		return err
	}
	manifest := manifestFormat + "\n" + strings.Join(packages, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(tree, "manifest"), []byte(manifest), 0o644); err != nil {
		return err
	}
	if err := r.writeWrappers(debian.Root(tree), dir); err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(work, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(tree, dir)
}

// check runs the unpacked programs and compares the server's version.
func (r recipe) check(ctx context.Context, root debian.Root, log func(string, ...any)) error {
	for _, part := range []string{"server", "cli", "benchmark"} {
		program := "usr/bin/" + r.program + "-" + part
		if err := root.Check(ctx, program); err != nil {
			return err
		}
		command, err := root.Command(program)
		if err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, command[0], append(command[1:], "--version")...).CombinedOutput()
		version := strings.TrimSpace(string(out))
		if err != nil {
			return fmt.Errorf("%s --version: %w: %s", program, err, version)
		}
		log("%s", version)
		if part == "server" && !strings.Contains(version, r.version) {
			return fmt.Errorf("%s of %s reports %q, want a version %s*", program, r.suite, version, r.version)
		}
	}
	return nil
}

// writeWrappers puts scripts into bin of the tree that run its programs from
// dir, where the tree is moved next. They pin the C locale: the tree's libc
// has no other, and redis 8.0 does not start with a locale that it lacks.
func (r recipe) writeWrappers(tree debian.Root, dir string) error {
	bin := filepath.Join(string(tree), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, part := range []string{"server", "cli", "benchmark"} {
		name := r.program + "-" + part
		command, err := tree.Command("usr/bin/" + name)
		if err != nil {
			return err
		}
		for i, word := range command {
			command[i] = shellQuote(strings.ReplaceAll(word, string(tree), dir))
		}
		text := "#!/bin/sh\nLC_ALL=C exec " + strings.Join(command, " ") + ` "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isComplete(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "manifest"))
	return err == nil && strings.HasPrefix(string(text), manifestFormat+"\n")
}

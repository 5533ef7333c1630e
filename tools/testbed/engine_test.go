package testbed

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEnsure runs the three programs of every engine.
func TestEnsure(t *testing.T) {
	for _, name := range Engines {
		e, err := Ensure(name)
		if err != nil {
			t.Fatal(err)
		}
		version, err := e.Version(t.Context())
		if want := recipes[name].version; err != nil || !strings.Contains(version, want) {
			t.Errorf("%s reports version %q, %v, want %s*", name, version, err, want)
		}
		for _, program := range []string{e.CLI, e.Benchmark} {
			if out, err := exec.Command(program, "--version").CombinedOutput(); err != nil {
				t.Errorf("%s --version: %v: %s", program, err, out)
			}
		}
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("MITHRIL_CACHE", "/a/b")
	if dir, err := CacheDir(); err != nil || dir != "/a/b/servers" {
		t.Errorf("with MITHRIL_CACHE the cache is %q, %v", dir, err)
	}
	t.Setenv("MITHRIL_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "/c")
	if dir, err := CacheDir(); err != nil || dir != "/c/mithril/servers" {
		t.Errorf("with XDG_CACHE_HOME the cache is %q, %v", dir, err)
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if dir, err := CacheDir(); err == nil || !strings.Contains(err.Error(), "set MITHRIL_CACHE") {
		t.Errorf("without a home the cache is %q, %v", dir, err)
	}
}

// TestIsComplete: only a tree of the present layout counts.
func TestIsComplete(t *testing.T) {
	dir := t.TempDir()
	for manifest, want := range map[string]bool{
		manifestFormat + "\nlibc6 2\n": true,
		manifestFormat + "0\n":         false,
		"":                             false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "manifest"), []byte(manifest), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := isComplete(dir); got != want {
			t.Errorf("manifest %q: complete is %v", manifest, got)
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	waits := 0
	if _, err := lock(ctx, path, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Fatalf("second lock: %v after %d notices, want a timeout after one", err, waits)
	}
	held.Close()
	again, err := lock(t.Context(), path, func() { t.Error("waits for a lock that is free") })
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestShellQuote(t *testing.T) {
	const word = `a b'c$d"e\`
	out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(word)).Output()
	if err != nil || string(out) != word {
		t.Errorf("the shell reads %s as %q, %v", shellQuote(word), out, err)
	}
}

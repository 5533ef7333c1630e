package debs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersionIsThatOfThePackage(t *testing.T) {
	const manifest = "libc6 2.36\nhaproxy-doc 9\nhaproxy 2.6.12-1\n"
	if got := version(manifest, "haproxy"); got != "2.6.12-1" {
		t.Errorf("haproxy is of version %q", got)
	}
	if got := version(manifest, "valgrind"); got != "of unknown version" {
		t.Errorf("valgrind is of version %q", got)
	}
}

func TestProgramsRunWithTheirOwnLibraries(t *testing.T) {
	program, err := Nutcracker.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program.Command[0], append(program.Command[1:], "--version")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nutcracker-0.5.0") || !strings.HasPrefix(program.Version, "0.5.0") {
		t.Errorf("package %s says %q, %v", program.Version, out, err)
	}
}

// TestATreeWithoutManifestIsNoTree: a package whose unpacking failed leaves nothing that would pass for it.
func TestATreeWithoutManifestIsNoTree(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("MITHRIL_CACHE", cache)
	t.Setenv("PATH", t.TempDir()) // there is no apt
	if _, err := HAProxy.Ensure(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "package haproxy of bookworm: ") {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(filepath.Join(cache, "servers"))
	if len(left) > 0 || err != nil {
		t.Errorf("the cache holds %v, %v", left, err)
	}
}

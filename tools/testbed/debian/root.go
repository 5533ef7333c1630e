package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root is a directory with an unpacked tree, as an absolute path.
type Root string

// Command returns the argument list that runs a program of the tree through
// the tree's loader. The program is named relative to the root, as
// usr/bin/redis-server.
func (r Root) Command(program string) ([]string, error) {
	loader, err := r.loader()
	if err != nil {
		return nil, err
	}
	return []string{loader, "--library-path", r.libraryPath(loader), filepath.Join(string(r), program)}, nil
}

// Check makes sure that every library of a program comes from the tree and
// none from the system.
func (r Root) Check(ctx context.Context, program string) error {
	command, err := r.Command(program)
	if err != nil {
		return err
	}
	args := append([]string{"--list"}, command[1:]...)
	out, err := exec.CommandContext(ctx, command[0], args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: listing its libraries: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	for line := range strings.Lines(string(out)) {
		name, target, found := strings.Cut(strings.TrimSpace(line), " => ")
		if !found {
			continue // the kernel's vdso and the loader itself
		}
		path, _, _ := strings.Cut(target, " ")
		if !strings.HasPrefix(path, string(r)+"/") && path != name {
			return fmt.Errorf("%s: library %s comes from %s, not from %s", program, name, path, r)
		}
	}
	return nil
}

// loader finds the dynamic loader as a regular file: the path in /lib64 that
// binaries name is a symbolic link out of the tree.
func (r Root) loader() (string, error) {
	for _, pattern := range []string{"usr/lib/*/ld-linux*.so.*", "lib/*/ld-linux*.so.*"} {
		paths, err := filepath.Glob(filepath.Join(string(r), pattern))
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", errors.New(string(r) + " holds no dynamic loader (lib/*/ld-linux*.so.*)")
}

// libraryPath lists the tree's library directories for the loader's triplet.
// Releases before the merged /usr have two of them, and systemd keeps the
// library that libsystemd0 needs in a directory of its own.
func (r Root) libraryPath(loader string) string {
	triplet := filepath.Base(filepath.Dir(loader))
	var dirs []string
	for _, dir := range []string{"usr/lib/" + triplet, "lib/" + triplet, "usr/lib/" + triplet + "/systemd"} {
		if path := filepath.Join(string(r), dir); isDir(path) {
			dirs = append(dirs, path)
		}
	}
	return strings.Join(dirs, ":")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

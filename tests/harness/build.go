package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const buildTimeout = 5 * time.Minute

// program is one build of the proxy.
type program struct {
	once sync.Once
	path string
	err  error
}

// programs holds the shipped build and the checked one, which has the costly assertions
// and overwrites released buffers.
var programs [2]program

// Binary returns the path of the program and builds it the first time. checked asks for
// the build with the tag invariants.
func Binary(checked bool) (string, error) {
	if path := os.Getenv("MITHRIL_BIN"); path != "" {
		return path, nil
	}
	p, name, tags := &programs[0], "mithril", ""
	if checked {
		p, name, tags = &programs[1], "mithril-checked", "invariants"
	}
	p.once.Do(func() { p.path, p.err = build(name, tags) })
	return p.path, p.err
}

// buildDir is where the programs of this process are, removed by removeBuilds.
var buildDir struct {
	once sync.Once
	path string
	err  error
}

func build(name, tags string) (string, error) {
	buildDir.once.Do(func() { buildDir.path, buildDir.err = os.MkdirTemp("", "mithril-bin-") })
	if buildDir.err != nil {
		return "", buildDir.err
	}
	path := filepath.Join(buildDir.path, name)
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", path, "mithril/cmd/mithril").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the proxy: %w\n%s", err, out)
	}
	return path, nil
}

func removeBuilds() {
	if buildDir.path != "" {
		os.RemoveAll(buildDir.path)
	}
}

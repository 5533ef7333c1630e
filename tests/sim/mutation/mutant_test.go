package mutation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mutant is one deliberate defect.
type mutant struct {
	name string // what the program does wrong
	file string // below src
	old  string // occurs in the file exactly once
	new  string
	harm string // what a user would suffer
	test string // of tests/sim that is to notice it; empty: TestSeeds
	rare bool   // it takes thousands of seeds to meet
	// quick ones are tried by every `make test`.
	quick bool
}

const (
	root = "../../.."

	seedsMax     = 1000 // tried before a mutant has survived
	rareSeedsMax = 8000 // and a rare one
	buildTimeout = 5 * time.Minute
	runTimeout   = 30 * time.Minute
	runSeconds   = 120 // of processor time for seedsMax: a program that hangs in one turn has been noticed, too
)

// mutated returns the mutant's file as the mutant has it.
func (m *mutant) mutated() ([]byte, error) {
	text, err := os.ReadFile(m.path())
	if err != nil {
		return nil, err
	}
	switch n := strings.Count(string(text), m.old); n {
	case 1:
		return []byte(strings.Replace(string(text), m.old, m.new, 1)), nil
	case 0:
		return nil, fmt.Errorf("the old text of the mutant %q is no longer in src/%s:\n%s", m.name, m.file, m.old)
	default:
		return nil, fmt.Errorf("the old text of the mutant %q is %d times in src/%s:\n%s", m.name, n, m.file, m.old)
	}
}

func (m *mutant) path() string { return filepath.Join(root, "src", m.file) }

// build makes the tests of tests/sim with the mutant in the program.
func (m *mutant) build(dir string) (program string, err error) {
	text, err := m.mutated()
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.path())
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(dir, "mutated.go")
	if err := os.WriteFile(replacement, text, 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		return "", err
	}
	overlayPath := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayPath, overlay, 0o644); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "sim.test")
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-overlay", overlayPath, "-o", program, "mithril/tests/sim").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the mutant %q does not build: %w\n%s", m.name, err, out)
	}
	return program, nil
}

// run runs the test that is to notice the mutant, and returns by what it has. noticed is
// empty when the mutant has survived.
func (m *mutant) run(program string) (noticed string, err error) {
	test := m.test
	if test == "" {
		test = "TestSeeds"
	}
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	seeds := seedsMax
	if m.rare {
		seeds = rareSeedsMax
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -t %d && exec "$0" "$@"`, runSeconds*seeds/seedsMax), program,
		"-test.v", "-test.run", "^"+test+"$", "-test.timeout", runTimeout.String(), "-seeds", fmt.Sprint(seeds), "-shrink=false")
	cmd.Dir = filepath.Join(root, "tests", "sim")
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "=== RUN   "+test) {
		return "", fmt.Errorf("%s has not run: %v\n%s", test, err, out)
	}
	if err == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s has not ended in %s", test, runTimeout)
	}
	return firstFailure(string(out)), nil
}

// firstFailure is what a failing test has seen, with the seed if it has one.
func firstFailure(out string) string {
	for _, form := range []string{`(?m): (seed \d+): .*\n\s*(.+)$`, `(?m)^\s*()(panic: .+|\S+_test\.go:\d+: .+)$`} {
		if found := regexp.MustCompile(form).FindStringSubmatch(out); found != nil {
			return strings.TrimSpace(found[1] + " " + found[2])
		}
	}
	return "failed without a word, or has hung"
}

// try builds and runs a mutant.
func (m *mutant) try(t *testing.T) (noticed string) {
	program, err := m.build(t.TempDir())
	if err == nil {
		noticed, err = m.run(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	return noticed
}

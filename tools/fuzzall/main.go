// Command fuzzall runs every fuzz target of a module, one after the other, since each one
// takes all processors.
//
//	fuzzall [-time 30s] [package ...]
//
// It prints a line per target, and the output of a target that fails, whose input the go
// command has then written below testdata/fuzz beside it. The exit status is 1 if one
// failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	each, packages, err := parseArgs(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", packages, each, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

// parseArgs reads the command line. An error is told without all the flags.
func parseArgs(args []string) (each time.Duration, packages []string, err error) {
	flags := flag.NewFlagSet("fuzzall", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	text := flags.String("time", "30s", "how long each target is fuzzed")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stdout)
			flags.PrintDefaults()
		}
		return 0, nil, err
	}
	each, err = time.ParseDuration(*text)
	if err != nil || each <= 0 {
		return 0, nil, fmt.Errorf("time %q: expected a duration such as 30s or 5m", *text)
	}
	if packages = flags.Args(); len(packages) == 0 {
		packages = []string{"./..."}
	}
	return each, packages, nil
}

// target is one fuzz test.
type target struct{ pkg, name string }

// run fuzzes the targets of the packages as seen from dir.
func run(ctx context.Context, dir string, packages []string, each time.Duration, out io.Writer) error {
	targets, err := find(ctx, dir, packages)
	if err != nil {
		return err
	}
	var failed []string
	for _, t := range targets {
		began := time.Now()
		text, err := fuzz(ctx, dir, t, each)
		if ctx.Err() != nil {
			return fmt.Errorf("%s.%s interrupted", t.pkg, t.name)
		}
		verdict := "ok  "
		if err != nil {
			verdict = "FAIL"
			failed = append(failed, t.pkg+"."+t.name)
			out.Write(text)
		}
		fmt.Fprintf(out, "%s %-28s %-24s %s\n", verdict, t.pkg, t.name, time.Since(began).Round(100*time.Millisecond))
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d targets failed: %s", len(failed), len(targets), strings.Join(failed, ", "))
	}
	return nil
}

// declaration matches a fuzz test as `go test` wants it.
var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// find lists the targets. Reading the sources is quicker than building every test
// program to ask it. A module without targets is an error.
func find(ctx context.Context, dir string, packages []string) ([]target, error) {
	const files = `{{range .TestGoFiles}}{{$.ImportPath}}{{"\t"}}{{$.Dir}}{{"\t"}}{{.}}{{"\n"}}{{end}}` +
		`{{range .XTestGoFiles}}{{$.ImportPath}}{{"\t"}}{{$.Dir}}{{"\t"}}{{.}}{{"\n"}}{{end}}`
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", files}, packages...)...)
	var problem strings.Builder
	list.Dir, list.Stderr = dir, &problem
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(packages, " "), err, problem.String())
	}
	var targets []target
	for line := range strings.Lines(string(names)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue // the end of a package without tests
		}
		text, err := os.ReadFile(filepath.Join(fields[1], fields[2]))
		if err != nil {
			return nil, err
		}
		for _, found := range declaration.FindAllSubmatch(text, -1) {
			targets = append(targets, target{pkg: fields[0], name: string(found[1])})
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("no fuzz targets in %s", strings.Join(packages, " "))
	}
	return targets, nil
}

// stopTimeout is what an interrupted target gets to stop its workers.
const stopTimeout = 5 * time.Second

// fuzz runs one target and returns what it wrote.
func fuzz(ctx context.Context, dir string, t target, each time.Duration) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(), "-fuzzminimizetime", "50x", t.pkg)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	return cmd.CombinedOutput()
}

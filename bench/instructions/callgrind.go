package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"mithril/bench/debs"
)

// counter runs a binary of this program under callgrind.
type counter struct {
	binary   string
	valgrind []string
	version  string
	env      []string
}

// newCounter finds valgrind, beside the system like the other programs of the benchmarks.
func newCounter(ctx context.Context, binary string) (*counter, error) {
	valgrind, err := debs.Valgrind.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	return &counter{
		binary: binary, valgrind: append(valgrind.Command, "--tool=callgrind", "--callgrind-out-file=/dev/null"), version: valgrind.Version,
		env: append(os.Environ(), "VALGRIND_LIB="+filepath.Join(valgrind.Root, "usr/libexec/valgrind"),
			"GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1"),
	}, nil
}

// steady is what repeated counts agree on.
type steady struct {
	median float64
	spread float64 // greatest minus least, relative to the median
}

// perRequest counts a load whose iterations hold batch requests each.
func (c *counter) perRequest(ctx context.Context, load string, batch, requests int) (steady, error) {
	n := max(iterationsMin, requests/batch)
	var counts []float64
	for range repeats {
		once, err := c.collect(ctx, load, n)
		if err != nil {
			return steady{}, err
		}
		twice, err := c.collect(ctx, load, 2*n)
		if err != nil {
			return steady{}, err
		}
		counts = append(counts, float64(twice-once)/float64(n*batch))
	}
	return steadyOf(counts), nil
}

// steadyOf sorts the counts, of which there are repeats, an odd number.
func steadyOf(counts []float64) steady {
	slices.Sort(counts)
	median := counts[len(counts)/2]
	return steady{median, (counts[len(counts)-1] - counts[0]) / median}
}

// collected is the line in which callgrind tells its total: "==7== Collected : 42360144".
var collected = regexp.MustCompile(`(?m)^==\d+== Collected : (\d+)`)

// collect returns all instructions of one run.
func (c *counter) collect(ctx context.Context, load string, iterations int) (int64, error) {
	args := append(c.valgrind[1:len(c.valgrind):len(c.valgrind)], c.binary, "-load", load, "-iterations", strconv.Itoa(iterations))
	cmd := exec.CommandContext(ctx, c.valgrind[0], args...)
	cmd.Env = c.env
	output, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("valgrind: %w\n%s", err, output)
	}
	match := collected.FindSubmatch(output)
	if match == nil {
		return 0, fmt.Errorf("valgrind told no count:\n%s", output)
	}
	return strconv.ParseInt(string(match[1]), 10, 64)
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"mithril/tools/testbed"
)

const (
	exitFailed = 1
	exitUsage  = 2
	exitNoisy  = 3
)

// errNoisy says that two runs of the same binary differ by too much.
var errNoisy = errors.New("the machine is too noisy to compare anything; try again, alone on it, or with more rounds")

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sixnode:", err)
		os.Exit(exitUsage)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sixnode:", err)
		if errors.Is(err, errNoisy) {
			os.Exit(exitNoisy)
		}
		os.Exit(exitFailed)
	}
}

// run pins, starts the cluster and the arms, and measures. What it started, it stops.
func run(ctx context.Context, o *options, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "mithril-sixnode-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	found, err := programs(ctx, o, dir, max(1, len(o.proxyCPUs)))
	if err != nil {
		return err
	}
	if o.idle == 0 {
		twin := found[0]
		twin.name += " again"
		found = slices.Insert(found, 1, twin)
	}
	// The launcher comes second, since pinning the process would move its thread too.
	if err := pinProcess(o.otherCPUs); err != nil {
		return err
	}
	launch, err := newLauncher(o.proxyCPUs)
	if err != nil {
		return err
	}
	cluster, err := testbed.Start(ctx, testbed.Options{Engine: o.engine})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	ports, err := testbed.FreePorts(len(found))
	if err != nil {
		return err
	}
	defer ports.Release()
	var arms []*arm
	for i, p := range found {
		a, err := launch.start(ctx, p, ports.Base+i, cluster, dir)
		if err != nil {
			return err
		}
		defer a.stop()
		arms = append(arms, a)
	}
	return report(ctx, o, arms, stdout)
}

// report measures and writes the result to out and the file of -o.
func report(ctx context.Context, o *options, arms []*arm, out io.Writer) error {
	file, err := resultFile(o)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		out = io.MultiWriter(out, file)
	}
	writeHeader(out, o)
	if o.idle > 0 {
		return measureIdle(ctx, out, o.idle, arms)
	}
	b := &bench{rounds: o.rounds, slice: o.slice, threads: o.threads}
	if err := checkTwins(ctx, o, b, arms[:2]); err != nil {
		return err
	}
	var names []string
	for _, a := range arms {
		names = append(names, a.name)
	}
	noisy := false
	for _, c := range o.cells {
		measured, err := b.measure(ctx, c, arms)
		if err != nil {
			return err
		}
		table := rows(names, measured)
		writeTable(out, c.String(), table)
		if !agree(table[1], o.twinLimit) {
			noisy = true
			fmt.Fprintf(out, "\nDoes not count: %s is further than %.0f %% from %s.\n", names[1], o.twinLimit*100, names[0])
		}
	}
	if noisy {
		return errNoisy
	}
	return nil
}

// checkTwins measures the first arm and its twin alone in the first cell.
func checkTwins(ctx context.Context, o *options, b *bench, twins []*arm) error {
	for attempt := range o.attempts {
		measured, err := b.measure(ctx, o.cells[0], twins)
		if err != nil {
			return err
		}
		twin := rows([]string{twins[0].name, twins[1].name}, measured)[1]
		fmt.Fprintf(os.Stderr, "A/A, attempt %d: %s to %s %s\n", attempt+1, twin.name, twins[0].name, twin.toFirst)
		if agree(twin, o.twinLimit) {
			return nil
		}
	}
	if o.attempts > 0 {
		return errNoisy
	}
	return nil
}

// agree reports whether the twin of the first arm costs the same.
func agree(twin row, limit float64) bool { return math.Abs(twin.toFirst.median-1) <= limit }

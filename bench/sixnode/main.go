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
		twin.says = "the same once more"
		found = slices.Insert(found, 1, twin)
		for i := range found {
			found[i].base = o.base(i)
		}
	}
	// The launcher comes second, since pinning the process would move its thread too.
	if err := pinProcess(o.otherCPUs); err != nil {
		return err
	}
	launch, err := newLauncher(o.proxyCPUs)
	if err != nil {
		return err
	}
	var fronted []backing
	for _, p := range found {
		fronted = append(fronted, p.fronts)
	}
	servers, err := startServers(ctx, o.engine, fronted)
	if err != nil {
		return err
	}
	defer servers.stop()
	var arms []*arm
	for _, p := range found {
		a, err := launch.start(ctx, p, servers, dir)
		if err != nil {
			return err
		}
		defer a.stop()
		arms = append(arms, a)
	}
	return report(ctx, o, servers, arms, stdout)
}

// report measures and writes the result to out and the file of -o.
func report(ctx context.Context, o *options, servers *servers, arms []*arm, out io.Writer) error {
	file, err := resultFile(o)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		out = io.MultiWriter(out, file)
	}
	uncounted := countable(arms[0].pid)
	writeHeader(out, o, uncounted)
	writeArms(out, arms)
	if o.idle > 0 {
		return measureIdle(ctx, out, o.idle, arms)
	}
	b := &bench{rounds: o.rounds, slice: o.slice, threads: o.threads, servers: servers, counts: uncounted == nil}
	if err := checkTwins(ctx, o, b, arms[:2]); err != nil {
		return err
	}
	noisy := false
	for i, c := range o.cells {
		fmt.Fprintf(os.Stderr, "cell %d of %d: %s\n", i+1, len(o.cells), c)
		table, err := b.quietCell(ctx, c, arms, o.twinLimit)
		if err != nil {
			return err
		}
		writeTable(out, c.String(), table)
		if !agree(table[1], o.twinLimit) {
			noisy = true
			fmt.Fprintf(out, "\nDoes not count: %s is further than %.0f %% from %s.\n", table[1].name, o.twinLimit*100, table[0].name)
		}
	}
	if noisy {
		return errNoisy
	}
	return nil
}

// cellAttempts are the measurements that a cell gets until the first arm's twins agree.
const cellAttempts = 2

// quietCell measures a cell, and once more if the twins tell that the machine was noisy. Only the last attempt is
// kept; what decides is the same binary's two times, so no arm gains from it.
func (b *bench) quietCell(ctx context.Context, c cell, arms []*arm, limit float64) (table []row, err error) {
	for range cellAttempts {
		measured, err := b.measure(ctx, c, arms)
		if err != nil {
			return nil, err
		}
		if table = rows(measured); agree(table[1], limit) {
			break
		}
	}
	return table, nil
}

// checkTwins measures the first arm and its twin alone in the first cell.
func checkTwins(ctx context.Context, o *options, b *bench, twins []*arm) error {
	for attempt := range o.attempts {
		measured, err := b.measure(ctx, o.cells[0], twins)
		if err != nil {
			return err
		}
		twin := rows(measured)[1]
		fmt.Fprintf(os.Stderr, "A/A, attempt %d: %s to %s %s\n", attempt+1, twin.name, twins[0].name, twin.toBase[cpuRatio])
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
func agree(twin row, limit float64) bool { return math.Abs(twin.toBase[cpuRatio].median-1) <= limit }

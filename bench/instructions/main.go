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
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"mithril/bench/micro"
)

const (
	iterationsMin = 100
	repeats       = 3
	spreadMax     = 0.01 // of the repeats, relative
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	requests := flag.Int("requests", 10000, "requests of the shorter run of a load, about")
	only := flag.String("only", "", "the loads to count, joined by commas; empty counts all")
	results := flag.String("o", "", "also write the table to DATE-instructions.md in this directory")
	name := flag.String("load", "", "run this load and count nothing: what runs under valgrind")
	iterations := flag.Int("iterations", 1, "of that load")
	flag.Parse()
	if *name != "" {
		return iterate(*name, *iterations)
	}
	loads, err := choose(*only)
	if err != nil {
		return err
	}
	var out io.Writer = os.Stdout
	if *results != "" {
		file, err := os.Create(filepath.Join(*results, time.Now().Format(time.DateOnly)+"-instructions.md"))
		if err != nil {
			return err
		}
		defer file.Close()
		out = io.MultiWriter(out, file)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := newCounter(ctx, self)
	if err != nil {
		return err
	}
	return c.table(ctx, out, loads, *requests)
}

// choose returns the named loads, which are joined by commas; no names are all.
func choose(names string) (loads []micro.Load, err error) {
	if names == "" {
		return micro.Loads, nil
	}
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(micro.Loads, func(l micro.Load) bool { return l.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no load %q", name)
		}
		loads = append(loads, micro.Loads[i])
	}
	return loads, nil
}

// iterate runs a load.
func iterate(name string, iterations int) error {
	loads, err := choose(name)
	if err != nil {
		return err
	}
	r := loads[0].Start()
	for range iterations {
		r.Iterate()
	}
	return nil
}

// table counts loads. A load whose counts are too far apart is an error in the end.
func (c *counter) table(ctx context.Context, out io.Writer, loads []micro.Load, requests int) error {
	fmt.Fprintf(out, "# Instructions per request, %s\n\n", time.Now().Format(time.DateOnly))
	fmt.Fprintf(out, "- commit %s, %s, %s, valgrind %s\n", commit(), runtime.Version(), runtime.GOARCH, c.version)
	fmt.Fprintf(out, "- loads of bench/micro; user space of the workers and of the fake ring, no system calls\n")
	fmt.Fprintf(out, "- median of %d counts, and how far apart they are\n\n", repeats)
	fmt.Fprintf(out, "| load           | requests a batch | instructions/request | spread |\n")
	fmt.Fprintf(out, "|----------------|-----------------:|---------------------:|-------:|\n")
	var unsteady []string
	for _, load := range loads {
		s, err := c.perRequest(ctx, load.Name, load.Requests, requests)
		if err != nil {
			return fmt.Errorf("%s: %w", load.Name, err)
		}
		fmt.Fprintf(out, "| %-14s | %16d | %20.0f | %4.2f %% |\n", load.Name, load.Requests, s.median, s.spread*100)
		if s.spread > spreadMax {
			unsteady = append(unsteady, load.Name)
		}
	}
	if unsteady != nil {
		return errors.New("counts are more than " + fmt.Sprint(spreadMax*100) + " % apart: " + strings.Join(unsteady, ", "))
	}
	return nil
}

// commit is the short id of the commit that the tree has, with a mark if tracked files differ from it.
func commit() string {
	id, err := exec.Command("git", "describe", "--always", "--exclude=*", "--dirty= with changes").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}

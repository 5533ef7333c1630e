package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"mithril/bench/load/closedloop"
	"mithril/tools/testbed"
)

// options are the command line.
type options struct {
	arms       []string
	extra      []string
	pairs      bool
	mithril    string
	cells      []cell
	rounds     int
	slice      time.Duration
	threads    int
	twinLimit  float64
	attempts   int
	proxyCPUs  cpuList
	otherCPUs  cpuList
	engine     string
	idle       int
	resultPath string
	host       string
}

// repeated is a flag that may be given several times.
type repeated []string

func (r *repeated) String() string { return strings.Join(*r, " ") }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// A smaller sample than this, in rounds and in the length of a slice, says too little to count.
const (
	roundsToCount = 9
	sliceToCount  = time.Second
)

func parseOptions(args []string) (*options, error) {
	return parseWith(flag.NewFlagSet("sixnode", flag.ContinueOnError), args)
}

// parseWith defines the flags and reads the command line by them.
func parseWith(flags *flag.FlagSet, args []string) (*options, error) {
	o := &options{}
	proxyCPUs, otherCPUs := defaultCPUs(runtime.NumCPU())
	arms := flags.String("arms", "reference,io_uring,epoll", "arms, some of "+knownArms+"; the last two are Mithril and take settings, as epoll:KEY=VALUE:KEY=VALUE; the first arm is what others are compared with")
	flags.Var((*repeated)(&o.extra), "extra", "a further arm, `NAME=BINARY ARGUMENT...`; --port, --bind and --bootstrap are added (repeatable)")
	flags.BoolVar(&o.pairs, "pairs", false, "arms come in pairs: the second of each is compared with its first, not with the first of all")
	flags.StringVar(&o.mithril, "mithril", "bin/mithril", "binary of the arms io_uring and epoll")
	set := flags.String("cells", "quick", "workloads: "+cellSetNames()+"; or name them with the next four flags, every combination of which is a cell")
	own := custom
	flags.StringVar(&own.pipelines, "pipelines", own.pipelines, "pipeline depths")
	flags.StringVar(&own.conns, "conns", own.conns, "numbers of connections")
	flags.StringVar(&own.sizes, "sizes", own.sizes, "value sizes in bytes")
	flags.StringVar(&own.mixes, "mixes", own.mixes, "commands, those of one cell joined by +: "+closedloop.Names())
	flags.IntVar(&o.rounds, "rounds", roundsToCount, "slices of each arm and cell")
	flags.DurationVar(&o.slice, "slice", sliceToCount, "length of a slice, after a warm-up")
	flags.IntVar(&o.threads, "threads", 1, "threads of the load")
	flags.Float64Var(&o.twinLimit, "aa", 0.03, "how far from 1 the median ratio of two runs of the same binary may be")
	flags.IntVar(&o.attempts, "aa-attempts", 3, "attempts of that check before the cells; 0 leaves it out")
	proxy := flags.String("proxy-cpus", proxyCPUs, "processors of the proxies; empty does not pin")
	other := flags.String("other-cpus", otherCPUs, "processors of servers and load; empty does not pin")
	flags.StringVar(&o.engine, "engine", testbed.Valkey91, "servers: "+strings.Join(testbed.Engines, ", "))
	flags.IntVar(&o.idle, "idle", 0, "instead of load, measure the memory of so many idle connections")
	flags.StringVar(&o.resultPath, "o", "", "also write the result to this file, or to DATE-HOST.md in this directory if it ends in /")
	flags.StringVar(&o.host, "host", "", "name of the machine in the result; empty takes the host name")
	if err := parseFlags(flags, args); err != nil {
		return nil, err
	}
	if o.rounds < 1 || o.slice <= 0 || o.threads < 1 {
		return nil, fmt.Errorf("%d rounds of %v with %d threads: all three must be positive", o.rounds, o.slice, o.threads)
	}
	if *arms != "" {
		o.arms = strings.Split(*arms, ",")
	}
	if o.pairs && (len(o.arms)+len(o.extra))%2 != 0 {
		return nil, fmt.Errorf("-pairs: one of %d arms has no other one", len(o.arms)+len(o.extra))
	}
	var err error
	if o.proxyCPUs, err = parseCPUs(*proxy); err != nil {
		return nil, err
	}
	if o.otherCPUs, err = parseCPUs(*other); err != nil {
		return nil, err
	}
	o.cells, err = chooseCells(flags, *set, own)
	return o, err
}

// base is the number of the arm that an arm is compared with. The twin of the first one is number 1.
func (o *options) base(arm int) int {
	if !o.pairs || arm <= 2 {
		return 0
	}
	return arm - (arm-1)%2
}

// parseFlags tells an error once, without all the flags, and prints them if help is asked for.
func parseFlags(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("argument %q is not a flag", flags.Arg(0))
	}
	return err
}

// chooseCells takes the named set, or the product if one of its flags is given.
func chooseCells(flags *flag.FlagSet, set string, own product) ([]cell, error) {
	named, owned := false, ""
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "cells":
			named = true
		case "mixes", "pipelines", "conns", "sizes":
			owned = f.Name
		}
	})
	switch {
	case owned == "":
		return cellSet(set)
	case named:
		return nil, fmt.Errorf("-cells and -%s both name cells: give one of them", owned)
	}
	return own.cells()
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"mithril/bench/load/closedloop"
	"mithril/tools/testbed"
)

const valueBytesMax = 1 << 20

// options are the command line.
type options struct {
	arms       []string
	extra      []string
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

func parseOptions(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("sixnode", flag.ContinueOnError)
	proxyCPUs, otherCPUs := defaultCPUs(runtime.NumCPU())
	arms := flags.String("arms", "reference,io_uring,epoll", "arms: reference, and Mithril by I/O engine; the first one is what others are compared with")
	flags.Var((*repeated)(&o.extra), "extra", "a further arm, `NAME=BINARY ARGUMENT...`; --port, --bind and --bootstrap are added (repeatable)")
	flags.StringVar(&o.mithril, "mithril", "bin/mithril", "binary of the arms io_uring and epoll")
	pipelines := flags.String("pipelines", "1,16", "pipeline depths")
	conns := flags.String("conns", "50", "numbers of connections")
	sizes := flags.String("sizes", "64", "value sizes in bytes")
	mixes := flags.String("mixes", "set+get", "workloads; commands of one are joined by +: set, get, mget")
	flags.IntVar(&o.rounds, "rounds", 9, "slices of each arm and cell")
	flags.DurationVar(&o.slice, "slice", time.Second, "length of a slice, after a warm-up")
	flags.IntVar(&o.threads, "threads", 1, "threads of the load")
	flags.Float64Var(&o.twinLimit, "aa", 0.03, "how far from 1 the median ratio of two runs of the same binary may be")
	flags.IntVar(&o.attempts, "aa-attempts", 3, "attempts of that check before the cells; 0 leaves it out")
	proxy := flags.String("proxy-cpus", proxyCPUs, "processors of the proxies; empty does not pin")
	other := flags.String("other-cpus", otherCPUs, "processors of servers and load; empty does not pin")
	flags.StringVar(&o.engine, "engine", testbed.Valkey91, "servers: "+strings.Join(testbed.Engines, ", "))
	flags.IntVar(&o.idle, "idle", 0, "instead of load, measure the memory of so many idle connections")
	flags.StringVar(&o.resultPath, "o", "", "also write the result to this file, or to DATE-HOST.md in this directory if it ends in /")
	flags.StringVar(&o.host, "host", "", "name of the machine in the result; empty takes the host name")
	flags.SetOutput(io.Discard) // an error is told once, without all the flags
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
	}
	if err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("argument %q is not a flag", flags.Arg(0))
	}
	if o.rounds < 1 || o.slice <= 0 || o.threads < 1 {
		return nil, fmt.Errorf("%d rounds of %v with %d threads: all three must be positive", o.rounds, o.slice, o.threads)
	}
	if *arms != "" {
		o.arms = strings.Split(*arms, ",")
	}
	if o.proxyCPUs, err = parseCPUs(*proxy); err != nil {
		return nil, err
	}
	if o.otherCPUs, err = parseCPUs(*other); err != nil {
		return nil, err
	}
	o.cells, err = parseCells(*mixes, *pipelines, *conns, *sizes)
	return o, err
}

// parseCells makes every combination; the value size changes last, since a change means to set all keys anew.
func parseCells(mixes, pipelines, conns, sizes string) ([]cell, error) {
	depths, err := parseNumbers("-pipelines", pipelines, 1<<16)
	if err != nil {
		return nil, err
	}
	connections, err := parseNumbers("-conns", conns, 60000)
	if err != nil {
		return nil, err
	}
	bytes, err := parseNumbers("-sizes", sizes, valueBytesMax)
	if err != nil {
		return nil, err
	}
	var cells []cell
	for _, valueBytes := range bytes {
		for _, name := range strings.Split(mixes, ",") {
			mix, err := closedloop.ParseMix(strings.ReplaceAll(name, "+", ","))
			if err != nil {
				return nil, fmt.Errorf("-mixes: %w", err)
			}
			for _, c := range connections {
				for _, depth := range depths {
					cells = append(cells, cell{mix, depth, c, valueBytes})
				}
			}
		}
	}
	return cells, nil
}

func parseNumbers(name, text string, max int) ([]int, error) {
	var numbers []int
	for _, part := range strings.Split(text, ",") {
		number, err := strconv.Atoi(part)
		if err != nil || number < 1 || number > max {
			return nil, fmt.Errorf("%s: %q is not a number from 1 to %d", name, part, max)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

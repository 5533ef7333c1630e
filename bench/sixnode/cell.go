package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mithril/bench/load/closedloop"
)

const (
	keysMax       = 10000
	keySpaceBytes = 64 << 20 // of values; more of them would measure the servers' memory
	warmup        = 200 * time.Millisecond
	countShare    = 2 // the counting slice is the half of a timed one
)

// cell is one workload, a section of the table.
type cell struct {
	mix        []closedloop.Op
	pipeline   int
	conns      int
	valueBytes int
}

func (c cell) keys() int { return max(1, min(keysMax, keySpaceBytes/c.valueBytes)) }

func (c cell) String() string {
	return fmt.Sprintf("%s, pipeline %d, %d connections, %d B", mixName(c.mix), c.pipeline, c.conns, c.valueBytes)
}

func mixName(mix []closedloop.Op) string {
	var names []string
	for _, op := range mix {
		names = append(names, op.String())
	}
	return strings.Join(names, "+")
}

// keysOf is how many keys the commands of a mix have together.
func keysOf(mix []closedloop.Op) (keys int) {
	for _, op := range mix {
		keys += op.Keys()
	}
	return keys
}

// workload is what an arm is loaded with in place of the cell's mix and depth.
type workload struct {
	mix      []closedloop.Op
	pipeline int
}

// parseWorkload reads a text such as "set+get/16". None is nil.
func parseWorkload(text string) (*workload, error) {
	if text == "" {
		return nil, nil
	}
	name, depth, _ := strings.Cut(text, "/")
	mix, err := closedloop.ParseMix(strings.ReplaceAll(name, "+", ","))
	if err != nil {
		return nil, err
	}
	pipeline, err := parseNumbers("depth", depth, pipelineMax)
	if err != nil {
		return nil, err
	}
	if len(pipeline) != 1 {
		return nil, fmt.Errorf("workload %q names more than one depth", text)
	}
	return &workload{mix, pipeline[0]}, nil
}

// of is the cell as an arm with the workload meets it, and how many of the cell's commands one of its own is worth: as many
// as have its keys.
func (w *workload) of(c cell) (cell, float64) {
	if w == nil {
		return c, 1
	}
	worth := float64(keysOf(w.mix)*len(c.mix)) / float64(keysOf(c.mix)*len(w.mix))
	c.mix, c.pipeline = w.mix, w.pipeline
	return c, worth
}

// slice is one arm's share of a round.
type slice struct {
	cpu     cpuUse // of the proxy
	nodesNs int64  // run time of the servers
	load    closedloop.Result
	worth   float64 // of a command, in commands of the cell
	told    told    // by the proxy
}

func (s slice) commands() float64  { return float64(s.load.Commands) * s.worth }
func (s slice) perSecond() float64 { return s.load.PerSecond * s.worth }

// usPerCommand is the CPU time of one command in the proxy, in µs.
func (s slice) usPerCommand() float64 { return float64(s.cpu.ns) / 1e3 / s.commands() }

// nodesUsPerCommand is the CPU time of one command in all servers together, in µs.
func (s slice) nodesUsPerCommand() float64 {
	return float64(s.nodesNs) / 1e3 / s.commands()
}

// nodeSendsPerCommand and handedOverPerCommand are of the proxy's own counts.
func (s slice) nodeSendsPerCommand() float64  { return s.told[nodeSends] / s.commands() }
func (s slice) handedOverPerCommand() float64 { return s.told[handedOver] / s.commands() }

// series is what one arm's slices of a cell gave.
type series struct {
	name    string
	fronts  backing
	process bool // there is one; without it CPU times and counts are nothing
	base    int  // the number of the series that it is compared with
	slices  []slice
	counted counted
}

// bench is what cells are measured with.
type bench struct {
	rounds  int
	slice   time.Duration
	threads int // of the load
	servers *servers
	counts  bool // give every arm a counting slice
}

// measure gives every arm one slice a round, and in the end one slice in which its calls are counted.
func (b *bench) measure(ctx context.Context, c cell, arms []*arm) ([]series, error) {
	var all []series
	for _, a := range arms {
		if err := b.servers.fill(c, a); err != nil {
			return nil, err
		}
		all = append(all, series{name: a.name, fronts: a.fronts, process: a.pid != 0, base: a.base})
	}
	for round := range b.rounds {
		for _, i := range order(round, len(arms)) {
			s, err := b.measureSlice(ctx, c, arms[i])
			if err != nil {
				return nil, b.failed(ctx, c, arms[i], err)
			}
			all[i].slices = append(all[i].slices, s)
		}
	}
	for i, a := range arms {
		if !b.counts || a.pid == 0 {
			continue
		}
		var err error
		if all[i].counted, err = b.countSlice(ctx, c, a); err != nil {
			return nil, b.failed(ctx, c, a, err)
		}
	}
	return all, nil
}

// failed says where an error happened, unless it is that of being stopped.
func (b *bench) failed(ctx context.Context, c cell, a *arm, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w", c, a.explain(err))
}

// order is the order of n arms in a round: every second round is rotated by one more, and odd rounds reverse the
// one before, so that no arm always follows the same other one.
func order(round, n int) []int {
	var arms []int
	for i := range n {
		if round%2 == 1 {
			i = n - 1 - i
		}
		arms = append(arms, (i+round/2)%n)
	}
	return arms
}

func (b *bench) measureSlice(ctx context.Context, c cell, a *arm) (slice, error) {
	c, worth := a.own.of(c)
	nodes := b.servers.pids(a.fronts)
	var used [edges]usage
	var said [edges]told
	result, err := b.load(ctx, c, a, b.slice, func(edge int) (err error) {
		if said[edge], err = a.ask(); err == nil {
			used[edge], err = readUsage(a.pid, nodes)
		}
		return err
	})
	if err != nil {
		return slice{}, err
	}
	s := slice{cpu: used[1].proxy.since(used[0].proxy), load: result, worth: worth, told: said[1].since(said[0])}
	for i, after := range used[1].nodes {
		s.nodesNs += after.since(used[0].nodes[i]).ns
	}
	return s, nil
}

// edges are the two ends of the window of a load.
const edges = 2

// load loads an arm and calls at at both edges of the window, with the load running.
func (b *bench) load(ctx context.Context, c cell, a *arm, window time.Duration, at func(edge int) error) (closedloop.Result, error) {
	var edgeErrors [edges]error
	result, err := closedloop.Run(ctx, closedloop.Config{
		Addr: a.addr, Conns: c.conns, Pipeline: c.pipeline, ValueBytes: c.valueBytes, Keys: c.keys(), Mix: c.mix,
		Threads: b.threads, Warmup: warmup, Window: window,
		OpenWindow:  func() { edgeErrors[0] = at(0) },
		CloseWindow: func() { edgeErrors[1] = at(1) },
	})
	if err == nil && result.Nulls > 0 {
		err = fmt.Errorf("%d replies lacked a value though every key was set", result.Nulls)
	}
	return result, errors.Join(err, edgeErrors[0], edgeErrors[1])
}

// counted are calls per command of one arm in one cell; the zero value is that of none counted.
type counted struct {
	known       bool
	systemCalls float64
	sends       float64
}

// countSlice loads an arm while its calls are counted. The times of such a slice do not count.
func (b *bench) countSlice(ctx context.Context, c cell, a *arm) (counted, error) {
	counter, err := newCounter(a.pid)
	if err != nil {
		return counted{}, err
	}
	defer counter.close()
	c, worth := a.own.of(c)
	var at [edges]counts
	result, err := b.load(ctx, c, a, b.slice/countShare, func(edge int) (err error) {
		at[edge], err = counter.read()
		return err
	})
	perCommand := func(before, after int64) float64 { return float64(after-before) / (float64(result.Commands) * worth) }
	return counted{true, perCommand(at[0].systemCalls, at[1].systemCalls), perCommand(at[0].sends, at[1].sends)}, err
}

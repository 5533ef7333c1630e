package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mithril/bench/load/closedloop"
)

const (
	keysMax       = 10000
	keySpaceBytes = 64 << 20 // of values; more of them would measure the servers' memory
	warmup        = 200 * time.Millisecond
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
		name := op.String()
		if op == closedloop.MGet {
			name = fmt.Sprintf("%s%d", name, closedloop.MGetKeys)
		}
		names = append(names, name)
	}
	return strings.Join(names, "+")
}

// slice is one arm's share of a round.
type slice struct {
	cpu  cpuUse
	load closedloop.Result
}

// usPerCommand is the CPU time of one command in µs.
func (s slice) usPerCommand() float64 { return float64(s.cpu.ns) / 1e3 / float64(s.load.Commands) }

// bench is what cells are measured with.
type bench struct {
	rounds  int
	slice   time.Duration
	threads int // of the load
	filled  int // value size that the keys have now
}

// measure gives every arm one slice a round: slices[a][r] is that of arm a in round r.
func (b *bench) measure(ctx context.Context, c cell, arms []*arm) ([][]slice, error) {
	if b.filled != c.valueBytes {
		if err := closedloop.Fill(arms[0].addr, c.keys(), c.valueBytes); err != nil {
			return nil, arms[0].explain(err)
		}
		b.filled = c.valueBytes
	}
	slices := make([][]slice, len(arms))
	for round := range b.rounds {
		for _, a := range order(round, len(arms)) {
			s, err := b.measureSlice(ctx, c, arms[a])
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c, arms[a].explain(err))
			}
			slices[a] = append(slices[a], s)
		}
	}
	return slices, nil
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
	var before, after cpuTime
	var errBefore, errAfter error
	result, err := closedloop.Run(ctx, closedloop.Config{
		Addr: a.addr, Conns: c.conns, Pipeline: c.pipeline, ValueBytes: c.valueBytes, Keys: c.keys(), Mix: c.mix,
		Threads: b.threads, Warmup: warmup, Window: b.slice,
		OpenWindow:  func() { before, errBefore = readCPU(a.pid) },
		CloseWindow: func() { after, errAfter = readCPU(a.pid) },
	})
	for _, err := range []error{err, errBefore, errAfter} {
		if err != nil {
			return slice{}, err
		}
	}
	if result.Nulls > 0 {
		return slice{}, fmt.Errorf("%d replies lacked a value though every key was set", result.Nulls)
	}
	return slice{after.since(before), result}, nil
}

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// spread is a median with its range.
type spread struct{ median, min, max float64 }

// spreadOf sorts the values; there must be one.
func spreadOf(values []float64) spread {
	slices.Sort(values)
	n := len(values)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

func (s spread) String() string {
	if math.IsNaN(s.median) {
		return "-"
	}
	return fmt.Sprintf("%.3f [%.3f..%.3f]", s.median, s.min, s.max)
}

// unknown stands for what an arm does not have.
var unknown = math.NaN()

// compared are the measures whose ratios to another arm are shown, in columns.
var compared = [...]struct {
	title string
	of    func(slice) float64
}{
	{"CPU per command", slice.usPerCommand},
	{"nodes' CPU", slice.nodesUsPerCommand},
	{"node sends", slice.nodeSendsPerCommand},
	{"cmds/s", slice.perSecond},
	{"p50", func(s slice) float64 { return float64(s.load.P50Us) }},
	{"p99", func(s slice) float64 { return float64(s.load.P99Us) }},
}

const cpuRatio = 0 // place of the CPU time in compared

// row is one arm of a cell: medians of its slices, and of its rounds' ratios to its base.
type row struct {
	name        string
	fronts      backing
	us          float64 // CPU time per command, µs
	userShare   float64 // of it, 0..1
	busy        float64 // CPU time by elapsed time; 1 is one processor
	nodesUs     float64 // CPU time per command of all servers, µs
	perSecond   float64 // commands
	p50Us       float64
	p99Us       float64
	p999Us      float64
	systemCalls float64 // per command
	sends       float64 // per command
	nodeSends   float64 // per command, by the proxy's own count
	handedOver  float64 // per command, likewise
	base        int     // the number of the row that it is compared with
	toBase      [len(compared)]spread
}

func medianOf(of []slice, value func(slice) float64) float64 {
	var values []float64
	for _, s := range of {
		values = append(values, value(s))
	}
	return spreadOf(values).median
}

// newRow makes a row; base is the arm that own is compared with.
func newRow(own, base series) row {
	r := row{
		name: own.name, fronts: own.fronts, us: unknown, userShare: unknown, busy: unknown, systemCalls: unknown, sends: unknown,
		nodesUs:   medianOf(own.slices, slice.nodesUsPerCommand),
		perSecond: medianOf(own.slices, slice.perSecond),
		p50Us:     medianOf(own.slices, func(s slice) float64 { return float64(s.load.P50Us) }),
		p99Us:     medianOf(own.slices, func(s slice) float64 { return float64(s.load.P99Us) }),
		p999Us:    medianOf(own.slices, func(s slice) float64 { return float64(s.load.P999Us) }),

		nodeSends:  medianOf(own.slices, slice.nodeSendsPerCommand),
		handedOver: medianOf(own.slices, slice.handedOverPerCommand),
		base:       own.base,
	}
	if own.process {
		var user, system int64
		for _, s := range own.slices {
			user += s.cpu.userTicks
			system += s.cpu.systemTicks
		}
		r.us = medianOf(own.slices, slice.usPerCommand)
		r.userShare = float64(user) / float64(max(1, user+system))
		r.busy = medianOf(own.slices, func(s slice) float64 { return float64(s.cpu.ns) / 1e9 / s.load.Seconds })
	}
	if own.counted.known {
		r.systemCalls, r.sends = own.counted.systemCalls, own.counted.sends
	}
	for i, measure := range compared {
		r.toBase[i] = ratios(own.slices, base.slices, measure.of)
	}
	if !own.process {
		r.toBase[cpuRatio] = spread{median: unknown}
	}
	return r
}

// ratios pairs the slices of two arms round by round.
func ratios(own, base []slice, of func(slice) float64) spread {
	var values []float64
	for round := range own {
		values = append(values, of(own[round])/of(base[round]))
	}
	return spreadOf(values)
}

// rows makes a cell's rows, one for each arm.
func rows(measured []series) []row {
	var table []row
	for _, s := range measured {
		table = append(table, newRow(s, measured[s.base]))
	}
	return table
}

// writeTable writes a section of a Markdown file that also reads well on a terminal.
func writeTable(out io.Writer, title string, table []row) {
	width := 0
	for _, r := range table {
		width = max(width, len(r.name), len("to ")+len(table[r.base].name))
	}
	fmt.Fprintf(out, "\n## %s\n\n", title)
	writeFigures(out, width, table)
	for i := range table {
		writeRatios(out, width, table, i)
	}
}

func writeFigures(out io.Writer, width int, table []row) {
	fmt.Fprintf(out, "| %-*s | fronts  | CPU µs/cmd |   user |    sys | CPU busy | nodes µs/cmd |   cmds/s |  p50 ms |  p99 ms | p99.9 ms | syscalls/cmd | sends/cmd | node sends/cmd | handed over/cmd |\n", width, "arm")
	fmt.Fprintf(out, "|-%s-|---------|-----------:|-------:|-------:|---------:|-------------:|---------:|--------:|--------:|---------:|-------------:|----------:|---------------:|----------------:|\n", dashes(width))
	for _, r := range table {
		fmt.Fprintf(out, "| %-*s | %-7s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", width, r.name, r.fronts,
			figure(10, 2, r.us), figure(6, 2, r.us*r.userShare), figure(6, 2, r.us*(1-r.userShare)), figure(8, 2, r.busy),
			figure(12, 2, r.nodesUs), figure(8, 0, r.perSecond), figure(7, 3, r.p50Us/1e3), figure(7, 3, r.p99Us/1e3), figure(8, 3, r.p999Us/1e3),
			figure(12, 3, r.systemCalls), figure(9, 3, r.sends), figure(14, 3, r.nodeSends), figure(15, 3, r.handedOver))
	}
}

// figure is a number of a column, or a dash.
func figure(width, decimals int, value float64) string {
	if math.IsNaN(value) {
		return fmt.Sprintf("%*s", width, "-")
	}
	return fmt.Sprintf("%*.*f", width, decimals, value)
}

const ratioWidth = len("0.000 [0.000..0.000]")

// writeRatios writes the arms that are compared with one of them, if there are any.
func writeRatios(out io.Writer, width int, table []row, base int) {
	var compare []row
	for i, r := range table {
		if r.base == base && i != base {
			compare = append(compare, r)
		}
	}
	if compare == nil {
		return
	}
	fmt.Fprintf(out, "\n| %-*s |", width, "to "+table[base].name)
	for _, measure := range compared {
		fmt.Fprintf(out, " %-*s |", ratioWidth, measure.title)
	}
	fmt.Fprintf(out, "\n|-%s-|", dashes(width))
	for range compared {
		fmt.Fprintf(out, "-%s-|", dashes(ratioWidth))
	}
	fmt.Fprintln(out)
	for _, r := range compare {
		fmt.Fprintf(out, "| %-*s |", width, r.name)
		for _, ratio := range r.toBase {
			fmt.Fprintf(out, " %-*s |", ratioWidth, ratio)
		}
		fmt.Fprintln(out)
	}
}

func dashes(n int) string { return strings.Repeat("-", n) }

package main

import (
	"fmt"
	"io"
	"slices"
)

// spread is a median with its range.
type spread struct{ median, min, max float64 }

// spreadOf sorts the values; there must be one.
func spreadOf(values []float64) spread {
	slices.Sort(values)
	n := len(values)
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

func (s spread) String() string { return fmt.Sprintf("%.3f [%.3f..%.3f]", s.median, s.min, s.max) }

// row is one arm of a cell: medians of its slices, and of its rounds' ratios to the first arm.
type row struct {
	name       string
	us         float64 // CPU time per command, µs
	userShare  float64 // of it, 0..1
	busy       float64 // CPU time by elapsed time; 1 is one processor
	perSecond  float64 // commands
	p99Us      float64
	toFirst    spread
	hasToFirst bool
}

func medianOf(of []slice, value func(slice) float64) float64 {
	var values []float64
	for _, s := range of {
		values = append(values, value(s))
	}
	return spreadOf(values).median
}

func newRow(name string, own []slice) row {
	var user, system int64
	for _, s := range own {
		user += s.cpu.userTicks
		system += s.cpu.systemTicks
	}
	return row{
		name:      name,
		us:        medianOf(own, slice.usPerCommand),
		userShare: float64(user) / float64(max(1, user+system)),
		busy:      medianOf(own, func(s slice) float64 { return float64(s.cpu.ns) / 1e9 / s.load.Seconds }),
		perSecond: medianOf(own, func(s slice) float64 { return s.load.PerSecond }),
		p99Us:     medianOf(own, func(s slice) float64 { return float64(s.load.P99Us) }),
	}
}

// ratios pairs the slices of two arms round by round.
func ratios(own, first []slice) spread {
	var values []float64
	for round := range own {
		values = append(values, own[round].usPerCommand()/first[round].usPerCommand())
	}
	return spreadOf(values)
}

// rows makes a cell's rows; names and slices go by arm.
func rows(names []string, measured [][]slice) []row {
	var table []row
	for i, name := range names {
		r := newRow(name, measured[i])
		if i > 0 {
			r.toFirst, r.hasToFirst = ratios(measured[i], measured[0]), true
		}
		table = append(table, r)
	}
	return table
}

// writeTable writes a section of a Markdown file that also reads well on a terminal.
func writeTable(out io.Writer, title string, table []row) {
	width := 0
	for _, r := range table {
		width = max(width, len(r.name))
	}
	fmt.Fprintf(out, "\n## %s\n\n", title)
	fmt.Fprintf(out, "| %-*s | CPU µs/cmd |   user |    sys | CPU busy |   cmds/s |  p99 ms | CPU per command to %s\n", width, "arm", table[0].name)
	fmt.Fprintf(out, "|-%s-|-----------:|-------:|-------:|---------:|---------:|--------:|---\n", dashes(width))
	for _, r := range table {
		ratio := ""
		if r.hasToFirst {
			ratio = r.toFirst.String()
		}
		fmt.Fprintf(out, "| %-*s | %10.2f | %6.2f | %6.2f | %8.2f | %8.0f | %7.2f | %s\n",
			width, r.name, r.us, r.us*r.userShare, r.us*(1-r.userShare), r.busy, r.perSecond, r.p99Us/1e3, ratio)
	}
}

func dashes(n int) string {
	line := make([]byte, n)
	for i := range line {
		line[i] = '-'
	}
	return string(line)
}

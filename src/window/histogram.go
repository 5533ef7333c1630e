package window

import "math/bits"

const (
	// Each octave of durations has 1<<fineBits cells: a percentile is exact to 6 %.
	fineBits = 4

	// unitBits is the logarithm of the shortest duration told from 0, in ns.
	unitBits = 10

	octaves = 22 // up to 2 s; what is longer counts as that
	cells   = octaves << fineBits
)

// histogram counts durations in cells whose width grows with them.
type histogram struct {
	total uint64
	count [cells]uint32
}

func (h *histogram) add(ns int64, n uint32) {
	h.count[cell(ns)] += n
	h.total += uint64(n)
}

// cell is where a duration is counted: the first octave is cut like the second, and
// each further one is twice as long.
func cell(ns int64) int {
	v := uint64(max(ns, 0)) >> (unitBits - fineBits)
	shift := max(bits.Len64(v)-fineBits-1, 0)
	return min(shift<<fineBits+int(v>>shift), cells-1)
}

// start is the shortest duration of a cell, in ns.
func start(cell int) float64 {
	shift := max(cell>>fineBits-1, 0)
	return float64(uint64(cell-shift<<fineBits) << shift << (unitBits - fineBits))
}

// quantile is the duration that the share q of the durations does not exceed, in ns; at
// least 1.
func (h *histogram) quantile(q float64) float64 {
	rank := q * float64(h.total)
	for i, n := range h.count {
		if below := float64(n); rank > below {
			rank -= below
		} else if n > 0 {
			return max(start(i)+(start(i+1)-start(i))*rank/below, 1)
		}
	}
	return 1
}

package window

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every round has each window once, and over the rounds each follows both of its
// neighbours.
func TestOrderOfRounds(t *testing.T) {
	const n = len(Windows)
	followed := [n]map[int]bool{}
	for i := range followed {
		followed[i] = map[int]bool{}
	}
	last := -1
	for round := range roundsMax {
		var seen []int
		for at := range n {
			i := place(round, at)
			if last >= 0 && last != i {
				followed[i][last] = true
			}
			seen, last = append(seen, i), i
		}
		slices.Sort(seen)
		if !slices.Equal(seen, []int{0, 1, 2, 3, 4}) {
			t.Errorf("round %d has the windows %v", round, seen)
		}
	}
	for i, others := range followed {
		if !others[(i+1)%n] || !others[(i+n-1)%n] {
			t.Errorf("window %d follows only %v", i, others)
		}
	}
}

// One round in four may be an accident.
func TestAccidentsInSomeRounds(t *testing.T) {
	for _, good := range []bool{true, false} {
		p := &probe{}
		for over := false; !over; {
			m := measure{cpu: 6000, rate: 1, late: 1e6}
			if p.current() == 3 {
				if good {
					m.cpu = 4000
				}
				if p.rounds%4 == 1 {
					m = measure{cpu: 6000 * 6000 / m.cpu, rate: 0.2, late: 1e8}
					if !good {
						m = measure{cpu: 1000, rate: 5, late: 1e5}
					}
				}
			}
			over = p.note(m)
		}
		want := 0
		if good {
			want = 3
		}
		if got := p.winner(0); got != want {
			t.Errorf("winner %d, want %d: %+v", got, want, p.verdict(3))
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, scale := range []float64{2e3, 1e5, 7e6, 1e8} {
		var h histogram
		var all []float64
		for range 20_000 {
			v := scale * (0.2 + rng.ExpFloat64())
			h.add(int64(v), 1)
			all = append(all, v)
		}
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.99, 1} {
			want := all[int(q*float64(len(all)-1))]
			if got := h.quantile(q); math.Abs(got-want) > 0.07*want+64 {
				t.Errorf("scale %v: quantile %v is %v, want %v", scale, q, got, want)
			}
		}
	}
	if got := new(histogram).quantile(0.99); got != 1 {
		t.Errorf("without durations: %v", got)
	}
	var weighted histogram
	weighted.add(1e6, 98)
	weighted.add(1e7, 2)
	if got := weighted.quantile(0.99); got < 0.9e7 || got > 1.1e7 {
		t.Errorf("weighted: %v, want about 1e7", got)
	}
}

// Cells follow each other without gap, and what is out of their range is in the last.
func TestCells(t *testing.T) {
	for i := range cells - 1 {
		from, to := int64(start(i)), int64(start(i+1))
		if cell(from) != i || cell(to-1) != i || cell(to) != i+1 {
			t.Fatalf("cell %d is from %d to %d, which are in cells %d, %d and %d", i, from, to, cell(from), cell(to-1), cell(to))
		}
	}
	for ns, want := range map[int64]int{-5: 0, 0: 0, math.MaxInt64: cells - 1} {
		if got := cell(ns); got != want {
			t.Errorf("%d is in cell %d, want %d", ns, got, want)
		}
	}
}

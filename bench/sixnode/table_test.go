package main

import (
	"bytes"
	"slices"
	"testing"

	"mithril/bench/load/closedloop"
)

// use makes a one-second slice of 1000 commands that took us µs each.
func use(us float64) slice {
	return slice{
		cpu:  cpuUse{ns: int64(us * 1e6), userTicks: 1, systemTicks: 3},
		load: closedloop.Result{Commands: 1000, Seconds: 1, PerSecond: 1000, P99Us: 2500},
	}
}

func TestRatiosAreFormedWithinRounds(t *testing.T) {
	// The machine gets slower by 4x over the rounds; the second arm always costs half.
	first := []slice{use(10), use(20), use(40)}
	second := []slice{use(5), use(10), use(22)}
	if got := ratios(second, first); got != (spread{0.5, 0.5, 0.55}) {
		t.Errorf("ratios are %v", got)
	}
}

func TestSpread(t *testing.T) {
	if got := spreadOf([]float64{9, 1, 5}); got != (spread{5, 1, 9}) {
		t.Errorf("of three: %v", got)
	}
	if got := spreadOf([]float64{4, 1, 2, 9}); got != (spread{3, 1, 9}) {
		t.Errorf("of four: %v", got)
	}
}

func TestTable(t *testing.T) {
	measured := [][]slice{{use(10), use(20), use(40)}, {use(5), use(10), use(22)}}
	var out bytes.Buffer
	writeTable(&out, "get", rows([]string{"reference", "epoll"}, measured))
	want := `
## get

| arm       | CPU µs/cmd |   user |    sys | CPU busy |   cmds/s |  p99 ms | CPU per command to reference
|-----------|-----------:|-------:|-------:|---------:|---------:|--------:|---
| reference |      20.00 |   5.00 |  15.00 |     0.02 |     1000 |    2.50 | 
| epoll     |      10.00 |   2.50 |   7.50 |     0.01 |     1000 |    2.50 | 0.500 [0.500..0.550]
`
	if out.String() != want {
		t.Errorf("the table is%s\nwant%s", out.String(), want)
	}
}

func TestOrderGivesEveryArmEveryPlace(t *testing.T) {
	for n := 1; n <= 5; n++ {
		places := make([][]int, n) // places[a][i]: how often arm a was at place i
		for a := range places {
			places[a] = make([]int, n)
		}
		for round := range 2 * n {
			arms := order(round, n)
			for i, a := range arms {
				places[a][i]++
			}
			if slices.Sort(arms); !slices.Equal(arms, order(0, n)) {
				t.Fatalf("round %d of %d arms has %v", round, n, arms)
			}
		}
		for a, counts := range places {
			for i, count := range counts {
				if count != 2 {
					t.Errorf("%d arms: arm %d was at place %d %d times in %d rounds, want 2", n, a, i, count, 2*n)
				}
			}
		}
	}
}

func TestOrderLetsNoArmProfitFromItsNeighbour(t *testing.T) {
	const n = 4
	var after [n][n]int // after[a][b]: how often b came right after a
	for round := range 2 * n {
		arms := order(round, n)
		for i := 1; i < n; i++ {
			after[arms[i-1]][arms[i]]++
		}
	}
	for a := range n {
		for b := range n {
			if after[a][b] != after[b][a] {
				t.Errorf("%d follows %d %d times, and %d follows %d %d times", b, a, after[a][b], a, b, after[b][a])
			}
		}
	}
}

func TestTwinsMustAgree(t *testing.T) {
	for median, want := range map[float64]bool{0.971: true, 1.029: true, 0.969: false, 1.031: false} {
		if got := agree(row{toFirst: spread{median: median}}, 0.03); got != want {
			t.Errorf("twins at %.3f agree: %v", median, got)
		}
	}
}

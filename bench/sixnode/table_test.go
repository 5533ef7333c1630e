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
		worth:   1,
		cpu:     cpuUse{ns: int64(us * 1e6), userTicks: 1, systemTicks: 3},
		nodesNs: 5e6,
		told:    toldNothing(),
		load:    closedloop.Result{Commands: 1000, Seconds: 1, PerSecond: 1000, P50Us: 1200, P99Us: 2500, P999Us: 10000},
	}
}

func TestRatiosAreFormedWithinRounds(t *testing.T) {
	// The machine gets slower by 4x over the rounds; the second arm always costs half.
	first := []slice{use(10), use(20), use(40)}
	second := []slice{use(5), use(10), use(22)}
	if got := ratios(second, first, slice.usPerCommand); got != (spread{0.5, 0.5, 0.55}) {
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
	slow := use(0)
	slow.load.PerSecond, slow.load.P99Us = 500, 10000
	own, shared := use(10), use(12)
	own.told, shared.told = told{nodeSends: 600, handedOver: 0}, told{nodeSends: 300, handedOver: 500}
	measured := []series{
		{name: "reference", process: true, slices: []slice{use(10), use(20), use(40)}, counted: counted{true, 2.5, 1}},
		{name: "epoll", process: true, slices: []slice{use(5), use(10), use(22)}},
		{name: "direct", fronts: onePlain, slices: []slice{slow, slow, slow}},
		{name: "own", process: true, base: 3, slices: []slice{own}},
		{name: "shared", process: true, base: 3, slices: []slice{shared}},
	}
	var out bytes.Buffer
	writeTable(&out, "get", rows(measured))
	want := `
## get

| arm          | fronts  | CPU µs/cmd |   user |    sys | CPU busy | nodes µs/cmd |   cmds/s |  p50 ms |  p99 ms | p99.9 ms | syscalls/cmd | sends/cmd | node sends/cmd | handed over/cmd |
|--------------|---------|-----------:|-------:|-------:|---------:|-------------:|---------:|--------:|--------:|---------:|-------------:|----------:|---------------:|----------------:|
| reference    | cluster |      20.00 |   5.00 |  15.00 |     0.02 |         5.00 |     1000 |   1.200 |   2.500 |   10.000 |        2.500 |     1.000 |              - |               - |
| epoll        | cluster |      10.00 |   2.50 |   7.50 |     0.01 |         5.00 |     1000 |   1.200 |   2.500 |   10.000 |            - |         - |              - |               - |
| direct       | 1 plain |          - |      - |      - |        - |         5.00 |      500 |   1.200 |  10.000 |   10.000 |            - |         - |              - |               - |
| own          | cluster |      10.00 |   2.50 |   7.50 |     0.01 |         5.00 |     1000 |   1.200 |   2.500 |   10.000 |            - |         - |          0.600 |           0.000 |
| shared       | cluster |      12.00 |   3.00 |   9.00 |     0.01 |         5.00 |     1000 |   1.200 |   2.500 |   10.000 |            - |         - |          0.300 |           0.500 |

| to reference | CPU per command      | nodes' CPU           | node sends           | cmds/s               | p50                  | p99                  |
|--------------|----------------------|----------------------|----------------------|----------------------|----------------------|----------------------|
| epoll        | 0.500 [0.500..0.550] | 1.000 [1.000..1.000] | -                    | 1.000 [1.000..1.000] | 1.000 [1.000..1.000] | 1.000 [1.000..1.000] |
| direct       | -                    | 1.000 [1.000..1.000] | -                    | 0.500 [0.500..0.500] | 1.000 [1.000..1.000] | 4.000 [4.000..4.000] |

| to own       | CPU per command      | nodes' CPU           | node sends           | cmds/s               | p50                  | p99                  |
|--------------|----------------------|----------------------|----------------------|----------------------|----------------------|----------------------|
| shared       | 1.200 [1.200..1.200] | 1.000 [1.000..1.000] | 0.500 [0.500..0.500] | 1.000 [1.000..1.000] | 1.000 [1.000..1.000] | 1.000 [1.000..1.000] |
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
		if got := agree(row{toBase: [len(compared)]spread{cpuRatio: {median: median}}}, 0.03); got != want {
			t.Errorf("twins at %.3f agree: %v", median, got)
		}
	}
}

// TestWorkloadOfAnArm: commands of an arm with a workload of its own count by their keys.
func TestWorkloadOfAnArm(t *testing.T) {
	own, err := parseWorkload("set+mget10/8")
	if err != nil {
		t.Fatal(err)
	}
	c, worth := own.of(cell{mix: []closedloop.Op{closedloop.MGet100}, pipeline: 1, conns: 5, valueBytes: 64})
	if got, want := c.String(), "set+mget10, pipeline 8, 5 connections, 64 B"; got != want || worth != 0.055 {
		t.Errorf("%s, worth %v; want %s, worth 0.055", got, worth, want)
	}
	if same, worth := (*workload)(nil).of(c); same.String() != c.String() || worth != 1 {
		t.Errorf("without one: %s, worth %v", same, worth)
	}
	for _, text := range []string{"get", "get/", "get/0", "get/1,2", "gat/1"} {
		if _, err := parseWorkload(text); err == nil {
			t.Errorf("workload %q is taken", text)
		}
	}
}

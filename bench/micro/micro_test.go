package micro

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestNoAllocation is the gate: the data path of a worker allocates nothing.
func TestNoAllocation(t *testing.T) {
	for _, load := range Loads {
		t.Run(load.Name, func(t *testing.T) {
			r := load.Start()
			if n := testing.AllocsPerRun(1000, r.Iterate); n != 0 {
				t.Errorf("%v allocations per iteration of %d requests", n, load.Requests)
			}
		})
	}
}

// TestTurns checks that an iteration is what doc.go says: one turn with the client's
// requests, one with the nodes' replies, and one more for each redirect followed; what the proxy answers itself needs the first
// only. The
// send to the client is handed over with the turn after the last.
func TestTurns(t *testing.T) {
	for _, load := range Loads {
		want := 3
		switch load.Name {
		case "MOVED", "ASK":
			want = 4
		case "PING":
			want = 2
		}
		if load.Place == Far {
			want += 2
		}
		r := load.Start()
		if r.Iterate(); r.turns != want {
			t.Errorf("%s: %d turns, want %d", load.Name, r.turns, want)
		}
	}
}

// TestPlaces: the worker whose clients' requests are not handed over has connections, and no other one.
func TestPlaces(t *testing.T) {
	for place, want := range map[Place][]int{Alone: {1}, Near: {0, 1}, Far: {1, 0}} {
		r := Load{Requests: 1, Prepare: func(r *Rig) { loadGet(r, 1, 64) }, Place: place}.Start()
		for i, own := range r.rings {
			connections := 0
			for _, node := range own.owner {
				if node != noNode {
					connections++
				}
			}
			if connections != want[i] {
				t.Errorf("place %d: worker %d has %d connections to nodes, want %d", place, i, connections, want[i])
			}
		}
	}
}

// TestApart: the same comes out with a thread for each worker.
func TestApart(t *testing.T) {
	r := NewRig(Far)
	loadGet(r, 16, 64)
	end := r.Apart()
	for range 1000 {
		r.Iterate()
	}
	end()
	r.Iterate()
}

func BenchmarkWorker(b *testing.B) {
	for _, load := range Loads {
		b.Run(load.Name, func(b *testing.B) {
			r := load.Start()
			b.ReportAllocs()
			for b.Loop() {
				r.Iterate()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(load.Requests), "ns/request")
		})
	}
}

// BenchmarkHandOver compares requests that are handed over with those that are not, in pairs of short slices. With a
// thread for each worker it is time and not work: it has the way from one processor's cache to the other's in it.
func BenchmarkHandOver(b *testing.B) {
	for _, requests := range []int{1, 16, 64, 256} {
		prepare := func(r *Rig) { loadGet(r, requests, 64) }
		near, far := Load{"", requests, prepare, Near}, Load{"", requests, prepare, Far}
		b.Run(fmt.Sprintf("GETx%d/together", requests), func(b *testing.B) { measurePairs(b, requests, near.Start(), far.Start()) })
		b.Run(fmt.Sprintf("GETx%d/apart", requests), func(b *testing.B) {
			far := far.Start()
			defer far.Apart()()
			measurePairs(b, requests, near.Start(), far)
		})
	}
}

// sliceRequests are about as many as take less time than a thread gets at a time, so that the median slice of a busy machine
// was not interrupted.
const sliceRequests = 512

// measurePairs reports medians per request: of near, of far and of the difference within a pair.
func measurePairs(b *testing.B, requests int, near, far *Rig) {
	var nears, fars, differences []float64
	slice := func(r *Rig) float64 {
		begin := time.Now()
		for range sliceRequests / requests {
			r.Iterate()
		}
		return float64(time.Since(begin).Nanoseconds()) / sliceRequests
	}
	for b.Loop() {
		n, f := slice(near), slice(far)
		nears, fars, differences = append(nears, n), append(fars, f), append(differences, f-n)
	}
	median := func(values []float64) float64 { slices.Sort(values); return values[len(values)/2] }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(nears), "near-ns/request")
	b.ReportMetric(median(fars), "far-ns/request")
	b.ReportMetric(median(differences), "hand-over-ns/request")
}

package micro

import "testing"

// TestNoAllocation is the gate: the data path of a worker allocates nothing.
func TestNoAllocation(t *testing.T) {
	for _, load := range Loads {
		t.Run(load.Name, func(t *testing.T) {
			r := NewRig()
			load.Prepare(r)
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
		r := NewRig()
		load.Prepare(r)
		if r.Iterate(); r.turns != want {
			t.Errorf("%s: %d turns, want %d", load.Name, r.turns, want)
		}
	}
}

func BenchmarkWorker(b *testing.B) {
	for _, load := range Loads {
		b.Run(load.Name, func(b *testing.B) {
			r := NewRig()
			load.Prepare(r)
			b.ReportAllocs()
			for b.Loop() {
				r.Iterate()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(load.Requests), "ns/request")
		})
	}
}

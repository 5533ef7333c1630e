package sim

import "testing"

// TestWindowIsFound expects a worker that is busy with clients that wait for each reply to
// find a window with which it needs fewer turns.
func TestWindowIsFound(t *testing.T) {
	var s Simulator
	turns := func(sessions int, find bool) (perReply float64, probes, keeps uint64) {
		c := Config{
			Seed: 1, Sessions: sessions, Requests: 2500, Chunks: 256, Room: 64 << 10, Latency: 100 * microsecond, Lanes: 1, Depth: 1, ValueBytes: 20,
			BatchWindow: 500 * microsecond, FindWindow: find,
		}
		if !find {
			c.BatchWindow = 0
		}
		c.Weights[opGet], c.Weights[opSet] = 1, 1
		result := s.Run(c, nil)
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		return float64(result.Counted.Turns) / float64(result.Replies), result.Counted.WindowProbes, result.Counted.WindowKeeps
	}
	without, _, _ := turns(32, false)
	with, probes, keeps := turns(32, true)
	if keeps == 0 || with > 0.95*without {
		t.Errorf("%.3f turns for a reply without a window, %.3f with one; %d of %d probes kept one", without, with, keeps, probes)
	}
}

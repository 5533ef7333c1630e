package worker

import (
	"testing"

	"mithril/src/timer"
)

// The wait gathers only for requests that are due: those at a node that hangs would make
// every wait last its full window, for nothing.
func TestWaitGathersForDueRequestsOnly(t *testing.T) {
	const window = 250_000
	for _, c := range []struct {
		inFlight, stuck, sends int
		min                    int
		window                 int64
	}{
		{0, 0, 0, 1, 0},
		{gatherFrom - 1, 0, 3, 1, 0},
		{gatherFrom, 0, 0, gatherFrom / 2, window},
		{gatherFrom, 0, 3, gatherFrom/2 + 3, window},
		{1000, 0, 3, gatherMax + 3, window},
		{100, 100, 0, 1, 0},
		{100, 100 - gatherFrom + 1, 0, 1, 0},
		{100, 100 - gatherFrom, 0, gatherFrom / 2, window},
	} {
		w := &Worker{Options: Options{BatchWindow: window}, timers: timer.New(0, 1), inFlight: c.inFlight, stuck: c.stuck, sends: c.sends}
		if got := w.wait(); got.Min != c.min || got.Window != c.window {
			t.Errorf("%d in flight, %d of them stuck, %d sends: min %d, window %d; want %d, %d",
				c.inFlight, c.stuck, c.sends, got.Min, got.Window, c.min, c.window)
		}
	}
	w := &Worker{timers: timer.New(0, 1), inFlight: 1000}
	if got := w.wait(); got.Min != 1 || got.Window != 0 {
		t.Errorf("without a batch window: min %d, window %d", got.Min, got.Window)
	}
}

package worker

import (
	"testing"

	"mithril/src/ring"
	"mithril/src/timer"
)

// The wait gathers the events that are due, and nothing else: what is asked for in vain
// makes every wait last its full window.
func TestWaitGathersWhatIsDue(t *testing.T) {
	const window = 250_000
	for _, c := range []struct {
		window     int64
		due, sends int
		want       ring.Wait
	}{
		{window, 0, 0, ring.Wait{Deadline: ring.Forever, Min: 1}},
		{window, gatherFrom - 1, 3, ring.Wait{Deadline: ring.Forever, Min: 1}},
		{window, gatherFrom, 0, ring.Wait{Deadline: ring.Forever, Min: gatherFrom, Window: window}},
		{window, gatherFrom, 3, ring.Wait{Deadline: ring.Forever, Min: gatherFrom + 3, Window: window}},
		{window, 1000, 3, ring.Wait{Deadline: ring.Forever, Min: gatherMax + 3, Window: window}},
		{0, 1000, 3, ring.Wait{Deadline: ring.Forever, Min: 1}},
	} {
		w := &Worker{timers: timer.New(0, 1), window: c.window, sends: c.sends, due: expectation{epoch: epochMin}}
		for range c.due {
			w.due.expect(&end{})
		}
		if got := w.wait(); got != c.want {
			t.Errorf("window %d, %d due, %d sends: %+v, want %+v", c.window, c.due, c.sends, got, c.want)
		}
	}
}

// A socket is due from the time it was sent something until it is heard from, for one to
// two periods.
func TestExpectation(t *testing.T) {
	const period = 100
	x := expectation{epoch: epochMin}
	var a, b, c end
	due := func(what string, want int) {
		t.Helper()
		if got := x.count(); got != want {
			t.Errorf("%s: %d due, want %d", what, got, want)
		}
	}
	x.heard(&a)
	due("heard from what nothing was sent to", 0)
	x.age(1000, period)
	x.expect(&a)
	x.expect(&a)
	x.expect(&b)
	due("two were sent something, one of them twice", 2)
	x.heard(&a)
	x.heard(&a)
	due("one has answered", 1)
	x.age(1000+period, period)
	x.expect(&c)
	due("a period later", 2)
	x.age(1000+2*period-1, period)
	due("just before two", 2)
	x.age(1000+2*period, period)
	due("b is forgotten", 1)
	x.heard(&b)
	due("b answers late", 1)
	x.expect(&a)
	due("a is sent something again", 2)
	x.age(1000+5*period, period)
	due("after a pause", 0)
	x.heard(&c)
	due("c answers late", 0)
	x.expect(&c)
	due("after the pause", 1)
}

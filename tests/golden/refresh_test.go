package golden

import (
	"math/rand/v2"
	"testing"
	"time"

	"mithril/src/topology"
)

func TestRefresh(t *testing.T) {
	playAll(t, "refresh", func(*testing.T) map[string]Verb {
		r := &refresh{now: time.Unix(1_000_000, 0)}
		return map[string]Verb{
			"new": r.new, "advance": r.advance, "ready": r.ready,
			"tick": r.event(topology.Tick), "wish": r.event(topology.Wish), "full": r.event(topology.FetchedFull),
			"partial": r.event(topology.FetchedPartial), "failed": r.event(topology.FetchFailed),
		}
	})
}

// refresh is a refresh machine with a clock that the script moves.
type refresh struct {
	*topology.Refresh
	now time.Time
}

// new makes a machine.
func (r *refresh) new(d *Directive) {
	r.Refresh = topology.NewRefresh(r.now, d.Span("period", 15*time.Second), rand.New(rand.NewPCG(1, 2)))
	r.tell(d)
}

// event steps the machine at the present time.
func (r *refresh) event(e topology.Event) Verb {
	return func(d *Directive) { r.step(d, e) }
}

func (r *refresh) step(d *Directive, e topology.Event) {
	if r.Step(r.now, e) == topology.StartFetch {
		d.Say("a fetch starts")
	}
	r.tell(d)
}

// advance lets time pass, with a tick when the machine wants one.
func (r *refresh) advance(d *Directive) {
	end := r.now.Add(d.Duration())
	if due, ok := r.Due(); ok && !due.After(end) {
		d.Say("after %v:", rounded(due.Sub(r.now)))
		r.now = due
		r.step(d, topology.Tick)
	}
	r.now = end
}

func (r *refresh) tell(d *Directive) {
	if due, ok := r.Due(); ok {
		d.Say("%s, due in %v", r.State(), rounded(due.Sub(r.now)))
	} else {
		d.Say("%s", r.State())
	}
}

func rounded(span time.Duration) time.Duration { return span.Round(time.Millisecond) }

// ready tells whether the proxy counts as ready, and for how long.
func (r *refresh) ready(d *Directive) {
	if !r.Ready(r.now) {
		d.Say("not ready")
		return
	}
	d.Say("ready for %v", r.ReadyUntil().Sub(r.now))
}

package topology

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const testPeriod = 15 * time.Second

var epoch = time.Unix(1_000_000, 0)

func newMachine() *Refresh { return NewRefresh(epoch, testPeriod, rand.New(rand.NewPCG(1, 2))) }

// situation is a state with what else decides the next step.
type situation struct {
	name string
	// enter brings a new machine there and answers the time by then.
	enter func(r *Refresh) time.Time
	state State
}

func fetchAt(r *Refresh, at time.Time) {
	if r.Step(at, Tick) != StartFetch {
		panic("no fetch")
	}
}

var situations = []situation{
	{"new", func(r *Refresh) time.Time { return epoch }, Idle},
	{"idle soon after a fetch", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch.Add(time.Millisecond), FetchedFull)
		return epoch.Add(Debounce - 1)
	}, Idle},
	{"idle long after a fetch", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch.Add(time.Millisecond), FetchedFull)
		return epoch.Add(Debounce)
	}, Idle},
	{"idle and due", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch.Add(time.Millisecond), FetchedFull)
		return epoch.Add(testPeriod + time.Millisecond)
	}, Idle},
	{"debouncing", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch.Add(time.Millisecond), FetchedFull)
		r.Step(epoch.Add(2*time.Millisecond), Wish)
		return epoch.Add(Debounce - 1)
	}, Debouncing},
	{"debouncing and due", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch.Add(time.Millisecond), FetchedFull)
		r.Step(epoch.Add(2*time.Millisecond), Wish)
		return epoch.Add(Debounce)
	}, Debouncing},
	{"fetching", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		return epoch.Add(time.Millisecond)
	}, Fetching},
	{"fetching and wished", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch, Wish)
		return epoch.Add(time.Millisecond)
	}, Fetching},
	{"backoff", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch, FetchFailed)
		return epoch.Add(BackoffMin/2 - 1)
	}, Backoff},
	{"backoff and due", func(r *Refresh) time.Time {
		fetchAt(r, epoch)
		r.Step(epoch, FetchFailed)
		return epoch.Add(BackoffMin)
	}, Backoff},
}

// Every situation and every event, as the table in doc.go has them. A fetch counts as "fetching!".
func TestRefreshTransitions(t *testing.T) {
	want := map[string][5]string{ // Tick, Wish, FetchedFull, FetchedPartial, FetchFailed
		"new":                     {"fetching!", "fetching!", "panic", "panic", "panic"},
		"idle soon after a fetch": {"idle", "debouncing", "panic", "panic", "panic"},
		"idle long after a fetch": {"idle", "fetching!", "panic", "panic", "panic"},
		"idle and due":            {"fetching!", "fetching!", "panic", "panic", "panic"},
		"debouncing":              {"debouncing", "debouncing", "panic", "panic", "panic"},
		"debouncing and due":      {"fetching!", "debouncing", "panic", "panic", "panic"},
		"fetching":                {"fetching", "fetching", "idle", "idle", "backoff"},
		"fetching and wished":     {"fetching", "fetching", "debouncing", "debouncing", "backoff"},
		"backoff":                 {"backoff", "backoff", "panic", "panic", "panic"},
		"backoff and due":         {"fetching!", "backoff", "panic", "panic", "panic"},
	}
	for _, from := range situations {
		for event := Tick; event <= FetchFailed; event++ {
			if got := outcome(t, from, event); got != want[from.name][event] {
				t.Errorf("%s: %s leads to %s, want %s", from.name, event, got, want[from.name][event])
			}
		}
	}
}

func outcome(t *testing.T, from situation, event Event) (result string) {
	t.Helper()
	r := newMachine()
	now := from.enter(r)
	if r.State() != from.state {
		t.Fatalf("%s: the state is %s", from.name, r.State())
	}
	defer func() {
		if recover() != nil {
			result = "panic"
		}
	}()
	if r.Step(now, event) == StartFetch {
		return r.State().String() + "!"
	}
	return r.State().String()
}

func TestRefreshTimes(t *testing.T) {
	at := func(what string, r *Refresh, want time.Duration) {
		t.Helper()
		if due, ok := r.Due(); !ok || due.Sub(epoch) != want {
			t.Errorf("%s: due at %v (%v), want %v", what, due.Sub(epoch), ok, want)
		}
	}
	r := newMachine()
	at("new", r, 0)
	fetchAt(r, epoch)
	if _, ok := r.Due(); ok {
		t.Error("a tick is wanted while fetching")
	}
	r.Step(epoch.Add(10*time.Millisecond), FetchedFull)
	at("complete map", r, testPeriod+10*time.Millisecond)
	r.Step(epoch.Add(20*time.Millisecond), Wish)
	at("wish", r, Debounce)
	r.Step(epoch.Add(Debounce), Tick)
	r.Step(epoch.Add(Debounce+1), Wish)
	r.Step(epoch.Add(Debounce+2), FetchedPartial)
	at("wish during the fetch", r, 2*Debounce)
}

// The wait after a miss doubles up to the cap, is spread over its upper half, and starts anew after a complete map.
func TestRefreshBackoff(t *testing.T) {
	for _, miss := range []Event{FetchFailed, FetchedPartial} {
		var lowest, highest [8]time.Duration
		for seed := range uint64(200) {
			r := NewRefresh(epoch, testPeriod, rand.New(rand.NewPCG(seed, 3)))
			now := epoch
			for i := range lowest {
				fetchAt(r, now)
				r.Step(now, miss)
				due, _ := r.Due()
				wait := due.Sub(now)
				if lowest[i] == 0 || wait < lowest[i] {
					lowest[i] = wait
				}
				highest[i] = max(highest[i], wait)
				now = due
			}
			fetchAt(r, now)
			r.Step(now, FetchedFull)
			r.Step(now.Add(Debounce), Wish)
			r.Step(now.Add(Debounce), miss)
			if due, _ := r.Due(); due.Sub(now.Add(Debounce)) > BackoffMin {
				t.Fatalf("%s: the wait after a complete map is %v", miss, due.Sub(now))
			}
		}
		for i := range lowest {
			wait := min(BackoffMin<<i, BackoffMax)
			if lowest[i] < wait/2 || lowest[i] > wait*6/10 || highest[i] > wait || highest[i] < wait*9/10 {
				t.Errorf("%s %d: waits from %v to %v, want half to all of %v", miss, i, lowest[i], highest[i], wait)
			}
		}
	}
	r := NewRefresh(epoch, time.Second, rand.New(rand.NewPCG(1, 1)))
	now := epoch
	for range 40 {
		fetchAt(r, now)
		r.Step(now, FetchFailed)
		due, _ := r.Due()
		if due.Sub(now) > time.Second {
			t.Fatalf("the wait %v is longer than the period", due.Sub(now))
		}
		now = due
	}
}

func TestContract_TOPO1_Readiness(t *testing.T) {
	r := newMachine()
	ready := func(at time.Duration, want bool) {
		t.Helper()
		if got := r.Ready(epoch.Add(at)); got != want {
			t.Errorf("ready at %v: %v, want %v", at, got, want)
		}
		if got := !epoch.Add(at).After(r.ReadyUntil()); got != want {
			t.Errorf("ready until %v at %v, want %v", r.ReadyUntil(), at, want)
		}
	}
	ready(0, false)
	fetchAt(r, epoch)
	ready(0, false)
	r.Step(epoch, FetchedFull)
	ready(0, true)
	ready(3*testPeriod, true)
	ready(3*testPeriod+1, false)
	fetchAt(r, epoch.Add(testPeriod))
	r.Step(epoch.Add(testPeriod), FetchFailed)
	ready(3*testPeriod, true)
	ready(3*testPeriod+1, false)
	fetchAt(r, epoch.Add(2*testPeriod))
	r.Step(epoch.Add(2*testPeriod), FetchedPartial)
	ready(2*testPeriod, false)
	fetchAt(r, epoch.Add(3*testPeriod))
	r.Step(epoch.Add(3*testPeriod), FetchedFull)
	ready(6*testPeriod, true)
}

// Whatever happens, fetches start a debounce time apart, one is never far away, and every wish is followed by a fetch that
// starts after it (case H12).
func TestContract_REDIR1_DebouncedRefresh(t *testing.T) {
	for seed := range uint64(300) {
		if err := walk(rand.New(rand.NewPCG(seed, 4))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func walk(rng *rand.Rand) error {
	r := NewRefresh(epoch, testPeriod, rng)
	now, lastStart := epoch, epoch.Add(-Debounce)
	var fetchEnds, wishedAt time.Time
	step := func(event Event) error {
		if event == Wish && wishedAt.IsZero() {
			wishedAt = now
		}
		if r.Step(now, event) == StartFetch {
			if gap := now.Sub(lastStart); gap < Debounce {
				return fmt.Errorf("fetches start %v apart", gap)
			}
			lastStart, wishedAt = now, time.Time{}
			fetchEnds = now.Add(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
		}
		if due, ok := r.Due(); ok && due.Sub(now) > testPeriod {
			return fmt.Errorf("due %v ahead", due.Sub(now))
		}
		return nil
	}
	outcomes := []Event{FetchedFull, FetchedFull, FetchedPartial, FetchFailed}
	for range 3000 {
		now = now.Add(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
		event := Tick
		if r.State() == Fetching && !now.Before(fetchEnds) {
			event = outcomes[rng.IntN(len(outcomes))]
		} else if rng.IntN(4) == 0 {
			event = Wish
		}
		if err := step(event); err != nil {
			return err
		}
		if !wishedAt.IsZero() && now.Sub(wishedAt) > BackoffMax+time.Second {
			return fmt.Errorf("a wish of %v ago has had no fetch, state %s", now.Sub(wishedAt), r.State())
		}
	}
	return nil
}

func TestRefreshPeriodMustBePositive(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewRefresh(epoch, 0, nil)
}

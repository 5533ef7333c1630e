package topology

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Times of the refresh machine.
const (
	// Debounce is the least time between the starts of two fetches.
	Debounce = 100 * time.Millisecond
	// BackoffMin is the longest wait after the first fetch that did not bring a complete map; each further one doubles it.
	// Half of it, the shortest, is not below Debounce.
	BackoffMin = 200 * time.Millisecond
	// BackoffMax bounds the wait, and so does the period where it is shorter.
	BackoffMax = 5 * time.Second
	// stalePeriods is for how many periods a map counts as current.
	stalePeriods = 3
)

// State is what the refresh machine is doing.
type State uint8

// States, drawn in doc.go.
const (
	Idle       State = iota // the period, or a shorter wait while slots are uncovered, runs
	Debouncing              // a wish waits for the debounce time to pass
	Fetching                // a fetch is under way
	Backoff                 // the last fetch failed and the next one waits
)

var stateNames = [...]string{Idle: "idle", Debouncing: "debouncing", Fetching: "fetching", Backoff: "backoff"}

func (s State) String() string { return stateNames[s] }

// Event is an input of the refresh machine.
type Event uint8

// Events. The last three end a fetch; exactly one of them follows each StartFetch.
const (
	Tick           Event = iota // time has passed
	Wish                        // somebody has reason to think that the map is old
	FetchedFull                 // a map of all slots came
	FetchedPartial              // a map came that leaves slots uncovered, whether it is published or not
	FetchFailed                 // no node gave a map
)

var eventNames = [...]string{Tick: "tick", Wish: "wish", FetchedFull: "fetched full", FetchedPartial: "fetched partial", FetchFailed: "fetch failed"}

func (e Event) String() string { return eventNames[e] }

// Action is what the caller must do after an event.
type Action uint8

// Actions.
const (
	NoAction Action = iota
	StartFetch
)

// Refresh decides when the map is fetched. It is pure: time and randomness are passed in, and the fetching is its caller's.
// It is not safe for several goroutines.
type Refresh struct {
	period  time.Duration
	rand    *rand.Rand
	state   State
	due     time.Time // when Tick is wanted; without meaning while fetching
	started time.Time // when the last fetch began
	wished  bool      // while fetching: a wish came that this fetch may be too early for
	misses  int       // fetches since the last complete map
	full    bool      // the last map that came covered every slot
	good    time.Time // when that map came
}

// NewRefresh makes a machine that wants its first fetch at once. The period is from one second to one hour
// (topology-refresh-secs); rand spreads the waits so that many proxies do not come back together.
func NewRefresh(now time.Time, period time.Duration, rand *rand.Rand) *Refresh {
	if period <= 0 {
		panic(fmt.Sprintf("topology: refresh period %v is not positive", period))
	}
	return &Refresh{period: period, rand: rand, due: now, started: now.Add(-Debounce)}
}

// State answers the current state.
func (r *Refresh) State() State { return r.state }

// Due answers when the machine wants its next Tick; ok is false while it waits for a fetch alone.
func (r *Refresh) Due() (at time.Time, ok bool) { return r.due, r.state != Fetching }

// ReadyUntil answers the time up to which Ready holds, if nothing more happens; the zero time while slots are uncovered.
func (r *Refresh) ReadyUntil() time.Time {
	if !r.full {
		return time.Time{}
	}
	return r.good.Add(stalePeriods * r.period)
}

// Ready reports whether the map covers every slot and is not older than three periods.
func (r *Refresh) Ready(now time.Time) bool { return r.full && !now.After(r.ReadyUntil()) }

// Step is the transition function. Now must not run backwards.
func (r *Refresh) Step(now time.Time, event Event) Action {
	if event >= FetchedFull && r.state != Fetching {
		panic(fmt.Sprintf("topology: event %q in state %q", event, r.state))
	}
	switch event {
	case Tick:
		if r.state != Fetching && !now.Before(r.due) {
			return r.fetch(now)
		}
	case Wish:
		return r.wish(now)
	case FetchedFull:
		r.misses, r.full, r.good = 0, true, now
		r.rest(now, r.period)
	case FetchedPartial:
		r.full = false
		r.rest(now, r.backoff())
	case FetchFailed:
		r.state, r.due = Backoff, now.Add(r.backoff())
	}
	return NoAction
}

func (r *Refresh) fetch(now time.Time) Action {
	r.state, r.started, r.wished = Fetching, now, false
	return StartFetch
}

func (r *Refresh) wish(now time.Time) Action {
	switch r.state {
	case Idle:
		if allowed := r.started.Add(Debounce); now.Before(allowed) {
			r.state, r.due = Debouncing, allowed
			return NoAction
		}
		return r.fetch(now)
	case Fetching:
		r.wished = true
	case Debouncing, Backoff: // a fetch is due anyway
	}
	return NoAction
}

// rest goes on after a fetch that brought a map: to the next fetch after wait, or sooner for a wish that came meanwhile.
func (r *Refresh) rest(now time.Time, wait time.Duration) {
	r.state, r.due = Idle, now.Add(wait)
	if r.wished {
		r.state, r.due = Debouncing, r.started.Add(Debounce)
	}
}

// backoff counts a miss and answers the wait after it: between half of the doubling value and all of it.
func (r *Refresh) backoff() time.Duration {
	highest := min(BackoffMax, r.period)
	wait := min(BackoffMin<<min(r.misses, 16), highest)
	r.misses++
	return wait - time.Duration(r.rand.Int64N(int64(wait)/2+1))
}

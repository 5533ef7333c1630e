package sim

import (
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"strings"

	"mithril/src/buf"
	"mithril/src/ring"
	"mithril/src/stats"
	"mithril/src/topology"
	"mithril/src/worker"
)

// coresMax is how many workers a run may have.
const coresMax = 4

// core is a worker with what is its alone. It turns on a coroutine, which lets the others go
// on whenever the worker's thread would let time pass: that is within Ring.Turn.
//
//	run.turn ---- resume ----> worker.Turn ---> Ring.Turn
//	         <---------------- yield ------------'
type core struct {
	ring   *Ring
	arena  *buf.Arena
	worker *worker.Worker
	server *socket // its listener, nil if it has none

	resume func() (struct{}, bool)
	leave  func() // ends the coroutine, wherever it is
}

// crash is a panic of a worker, with the stack of its coroutine.
type crash struct {
	value any
	stack []byte
}

// abandoned unwinds a coroutine that is not wanted any more.
type abandoned struct{}

// start makes the coroutine, which waits for its first turn.
func (c *core) start() {
	c.resume, c.leave = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			switch problem := recover().(type) {
			case nil, abandoned:
			case Failure:
				panic(problem)
			default:
				panic(crash{problem, debug.Stack()})
			}
		}()
		c.ring.yield = func() {
			if !yield(struct{}{}) {
				panic(abandoned{})
			}
		}
		for !c.worker.Finished() {
			c.worker.Turn()
		}
		c.ring.pause = pause{until: ring.Forever}
	})
}

// turn lets the worker go on until time has to pass for it.
func (c *core) turn() {
	w := c.ring.world
	w.actor = c.ring.number + 1
	c.resume()
	w.actor = 0
}

// holdUp lets the others run on in the middle of a turn, as threads do: what they do
// meanwhile comes between any two steps of the worker.
func (r *Ring) holdUp() {
	if w := r.world; w.chance(r.faults.HeldUp) {
		r.pass(w.now + w.between(0, 100*microsecond))
	}
}

// topology is worker.Options.Topology, which is called at the beginning of each turn.
func (c *core) topology(k *cluster) func() *topology.Snapshot {
	return func() *topology.Snapshot {
		c.ring.holdUp()
		return k.published
	}
}

// wish is worker.Options.Wish, which is called anywhere in a turn.
func (c *core) wish(k *cluster) func() {
	return func() {
		c.ring.holdUp()
		k.fetch()
	}
}

// turn lets a worker whose pause is over go on. While there is none it lets time pass, up to
// a limit, and says false if that is reached.
func (r *run) turn(limit int64) bool {
	w := r.world
	for {
		if c := r.pick(); c != nil {
			c.turn()
			return true
		}
		until := limit
		for _, c := range r.cores {
			until = min(until, c.ring.pause.until)
		}
		if at, ok := w.next(); ok && at <= until {
			w.step()
			continue
		}
		w.now = max(w.now, until)
		if until == limit {
			return false
		}
	}
}

// pick draws one of the workers that can go on, nil if there is none.
func (r *run) pick() (picked *core) {
	n := 0
	for _, c := range r.cores {
		if !c.ring.isDue() {
			continue
		}
		if n++; n == 1 || r.world.rng.IntN(n) == 0 {
			picked = c
		}
	}
	return picked
}

// turnUntil lets the workers turn until a time.
func (r *run) turnUntil(at int64) {
	for r.turn(at) {
	}
}

// turnTo lets the workers turn until a goal is reached, which must happen within some time.
func (r *run) turnTo(goal string, within int64, reached func() bool) {
	w := r.world
	for end := w.now + within; !reached(); r.turn(min(end, w.now+millisecond)) {
		if w.now < end {
			continue
		}
		var b strings.Builder
		for _, c := range r.clients {
			if !c.done {
				fmt.Fprintf(&b, "\n  %s", c)
			}
		}
		w.fail("the workers do not %s within %d s: %+v%s", goal, within/second, r.census(), b.String())
	}
}

// finished says that all workers have.
func (r *run) finished() bool {
	return !slices.ContainsFunc(r.cores, func(c *core) bool { return !c.worker.Finished() })
}

// abandon ends the coroutines of the workers.
func (r *run) abandon() {
	for _, c := range r.cores {
		c.leave()
	}
}

// wake wakes all workers, as the process does when something has changed for them.
func (r *run) wake() {
	for _, c := range r.cores {
		c.ring.Wake()
	}
}

// census is what all workers hold, and nodes as often as workers know them.
func (r *run) census() (sum worker.Census) {
	for _, c := range r.cores {
		n := c.worker.Census()
		sum.Clients += n.Clients
		sum.Nodes += n.Nodes
		sum.Pipes += n.Pipes
		sum.Fars += n.Fars
		sum.InFlight += n.InFlight
		sum.Joins += n.Joins
		sum.Waiting += n.Waiting
		sum.Lines += n.Lines
		sum.Lent += n.Lent
		sum.Timers += n.Timers
	}
	return sum
}

// used is how many bytes of the workers' memory are in use.
func (r *run) used() (n int) {
	for _, c := range r.cores {
		n += int(c.arena.UsedBytes())
	}
	return n
}

// snapshot is what all workers have counted.
func (r *run) snapshot() (sum stats.Snapshot) {
	for _, c := range r.cores {
		s := c.worker.Snapshot()
		sum.Add(&s)
	}
	return sum
}

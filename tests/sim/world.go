package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// Durations in virtual nanoseconds.
const (
	microsecond = int64(1_000)
	millisecond = int64(1_000_000)
	second      = int64(1_000_000_000)
)

// World is virtual time: a clock, the events to come and the generator that everything
// random is drawn from. Nothing in it runs concurrently.
type World struct {
	now    int64
	rng    *rand.Rand
	future []event // heap: earliest first
	order  uint64  // of the next event, so that events of one time keep their order
	hash   uint64  // of everything traced
	steps  map[string]int
	actor  int // the worker that goes on now, counted from 1; 0: nodes and clients do
	log    io.Writer
}

type event struct {
	at    int64
	order uint64
	run   func()
}

// Failure is a broken expectation; run.go turns the panic that carries it into an error.
type Failure struct{ Text string }

func (f Failure) Error() string { return f.Text }

func newWorld(seed uint64, log io.Writer) *World {
	return &World{now: second, rng: rand.New(rand.NewPCG(seed, 0x6d697468)), hash: 14695981039346656037, log: log, steps: map[string]int{}}
}

// fail ends the run.
func (w *World) fail(format string, args ...any) {
	panic(Failure{fmt.Sprintf("at %.6fs: ", w.seconds()) + fmt.Sprintf(format, args...)})
}

func (w *World) seconds() float64 { return float64(w.now-second) / float64(second) }

// trace adds a step to the run's hash, and prints it if somebody watches.
func (w *World) trace(what string, a, b int64, text []byte) {
	w.steps[what]++
	w.mix(uint64(w.now))
	w.mix(uint64(w.actor))
	for i := range len(what) {
		w.mix(uint64(what[i]))
	}
	w.mix(uint64(a))
	w.mix(uint64(b))
	for _, c := range text[:min(len(text), 64)] {
		w.mix(uint64(c))
	}
	if w.log != nil {
		fmt.Fprintf(w.log, "%10.6f %d %-14s %6d %8d %s\n", w.seconds(), w.actor, what, a, b, clip(text))
	}
}

func (w *World) mix(v uint64) {
	w.hash = (w.hash ^ v) * 1099511628211
}

func clip(text []byte) string {
	const most = 90
	if len(text) == 0 {
		return ""
	}
	if len(text) > most {
		return fmt.Sprintf("%q... %d bytes", text[:most], len(text))
	}
	return fmt.Sprintf("%q", text)
}

// chance is true with probability p.
func (w *World) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }

// between draws from [low, high].
func (w *World) between(low, high int64) int64 {
	if high <= low {
		return low
	}
	return low + w.rng.Int64N(high-low+1)
}

// after lets run happen d nanoseconds from now.
func (w *World) after(d int64, run func()) {
	w.future = append(w.future, event{at: w.now + max(d, 0), order: w.order, run: run})
	w.order++
	for i := len(w.future) - 1; i > 0; {
		parent := (i - 1) / 2
		if !w.future[i].before(&w.future[parent]) {
			break
		}
		w.future[i], w.future[parent] = w.future[parent], w.future[i]
		i = parent
	}
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

// next is when the next event comes.
func (w *World) next() (at int64, ok bool) {
	if len(w.future) == 0 {
		return 0, false
	}
	return w.future[0].at, true
}

// step moves the clock to the next event and runs it.
func (w *World) step() {
	e := w.future[0]
	last := len(w.future) - 1
	w.future[0] = w.future[last]
	w.future[last] = event{}
	w.future = w.future[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && w.future[child+1].before(&w.future[child]) {
			child++
		}
		if !w.future[child].before(&w.future[i]) {
			break
		}
		w.future[i], w.future[child] = w.future[child], w.future[i]
		i = child
	}
	w.now = max(w.now, e.at)
	e.run()
}

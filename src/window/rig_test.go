package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// load is what a worker would see with a window in force.
type load struct {
	clients int
	rate    float64 // commands per second
	cpu     float64 // ns per command
	late    float64 // 99th percentile, ns
}

// model is a load by the window in force and the time, both in ns.
type model func(window, now int64) load

// rig runs a machine against a model, with noise.
type rig struct {
	*testing.T
	m     *Machine
	now   int64
	rng   *rand.Rand
	noise float64 // of every measure, as a share of it
	spent map[State]int64
	log   []string // of the changes of state
}

func newRig(t *testing.T, noise float64) *rig {
	return &rig{T: t, m: New(Normal), rng: rand.New(rand.NewPCG(1, 2)), noise: noise, spent: map[State]int64{}}
}

func (r *rig) around(v float64) float64 { return v * (1 + r.noise*(2*r.rng.Float64()-1)) }

// run lets the model go on for a time in ns, a sample every phase.
func (r *rig) run(f model, ns int64) {
	for end := r.now + ns; r.now < end; {
		before, was := r.m.State(), r.m.Window()
		l := f(was, r.now)
		r.now += Normal.Phase
		r.spent[before] += Normal.Phase
		commands := int(r.around(l.rate) * float64(Normal.Phase) / 1e9)
		if commands > 0 {
			high := uint32(commands/100 + 1)
			r.m.Answered(int64(l.late/2), uint32(commands)-min(high, uint32(commands)))
			r.m.Answered(int64(r.around(l.late)), high)
		}
		got := r.m.Tick(Sample{
			Took: Normal.Phase, Clients: l.clients, Commands: commands, CPU: int64(r.around(l.cpu) * float64(commands)),
		})
		if got != r.m.Window() {
			r.Fatalf("Tick returned %d, Window is %d", got, r.m.Window())
		}
		if state := r.m.State(); state != before {
			r.log = append(r.log, fmt.Sprintf("%d %s", r.now/millisecond, state))
			if state == Settled {
				r.log[len(r.log)-1] += fmt.Sprintf(" %d us", got/1000)
			}
		}
	}
}

func (r *rig) expect(what string, state State, window int64) {
	r.Helper()
	if r.m.State() != state || r.m.Window() != window {
		r.Errorf("%s at %d ms: %s with a window of %d us, want %s with %d us; %v",
			what, r.now/millisecond, r.m.State(), r.m.Window()/1000, state, window/1000, r.log)
	}
}

// busy is a load of 50 clients with the given CPU time, rate and 99th percentile by
// window, relative to those of window 0.
func busy(cpu, rate, late [len(Windows)]float64) model {
	return func(window, _ int64) load {
		for i, w := range Windows {
			if w == window {
				return load{clients: 50, rate: 60_000 * rate[i], cpu: 6000 * cpu[i], late: 1e6 * late[i]}
			}
		}
		panic("a window that is none of Windows")
	}
}

var same = [len(Windows)]float64{1, 1, 1, 1, 1}

// gains is a load for which longer windows are better.
var gains = busy([...]float64{1, 0.9, 0.8, 0.6, 0.5}, [...]float64{1, 1, 0.98, 0.96, 0.95}, same)

// gainsNothing is one for which no window is better.
var gainsNothing = busy(same, same, same)

func idle(int64, int64) load { return load{} }

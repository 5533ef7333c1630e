package window

import (
	"slices"
	"testing"
)

const probeTime = int64(len(Windows)) * roundsMax * 20 * millisecond

func TestGainIsKept(t *testing.T) {
	r := newRig(t, 0.1)
	r.run(gains, 2*second)
	r.expect("within two seconds of load", Settled, 500_000)
	if c := r.m.Counts(); c != (Counts{Probes: 1, Keeps: 1}) {
		t.Errorf("%+v", c)
	}
}

// The trace of a load that is there for a while, without noise.
func TestTrace(t *testing.T) {
	r := newRig(t, 0)
	r.run(idle, 100*millisecond)
	r.run(gains, 12*second)
	r.run(idle, second)
	r.run(gains, second)
	want := []string{
		"120 probing",
		"1320 settled 500 us",
		"9320 probing", // restMin later
		"10520 settled 500 us",
		"12300 quiet", // lullMax after the end
		"13120 settled 500 us",
	}
	if !slices.Equal(r.log, want) {
		t.Errorf("%q, want %q", r.log, want)
	}
}

// What is kept is the shortest window that is about as good as the best one, and no
// window that costs more than it may.
func TestWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		what            string
		cpu, rate, late [len(Windows)]float64
		want            int64
	}{
		{"no gain", same, same, same, 0},
		{"too small a gain", [...]float64{1, 0.97, 0.97, 0.97, 0.97}, same, same, 0},
		{"a loss", [...]float64{1, 1.1, 1.2, 1.3, 1.4}, same, same, 0},
		{"a gain that longer windows do not add to", [...]float64{1, 0.9, 0.7, 0.69, 0.68}, same, same, 125_000},
		{"a gain that longer windows lose again", [...]float64{1, 0.9, 0.7, 0.8, 0.9}, same, same, 125_000},
		{"fewer commands", [...]float64{1, 0.9, 0.8, 0.7, 0.6}, [...]float64{1, 1, 0.98, 0.83, 0.79}, same, 125_000},
		{"as many fewer as the gain is worth", [...]float64{1, 0.9, 0.8, 0.7, 0.5}, [...]float64{1, 1, 0.98, 0.83, 0.85}, same, 500_000},
		{"longer latencies", [...]float64{1, 0.9, 0.8, 0.7, 0.6}, same, [...]float64{1, 1, 1.3, 1.5, 1.9}, 50_000},
		{"fewer commands with every window", [...]float64{1, 0.9, 0.8, 0.7, 0.6}, [...]float64{1, 0.8, 0.8, 0.8, 0.8}, same, 0},
		{"far fewer commands, and far longer latencies", [...]float64{1, 0.9, 0.8, 0.7, 0.6}, [...]float64{1, 1, 1, 0.4, 1}, [...]float64{1, 1, 1, 1, 3}, 125_000},
	} {
		r := newRig(t, 0.02)
		r.run(busy(c.cpu, c.rate, c.late), 2*second)
		r.expect(c.what, Settled, c.want)
	}
}

// With few clients fewer commands are not put up with.
func TestLowClassesPayLess(t *testing.T) {
	for clients, want := range map[int]int64{10: 50_000, 20: 50_000, 40: 500_000} {
		r := newRig(t, 0.02)
		some := busy([...]float64{1, 0.9, 0.8, 0.7, 0.6}, [...]float64{1, 0.99, 0.92, 0.92, 0.92}, same)
		r.run(func(window, now int64) load {
			l := some(window, now)
			l.clients = clients
			return l
		}, 2*second)
		r.expect("fewer commands", Settled, want)
	}
}

// Windows that are far worse than none are given up before the probe is over, even those
// with which hardly a command is answered.
func TestDisasterIsShort(t *testing.T) {
	for _, c := range []struct{ rate, late float64 }{{0.4, 1}, {0.001, 1}, {1, 3}} {
		r := newRig(t, 0.1)
		spent := int64(0)
		worse := busy(same, [...]float64{1, c.rate, c.rate, c.rate, c.rate}, [...]float64{1, c.late, c.late, c.late, c.late})
		r.run(func(window, now int64) load {
			if window > 0 {
				spent += Normal.Phase
			}
			return worse(window, now)
		}, second)
		r.expect("worse", Settled, 0)
		if want := (roundsMin + 1) * int64(len(Windows)-1) * Normal.Phase; spent > want {
			t.Errorf("%+v: bad windows were in force for %d ms, want at most %d", c, spent/millisecond, want/millisecond)
		}
	}
}

func TestLossIsRevertedAndRestDoubles(t *testing.T) {
	r := newRig(t, 0.05)
	r.run(gains, 2*second)
	r.expect("gain", Settled, 500_000)
	r.run(gainsNothing, restMin+probeTime)
	r.expect("no gain any more", Settled, 0)
	if c := r.m.Counts(); c != (Counts{Probes: 2, Keeps: 1, Reverts: 1}) {
		t.Errorf("%+v", c)
	}
	probes := r.m.Counts().Probes
	for rest := restMin; rest <= 4*restMax; rest *= 2 {
		start := r.now
		for r.m.Counts().Probes == probes && r.now < start+2*restMax {
			r.run(gainsNothing, Normal.Phase)
		}
		probes++
		if took, want := r.now-start, min(rest, restMax)+probeTime; took < want-second || took > want+second {
			t.Errorf("the next probe was over after %d s, want %d", took/second, want/second)
		}
	}
	r.expect("at the end", Settled, 0)
}

// Few clients, or few commands, neither wait nor probe.
func TestLowLoadNeverProbes(t *testing.T) {
	for _, l := range []load{
		{}, {clients: 1, rate: 30_000, cpu: 9000, late: 1e5}, {clients: Normal.Clients - 1, rate: 60_000, cpu: 9000, late: 1e5},
		{clients: 100, rate: 4500, cpu: 9000, late: 1e5},
	} {
		r := newRig(t, 0.05)
		r.run(func(window, _ int64) load {
			if window != 0 {
				t.Fatalf("%+v: window %d", l, window)
			}
			return l
		}, 60*second)
		r.expect("low load", Quiet, 0)
	}
}

// The speed of the machine and of the load may drift by a factor of two within a probe.
func TestDriftDoesNotFool(t *testing.T) {
	for _, c := range []struct {
		f    model
		want int64
	}{{gains, 500_000}, {gainsNothing, 0}} {
		for _, up := range []bool{true, false} {
			r := newRig(t, 0.1)
			drift := func(window, now int64) load {
				l := c.f(window, now)
				speed := 1 + min(1, float64(now)/float64(probeTime))
				if !up {
					speed = 3 - speed
				}
				return load{clients: l.clients, rate: l.rate * speed, cpu: l.cpu / speed, late: l.late / speed}
			}
			r.run(drift, 2*second)
			r.expect("drift", Settled, c.want)
		}
	}
}

// A load of another kind is probed without waiting for the end of a long rest; but loads
// that take turns do not keep the machine probing.
func TestChangedLoad(t *testing.T) {
	r := newRig(t, 0.05)
	r.run(gainsNothing, 100*second)
	r.expect("no gain", Settled, 0)
	deep := func(window, now int64) load {
		l := gains(window, now)
		l.rate *= 2 * changedBy
		return l
	}
	r.run(deep, 2*second)
	r.expect("changed", Settled, 500_000)

	r.run(deep, 40*second)
	r.run(gainsNothing, 2*second)
	r.expect("changed back", Settled, 0)

	r.spent = map[State]int64{}
	for range 300 {
		r.run(gainsNothing, second)
		r.run(deep, second)
	}
	if share := float64(r.spent[Probing]) / float64(600*second); share > 0.15 {
		t.Errorf("probing took %.0f %% of the time of a load that flaps", share*100)
	}
}

// Loads with other numbers of clients have windows of their own, and a load at the border
// of two classes stays in one.
func TestClasses(t *testing.T) {
	r := newRig(t, 0.05)
	of := func(clients int, f model) model {
		return func(window, now int64) load {
			l := f(window, now)
			l.clients = clients
			return l
		}
	}
	r.run(of(50, gains), 2*second)
	r.run(of(10, gainsNothing), 2*second)
	r.expect("few clients", Settled, 0)
	r.run(of(50, gains), 4*second/10)
	r.expect("many clients again", Settled, 500_000)

	for _, border := range []int{32, 64} {
		r.run(of(border, gains), 2*second)
		changes, class := 0, r.m.class
		for range 100 {
			for _, clients := range []int{border - 4, border + 4} {
				r.run(of(clients, gains), 100*millisecond)
				if r.m.class != class {
					changes, class = changes+1, r.m.class
				}
			}
		}
		if changes > 1 {
			t.Errorf("%d changes of class around %d clients", changes, border)
		}
	}

	for times, class := range map[float64]int{1: 0, 1.9: 0, 2: 1, 3.9: 1, 4: 2, 2047: 10, 2048: 11, 1e9: 11} {
		if got := classOf(times); got != class || !covers(class, times) {
			t.Errorf("%v times the least clients are of class %d, want %d", times, got, class)
		}
	}
}

// A probe goes on after interruptions: loads that come in bursts come to a decision.
func TestBurstsAreProbed(t *testing.T) {
	r := newRig(t, 0.1)
	for range 6 {
		r.run(gains, 300*millisecond)
		r.run(idle, second)
	}
	r.run(gains, 100*millisecond)
	r.expect("bursts", Settled, 500_000)
}

// A round that was interrupted begins again.
func TestInterruptedRound(t *testing.T) {
	for what, f := range map[string]model{
		"quiet":         idle,
		"another class": func(window, now int64) load { return load{clients: 1000, rate: 60_000, cpu: 6000, late: 1e6} },
	} {
		r := newRig(t, 0)
		r.run(gains, 8*Normal.Phase)
		p := &r.m.classes[r.m.class].probe
		if p.rounds != 1 || p.next != 2 {
			t.Fatalf("%s: round %d, place %d after 8 phases", what, p.rounds, p.next)
		}
		r.run(f, second)
		if p.rounds != 1 || p.next != 0 {
			t.Errorf("%s: round %d, place %d after the interruption, want 1 and 0", what, p.rounds, p.next)
		}
	}
}

// A phase in which the machine did something else is run again.
func TestPausesDoNotCount(t *testing.T) {
	r := newRig(t, 0)
	r.run(gains, 200*millisecond)
	before := r.m.Window()
	next := r.m.classes[r.m.class].probe.next
	if got := r.m.Tick(Sample{Took: 2 * Normal.Phase, Clients: 50, Commands: 5000, CPU: 1}); got != before {
		t.Errorf("window %d after a pause, want %d", got, before)
	}
	if got := r.m.classes[r.m.class].probe.next; got != next {
		t.Errorf("place %d after a pause, want %d", got, next)
	}
	r.expect("pause", Probing, before)
	r.m.Tick(Sample{Took: lullMax})
	r.expect("a long pause", Quiet, 0)
}

func TestTransitionsOfTheTable(t *testing.T) {
	for from := Quiet; from < states; from++ {
		for to := Quiet; to < states; to++ {
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				(&Machine{state: from}).become(to)
				return false
			}()
			if want := allowed[from]&(1<<to) == 0 && from != to; panicked != want {
				t.Errorf("%s to %s: panicked %v, want %v", from, to, panicked, want)
			}
		}
	}
	m := &Machine{state: states}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a state that does not exist was left")
			}
		}()
		m.become(Quiet)
	}()
}

// Samples are taken on the data path: neither they nor the end of a probe allocate.
func TestNothingIsAllocated(t *testing.T) {
	m := New(Normal)
	const phases = (4*restMin + probeTime) / (20 * millisecond) // a rest with its probe, the first and the second time
	if n := testing.AllocsPerRun(1, func() {
		for range phases {
			m.Answered(1e6, 1000)
			m.Tick(Sample{Took: Normal.Phase, Clients: 50, Commands: 1000, CPU: 6e6})
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := m.Counts().Probes; n < 2 {
		t.Errorf("%d probes came to their end, want one in each run at least", n)
	}
}

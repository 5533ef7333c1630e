package sim

import (
	"flag"
	"os"
	"testing"

	"mithril/src/stats"
)

var (
	seeds = flag.Int("seeds", 500, "how many seeds TestSeeds runs")
	first = flag.Uint64("first", 1, "the first seed of TestSeeds")
	seed  = flag.Uint64("seed", 1, "the one seed that TestSeed runs")
	show  = flag.Bool("show", false, "print what happens in TestSeed")
)

// TestSeeds runs one seed after the other, up to the first that fails.
func TestSeeds(t *testing.T) {
	var s Simulator
	var counted stats.Counters
	steps := map[string]int{}
	replies := 0
	for i := range uint64(*seeds) {
		c := NewConfig(*first + i)
		result := s.Run(c, nil)
		if result.Err != nil {
			t.Errorf("%s\n%v", &c, result.Err)
			c = Shrink(c, func(c Config) bool { return s.Run(c, nil).Err != nil })
			t.Fatalf("shrunk to %s\n%v", &c, s.Run(c, nil).Err)
		}
		replies += result.Replies
		counted.Add(&result.Counted)
		for what, n := range result.Steps {
			steps[what] += n
		}
	}
	t.Logf("%d replies judged; %+v; %v", replies, counted, steps)
	if *seeds >= 500 {
		checkRarePaths(t, &counted, steps)
	}
}

// checkRarePaths guards against a simulator that tests less than it seems to.
func checkRarePaths(t *testing.T, counted *stats.Counters, steps map[string]int) {
	for what, n := range map[string]uint64{
		"MOVED": counted.Moved, "ASK": counted.Ask, "waits between redirects": counted.RedirectWaits,
		"redirects that failed": counted.RedirectFailed, "stale events": counted.StaleEvents, "lost connections": counted.BackendLost,
		"probes of batch windows": counted.WindowProbes, "clients turned away": counted.Rejected, "protocol errors": counted.ProtocolErrors,
	} {
		if n == 0 {
			t.Errorf("no %s in %d seeds", what, *seeds)
		}
	}
	for _, what := range []string{"recv-stop", "failover", "migrated", "abort", "stop", "map"} {
		if steps[what] == 0 {
			t.Errorf("no step %q in %d seeds", what, *seeds)
		}
	}
}

// TestSeed runs one seed, for a look at its trace.
func TestSeed(t *testing.T) {
	c := NewConfig(*seed)
	t.Log(&c)
	var s Simulator
	var result Result
	if *show {
		result = s.Run(c, os.Stdout)
	} else {
		result = s.Run(c, nil)
	}
	t.Logf("%d replies, %d turns, trace %x", result.Replies, result.Counted.Turns, result.Hash)
	if result.Err != nil {
		t.Error(result.Err)
	}
}

// TestOneSeedIsOneRun expects the same trace from the same seed, in another Simulator and
// after other runs, and different traces from different seeds.
func TestOneSeedIsOneRun(t *testing.T) {
	var s Simulator
	seen := map[uint64]uint64{}
	for seed := range uint64(20) {
		first := s.Run(NewConfig(seed), nil)
		var fresh Simulator
		second := fresh.Run(NewConfig(seed), nil)
		if first.Hash != second.Hash || first.Replies != second.Replies {
			t.Errorf("seed %d: traces %x and %x, %d and %d replies", seed, first.Hash, second.Hash, first.Replies, second.Replies)
		}
		if other, ok := seen[first.Hash]; ok {
			t.Errorf("seeds %d and %d have the same trace", seed, other)
		}
		seen[first.Hash] = seed
	}
}

// TestPipeliningLimits lets a client ask more than may be outstanding. It is given credit
// reply by reply; then the nodes do nothing for a while, and all of it must be answered when
// they work again.
func TestPipeliningLimits(t *testing.T) {
	for _, test := range []struct {
		name           string
		tags           []string // used in turn
		answered       int      // before the nodes stop
		requests, most int
	}{
		{"creditMin", []string{"a", "b", "c"}, 0, 40, 16},
		{"credit", []string{"a", "b", "c"}, 1000, 3000, 16 + 1000},
		{"session.OutstandingMax", []string{"a", "b", "c"}, 64 << 10, 140_000, 64 << 10}, // one of each node
		{"pipe.PendingMax", []string{"a"}, 32 << 10, 80_000, 32 << 10},
	} {
		w := newWorld(1, nil)
		r := newRun(w, Config{Chunks: 256, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1}, make(region, regionBytes), nil)
		c, s := r.newClient()
		c.depth, c.rushing = test.requests, true
		for i := range test.requests {
			s.keyed(opGet, []string{keyOf(test.tags[i%len(test.tags)], "k0")}, nil)
		}
		c.farewell(s)
		r.judge.sessions = append(r.judge.sessions, c.requests)
		inFlight, stopped := 0, false
		stop := func() {
			if c.got < test.answered || stopped {
				return
			}
			stopped = true
			for _, n := range r.cluster.nodes {
				n.stallUntil = w.now + faultTime
			}
			w.after(faultTime-millisecond, func() { inFlight = r.worker.Census().InFlight })
		}
		stop()
		w.after(0, func() {
			c.connect()
			c.end.watch(func() { c.readable(); stop() }, c.act)
		})
		r.play()
		if inFlight > test.most || inFlight < test.most/2 { // reading goes on at the half
			t.Errorf("%s: %d requests are in flight, want %d, or the half at least", test.name, inFlight, test.most)
		}
		if r.judge.replies < test.requests {
			t.Errorf("%s: %d replies to %d requests", test.name, r.judge.replies, test.requests)
		}
	}
}

// TestNothingOvertakesARedirectedRequest sends a request while an earlier one, for the same
// key, waits between two redirects: the importing node has been told too late, and is just
// then ready for the second request.
func TestNothingOvertakesARedirectedRequest(t *testing.T) {
	w := newWorld(1, nil)
	r := newRun(w, Config{Chunks: 64, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1}, make(region, regionBytes), nil)
	slot := slotOf(keyOf("a", ""))
	source := r.cluster.owner(slot)
	target := r.cluster.nodes[(source.index+1)%primaries]
	source.migrating = append(source.migrating, move{slot, target})
	r.config.F.Migrate = 1 // so that ASK is no surprise

	c, s := r.newClient()
	c.rushing = true
	s.keyed(opSet, []string{keyOf("a", "k0")}, []string{"v"})
	s.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	w.after(100*millisecond, c.connect)
	w.after(101*millisecond, func() {
		if r.worker.Census().Waiting != 1 {
			t.Error("the first request does not wait between redirects")
		}
		target.importing = append(target.importing, move{slot, source})
		c.depth = 2
		c.act()
	})
	r.play()
	if r.judge.replies < 2 || c.requests[0].outcome != answered || c.requests[1].outcome != answered {
		t.Errorf("%s, outcomes %d and %d", c, c.requests[0].outcome, c.requests[1].outcome)
	}
}

// TestOneMovedIsEnough lets a slot move while no new map comes: only the first request for
// it goes to the old owner.
func TestOneMovedIsEnough(t *testing.T) {
	w := newWorld(1, nil)
	r := newRun(w, Config{Chunks: 64, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1}, make(region, regionBytes), nil)
	r.cluster.published = r.cluster.snapshot(r.cluster.nodes[0])
	r.cluster.fetching = true // for ever
	slot := slotOf(keyOf("a", ""))
	target := (r.cluster.owner(slot).index + 1) % primaries
	for _, n := range r.cluster.nodes {
		n.owner[slot] = uint8(target)
	}
	c, s := r.newClient()
	for range 20 {
		s.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	}
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	c.connect()
	r.turnTo("serve the session", second, r.allDone)
	if n := r.board.Read().Counters.Moved; n != 1 {
		t.Errorf("%d times MOVED", n)
	}
}

func TestShrinkKeepsWhatFails(t *testing.T) {
	c := NewConfig(7)
	c.Sessions, c.F.Push, c.F.Abort, c.Weights[opMget], c.Lanes, c.Stop = 12, 0.1, 0.2, 3, 3, 5
	small := Shrink(c, func(c Config) bool { return c.Sessions >= 3 && c.F.Push > 0 && c.Weights[opMget] > 0 })
	if small.Sessions != 3 || small.F != (Faults{Push: 0.1}) || small.Lanes != 1 || small.Stop != 0 {
		t.Errorf("shrunk to %s", &small)
	}
	for kind, weight := range small.Weights {
		if weight != 0 && op(kind) != opMget {
			t.Errorf("%s is left", opNames[kind])
		}
	}
}

// TestBurstTooMany lets clients come at once who are too many, and be told late. Few of
// them have a descriptor at a time, and all of them are told.
func TestBurstTooMany(t *testing.T) {
	const places, come = 3, 100
	w := newWorld(1, nil)
	c := Config{Chunks: 64, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1, MaxClients: places, Burst: come, F: Faults{Late: 0.9}}
	r := newRun(w, c, make(region, regionBytes), nil)
	for range come {
		c, s := r.newClient()
		for range 50 {
			s.keyed(opGet, []string{keyOf("a", "k0")}, nil)
		}
		c.farewell(s)
		r.judge.sessions = append(r.judge.sessions, c.requests)
		w.after(0, c.connect)
	}
	r.play()
	if n := r.board.Read().Counters.Rejected; n != come-places {
		t.Errorf("%d clients were turned away, want %d", n, come-places)
	}
}

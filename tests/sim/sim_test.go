package sim

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"mithril/src/stats"
)

var (
	seeds = flag.Int("seeds", 500, "how many seeds TestSeeds runs")
	first = flag.Uint64("first", 1, "the first seed of TestSeeds")
	crew  = flag.Int("workers", 0, "how many workers TestSeeds and TestSeed have; 0: as many as the seed says")
	seed  = flag.String("seed", "1", "the one seed that TestSeed runs")
	show  = flag.Bool("show", false, "print what happens in TestSeed")
	small = flag.Bool("shrink", true, "shrink a seed of TestSeeds that fails")
)

// TestSeeds runs one seed after the other, up to the first that fails.
func TestSeeds(t *testing.T) {
	var s Simulator
	var counted stats.Counters
	steps := map[string]int{}
	replies := 0
	for i := range uint64(*seeds) {
		c := configOf(*first + i)
		result := s.Run(c, nil)
		if result.Err != nil {
			t.Errorf("%s\n%v", &c, result.Err)
			if !*small {
				return
			}
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
	for what, n := range map[string]uint64{"requests handed over": counted.HandedOver, "replies handed back": counted.HandedBack} {
		if n < uint64(*seeds) {
			t.Errorf("%d %s in %d seeds", n, what, *seeds)
		}
	}
	for _, what := range []string{"bell", "adopt", "listed", "recv-stop", "failover", "migrated", "abort", "stop", "map", "loaded", "walked", "walk-given-up"} {
		if steps[what] == 0 {
			t.Errorf("no step %q in %d seeds", what, *seeds)
		}
	}
}

// configOf is the Config of a seed, with as many workers as the flag says.
func configOf(seed uint64) Config {
	c := NewConfig(seed)
	if *crew > 0 {
		c.Workers = *crew
	}
	return c
}

// TestSeed runs one seed, for a look at its trace.
func TestSeed(t *testing.T) {
	number, err := parseSeed(*seed)
	if err != nil {
		t.Fatal(err)
	}
	c := configOf(number)
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

// parseSeed reads -seed, which `make sim` passes on as it was typed.
func parseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("seed %q: expected a number from 0 to %d", text, uint64(math.MaxUint64))
	}
	return n, nil
}

func TestSeedsAreNumbers(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "18446744073709551615": math.MaxUint64} {
		if n, err := parseSeed(text); n != want || err != nil {
			t.Errorf("%s is %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"abc", "", "-1", "1 2", "18446744073709551616"} {
		want := fmt.Sprintf("seed %q: expected a number from 0 to 18446744073709551615", text)
		if _, err := parseSeed(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
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

// TestNothingOvertakesARedirectedRequest sends a request while an earlier one, for the same
// key, waits between two redirects: the importing node has been told too late, and is just
// then ready for the last request.
func TestNothingOvertakesARedirectedRequest(t *testing.T) {
	for _, others := range []int{0, 1} { // redirected before it, and given up
		t.Run(fmt.Sprintf("%d others", others), func(t *testing.T) {
			c := quietConfig()
			c.F.Migrate = 1 // so that ASK is no surprise
			s := newScene(t, c)
			slot := slotOf(keyOf("a", ""))
			source := s.cluster.owner(slot)
			target := s.cluster.nodes[(source.index+1)%primaries]
			source.migrating = append(source.migrating, move{slot, target})

			s.script.alone = others == 0
			for range others {
				s.script.keyed(opIncr, []string{keyOf("a", "n0")}, nil)
			}
			s.script.keyed(opSet, []string{keyOf("a", "k0")}, []string{"v"})
			s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
			s.client.depth = 1 + others
			s.connect()
			s.faults.Migrate = 0
			s.world.after(millisecond/2, func() { s.client.depth = 1 })
			s.world.after(millisecond, func() {
				if s.census().Waiting != 1 {
					t.Error("the request does not wait between redirects")
				}
				target.importing = append(target.importing, move{slot, source})
				s.client.depth = 2
				s.client.act()
			})
			s.play()
			for i, q := range s.client.requests {
				want := answered
				if i < others {
					want = refused
				}
				if q.outcome != want {
					t.Errorf("%s has the outcome %d, want %d", q, q.outcome, want)
				}
			}
		})
	}
}

// TestNothingOvertakesAtANewMap sends a request when a new map has given its slot to
// another node, while an earlier one is still with the old owner, which will redirect it.
func TestNothingOvertakesAtANewMap(t *testing.T) {
	c := quietConfig()
	s := newScene(t, c)
	slot := slotOf(keyOf("a", ""))
	source := s.cluster.owner(slot)
	target := (source.index + 1) % primaries
	s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil) // so that the connection stands
	s.script.keyed(opSet, []string{keyOf("a", "k0")}, []string{"v"})
	s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	s.connect()
	first := s.client.requests[0]
	s.turnTo("answer the first request", second, func() bool { return first.outcome == answered })
	source.stallUntil = s.world.now + 50*millisecond
	s.world.after(10*millisecond, func() {
		for _, n := range s.cluster.nodes {
			n.owner[slot] = uint16(target)
		}
		s.cluster.published = s.cluster.snapshot(source)
		s.wake()
	})
	s.world.after(20*millisecond, func() {
		if n := s.census().InFlight; n != 1 {
			t.Errorf("%d requests are with nodes, want 1", n)
		}
		s.client.depth = 2
		s.client.act()
	})
	s.play()
	if n := s.snapshot().Counters.Moved; n != 1 {
		t.Errorf("%d times MOVED, want 1", n)
	}
}

// TestOneMovedIsEnough lets a slot move while no new map comes: only the first request for
// it goes to the old owner.
func TestOneMovedIsEnough(t *testing.T) {
	r := begin(t, Config{Chunks: 64, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1})
	r.cluster.published = r.cluster.snapshot(r.cluster.nodes[0])
	r.cluster.fetching = true // for ever
	slot := slotOf(keyOf("a", ""))
	target := (r.cluster.owner(slot).index + 1) % primaries
	for _, n := range r.cluster.nodes {
		n.owner[slot] = uint16(target)
	}
	c, s := r.newClient()
	for range 20 {
		s.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	}
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	c.connect()
	r.turnTo("serve the session", second, r.allDone)
	if n := r.snapshot().Counters.Moved; n != 1 {
		t.Errorf("%d times MOVED", n)
	}
}

// TestAConnectionThatRedirectsToItsOwnNodeIsReplaced lets a node answer MOVED to itself on a
// connection: the next one serves, and the request with it.
func TestAConnectionThatRedirectsToItsOwnNodeIsReplaced(t *testing.T) {
	s := newScene(t, quietConfig())
	s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	s.script.add(&request{op: opLocal, wire: wireOf("PING"), local: func([]byte) string {
		for _, n := range s.cluster.nodes {
			for _, c := range n.conns {
				c.selfMoved = true
			}
		}
		return ""
	}})
	s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	s.connect()
	s.turnTo("serve the session", 10*millisecond, s.allDone)
	if n := s.snapshot().Counters; n.Moved != 1 || n.BackendDials != 2 {
		t.Errorf("%d times MOVED and %d dials, want 1 and 2", n.Moved, n.BackendDials)
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
	c := Config{Chunks: 64, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1, MaxClients: places, Burst: come, F: Faults{Late: 0.9}}
	r := begin(t, c)
	w := r.world
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
	if n := r.snapshot().Counters.Rejected; n != come-places {
		t.Errorf("%d clients were turned away, want %d", n, come-places)
	}
}

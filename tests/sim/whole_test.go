package sim

import (
	"slices"
	"strings"
	"testing"
)

// do lets something happen when the session has come to it.
func (s *script) do(act func()) {
	s.add(&request{op: opLocal, wire: wireOf("PING"), local: func([]byte) string {
		act()
		return ""
	}})
}

// TestContract_ROUTE8_CursorsOfFormerPrimariesAreRefused replaces a primary between two steps
// of a walk: the cursor leads nowhere, though there are as many primaries as before.
func TestContract_ROUTE8_CursorsOfFormerPrimariesAreRefused(t *testing.T) {
	s := newScene(t, quietConfig())
	s.script.oneScan()
	s.script.do(func() {
		s.config.F.Failover = 1 // so that it is no surprise
		s.cluster.failover()
		s.cluster.published = s.cluster.snapshot(s.cluster.nodes[0])
	})
	s.script.oneScan()
	s.script.oneScan()
	s.connect()
	s.play()
	for i, want := range []outcome{answered, answered, refused, answered} {
		if q := s.client.requests[i]; q.outcome != want {
			t.Errorf("%s has the outcome %d, want %d", q, q.outcome, want)
		}
	}
}

// TestContract_ROUTE8_WalkSeesEveryKey walks in small steps over nodes of which one has no
// key and one has all that can be.
func TestContract_ROUTE8_WalkSeesEveryKey(t *testing.T) {
	s := newScene(t, quietConfig())
	for _, key := range s.cluster.keys {
		if s.cluster.owner(slotOf(key)).index != 1 {
			s.cluster.owner(slotOf(key)).store.put(key, "v")
		}
	}
	for range 3 * len(s.cluster.keys) / 5 {
		s.script.oneScan()
	}
	s.connect()
	s.play()
	if n := s.world.steps["walked"]; n < 2 {
		t.Errorf("%d walks have ended, want two at least", n)
	}
}

// ask makes a client that connects now and asks for something. The run may go on with it for
// a while and must let go of it in the end.
func (r *run) ask(write func(s *script)) *client {
	c, s := r.newClient()
	c.rushing, c.depth = true, 1
	write(s)
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	c.connect()
	return c
}

// connected is a run in which the worker has connections to all nodes.
func connected(t *testing.T, c Config) *run {
	t.Helper()
	r := begin(t, c)
	r.cluster.start()
	r.turnUntil(r.world.now + 10*millisecond)
	first := r.ask(func(s *script) { s.oneWhole(opDbsize) })
	r.turnTo("connect to all nodes", second, func() bool { return first.done })
	return r
}

// TestContract_ROUTE3_HungNodeHoldsUpWhoAsksAll: others are served by the other nodes, and the
// one who asks all is told when the time for replies is over.
func TestContract_ROUTE3_HungNodeHoldsUpWhoAsksAll(t *testing.T) {
	c := quietConfig()
	c.Sessions, c.Timeout = 10, 500*millisecond
	r := connected(t, c)
	hung := r.cluster.owner(slotOf("{a}"))
	hung.stallUntil = r.world.now + 10*second
	all := r.ask(func(s *script) { s.oneWhole(opKeys); s.oneWhole(opDbsize) })
	others := r.ask(func(s *script) {
		for range 20 {
			for _, tag := range r.cluster.tags {
				if r.cluster.owner(slotOf(keyOf(tag, ""))) != hung {
					s.keyed(opIncr, []string{keyOf(tag, "n0")}, nil)
				}
			}
		}
	})
	r.turnTo("serve the others", 100*millisecond, func() bool { return others.done })
	if all.got != 0 || r.census().Joins != 1 {
		t.Errorf("%s; %+v", all, r.census())
	}
	r.turnTo("give up", second, func() bool { return all.got > 0 })
	if q := all.requests[0]; q.outcome != unknown || len(q.executions) != primaries-1 {
		t.Errorf("%s has the outcome %d and %d executions", q, q.outcome, len(q.executions))
	}
	r.cluster.heal()
	r.turnTo("serve who asks all", 10*second, r.allDone)
}

// TestClientsLeaveWithABroadcast: what nodes answer later is for nobody, and nothing is kept.
func TestClientsLeaveWithABroadcast(t *testing.T) {
	c := quietConfig()
	c.Sessions = 20
	r := connected(t, c)
	for _, key := range r.cluster.keys {
		r.cluster.owner(slotOf(key)).store.put(key, "v")
	}
	r.cluster.nodes[2].stallUntil = r.world.now + 15*second
	var leavers []*client
	for kind := opKeys; kind <= opRandomkey; kind++ {
		leaver := r.ask(func(s *script) { s.oneWhole(kind); s.oneWhole(opKeys) })
		leaver.stubborn, leaver.ending = true, endAbort
		leavers = append(leavers, leaver)
	}
	r.turnUntil(r.world.now + second)
	if n := r.census(); n.Joins != len(leavers) {
		t.Errorf("%+v, want %d joins", n, len(leavers))
	}
	for i, leaver := range leavers {
		if leaver.leave(); i%2 == 0 {
			leaver.end.close()
		} else {
			leaver.end.reset()
		}
	}
	r.turnUntil(r.world.now + 13*second)
	if n := r.census(); n.Clients != 0 || n.Joins != len(leavers) {
		t.Errorf("%+v, want no client", n)
	}
}

// TestBroadcastWaitsForRoom has somebody ask all nodes while the connection to one of them
// takes nothing more.
func TestBroadcastWaitsForRoom(t *testing.T) {
	const most = 32 << 10 // requests on a connection
	c := quietConfig()
	c.Sessions, c.Chunks = 3000, 256
	r := connected(t, c)
	hung := r.cluster.nodes[0]
	hung.stallUntil = r.world.now + 5*second
	for range most/16 + 100 {
		flood := r.ask(func(s *script) {
			for range 16 {
				s.keyed(opGet, []string{keyOf("b", "k0")}, nil)
			}
		})
		flood.depth = 16
	}
	r.turnUntil(r.world.now + second)
	before := r.census()
	if before.InFlight < most {
		t.Errorf("%+v, want %d requests at nodes", before, most)
	}
	all := r.ask(func(s *script) { s.oneWhole(opDbsize); s.oneWhole(opFlushall); s.oneWhole(opKeys) })
	r.turnUntil(r.world.now + second)
	if n := r.census(); n.InFlight != before.InFlight || n.Joins != 0 {
		t.Errorf("%+v, want no more requests at nodes than %d", n, before.InFlight)
	}
	r.turnTo("serve everybody", 30*second, r.allDone)
	if all.got != 3 {
		t.Error(all)
	}
}

// longValues gives two keys of two nodes long values and returns them.
func (r *run) longValues(bytes int) (keys []string) {
	for _, tag := range r.cluster.tags {
		key := keyOf(tag, "k0")
		if len(keys) == 0 || r.cluster.owner(slotOf(keys[0])) != r.cluster.owner(slotOf(key)) {
			keys = append(keys, key)
			r.cluster.owner(slotOf(key)).store.put(key, strings.Repeat("v", bytes))
		}
		if len(keys) == 2 {
			break
		}
	}
	return keys
}

// TestLongRepliesOfTwoNodes joins what comes in pieces. When a connection is lost within one,
// nothing of it is left.
func TestLongRepliesOfTwoNodes(t *testing.T) {
	c := quietConfig()
	c.Sessions, c.Room = 10, 16<<10
	r := connected(t, c)
	keys := r.longValues(100_000)
	reader := r.ask(func(s *script) {
		s.keyed(opMget, keys, nil)
		s.keyed(opMget, keys, nil)
	})
	r.turnTo("answer the first request", second, func() bool { return reader.got == 1 })
	r.turnTo("receive a piece of the second reply", second, func() bool { return r.census().Joins == 1 && r.used() > 64<<10 })
	r.config.F.NodeReset = 1 // so that it is no surprise
	r.cluster.owner(slotOf(keys[0])).breakAll()
	r.turnTo("serve the session", second, r.allDone)
	if q := reader.requests[1]; q.outcome != unknown {
		t.Errorf("%s has the outcome %d", q, q.outcome)
	}
}

// TestCase_L04_JoinedRepliesAreBounded: what nodes send for one reply counts for its client
// while it comes in, not only when it is whole.
func TestCase_L04_JoinedRepliesAreBounded(t *testing.T) {
	const value, limit, slack = 40_000, 256 << 10, 256 << 10
	c := quietConfig()
	c.Sessions, c.HardOutput, c.Room = 10, limit, 16<<10
	r := connected(t, c)
	keys := r.longValues(value)
	reader := r.ask(func(s *script) { s.keyed(opMget, slices.Repeat(keys, 60), nil) })
	reader.stubborn = true // it is closed without a word
	peak := 0
	r.turnTo("close the client", 10*second, func() bool {
		peak = max(peak, r.used())
		return reader.done
	})
	if n := r.census(); n.Clients != 0 || reader.got != 0 {
		t.Errorf("%s; %+v", reader, n)
	}
	if peak > limit+slack {
		t.Errorf("%d bytes were in use, the limit is %d", peak, limit)
	}
	r.turnUntil(r.world.now + second)
	if n := r.snapshot().Counters.OutputClosed; n != 1 {
		t.Errorf("%d clients were closed at the limit", n)
	}
	other := r.ask(func(s *script) { s.keyed(opGet, []string{keyOf("a", "n0")}, nil) })
	r.turnTo("serve another client", second, func() bool { return other.done })
	if n := r.snapshot().Counters.BackendLost; n != 0 {
		t.Errorf("%d connections to nodes were lost by it", n)
	}
}

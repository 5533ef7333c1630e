package sim

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/worker"
)

// sharing is a Config of quiet workers that share their connections.
func sharing(workers int) Config {
	c := quietConfig()
	c.Workers, c.Shared, c.Sessions = workers, true, 100
	return c
}

// askAt is ask for a client of a certain worker.
func (r *run) askAt(worker int, write func(s *script)) *client {
	c, s := r.newClient()
	c.rushing, c.depth, c.server = true, 1, r.cores[worker].server
	write(s)
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	c.connect()
	return c
}

// TestContract_PIPE1_OneConnectionForAllWorkers: with `yes` there is one for each node and
// protocol, with `no` each worker has its own.
func TestContract_PIPE1_OneConnectionForAllWorkers(t *testing.T) {
	for _, test := range []struct {
		workers, protocols, dials int
		shared                    bool
	}{
		{2, 1, primaries, true}, {4, 1, primaries, true}, {4, 2, 2 * primaries, true}, {4, 1, 4 * primaries, false}, {2, 2, 4 * primaries, false},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			c := sharing(test.workers)
			c.Shared = test.shared
			r := begin(t, c)
			r.cluster.start()
			for i := range 4 * test.workers {
				r.askAt(i%test.workers, func(s *script) {
					s.hello(2 + i/test.workers%test.protocols)
					for range 3 {
						for _, tag := range r.cluster.tags {
							s.keyed(opIncr, []string{keyOf(tag, "n0")}, nil)
						}
					}
				})
			}
			r.turnTo("serve everybody", second, r.allDone)
			if n := int(r.snapshot().Counters.BackendDials); n != test.dials {
				t.Errorf("%d dials", n)
			}
		})
	}
}

// TestContract_PIPE1_WhatIsNotSentIsSaidToBe: a worker that cannot have a connection because
// another one cannot make it tells its clients that they may try again.
func TestContract_PIPE1_WhatIsNotSentIsSaidToBe(t *testing.T) {
	c := sharing(4)
	c.F.NodeReset = 1 // so that refusals are no surprise
	r := begin(t, c)
	r.cluster.published = r.cluster.snapshot(r.cluster.nodes[0])
	for _, n := range r.cluster.nodes {
		n.refuseUntil = r.world.now + 3600*second
	}
	for i := range c.Workers {
		r.askAt(i, func(s *script) {
			for _, tag := range r.cluster.tags {
				s.keyed(opIncr, []string{keyOf(tag, "n0")}, nil)
			}
		})
	}
	r.turnTo("serve everybody", second, r.allDone)
	for _, c := range r.clients {
		for _, q := range c.requests {
			if q.outcome != refused {
				t.Errorf("%s has the outcome %d, want %d", q, q.outcome, refused)
			}
		}
	}
}

// astray is a run of two workers whose map has the slots of node 0 with node 1. Worker 0 has the
// connection to node 1, worker 1 that to the others. With every redirect a worker is held up
// while it reads letters.
func astray(t *testing.T, sessions int) (r *run, tags [primaries]string) {
	t.Helper()
	c := sharing(2)
	c.F.HeldUp, c.Sessions, c.Room = 1, sessions, 256
	r = begin(t, c)
	k := r.cluster
	k.published = k.snapshot(k.nodes[0])
	for _, tag := range k.tags {
		tags[k.published.Slots[slotOf(keyOf(tag, "n0"))]] = tag
	}
	k.fetching = true // nobody gets another map
	return r, tags
}

// mislead makes the workers forget what redirects have taught them.
func (r *run) mislead() {
	wrong := *r.cluster.published
	wrong.Epoch++
	for slot, shard := range wrong.Slots {
		wrong.Slots[slot] = max(shard, 1)
	}
	r.cluster.published = &wrong
}

// wasAstray checks that so many redirects were followed, and that a worker has handed requests over.
func (r *run) wasAstray(t *testing.T, redirects, handing int) {
	t.Helper()
	n := r.snapshot().Counters.Redirections
	if over := r.cores[handing].worker.Snapshot().Counters.HandedOver; int(n) < redirects || over == 0 {
		t.Errorf("%d redirects, want %d; worker %d has handed %d requests over", n, redirects, handing, over)
	}
}

// incr asks for a counter of each tag.
func (r *run) incr(worker int, tags ...string) *client {
	c := r.askAt(worker, func(s *script) {
		for _, tag := range tags {
			s.keyed(opIncr, []string{keyOf(tag, "n0")}, nil)
		}
	})
	c.depth = len(tags)
	return c
}

// TestContract_PIPE1_NoLetterIsOverslept: requests that are handed over to a worker while it is
// busy with other letters are served at once, though nothing else wakes it.
func TestContract_PIPE1_NoLetterIsOverslept(t *testing.T) {
	const rounds = 150
	r, tags := astray(t, 2*rounds)
	r.incr(1, tags[0])
	r.turnTo("reach node 0", second, r.allDone)
	r.cluster.nodes[0].stallUntil = r.world.now + 30*second
	for range rounds {
		r.mislead()
		r.incr(1, tags[0])
		for range 3 {
			asking := r.incr(0, tags[2])
			r.turnTo("serve a client of another worker", 20*millisecond, func() bool { return asking.done })
		}
	}
	r.turnTo("serve everybody", 40*second, r.allDone)
	r.wasAstray(t, rounds, 0)
}

// TestContract_PIPE1_NoRequestIsLeftBehindAnAnswer: requests that are handed over when the worker
// with the connection has just answered, and sleeps, are served at once. No bell goes with
// them, because there was something to be answered yet.
func TestContract_PIPE1_NoRequestIsLeftBehindAnAnswer(t *testing.T) {
	const rounds = 400
	r, tags := astray(t, 3*rounds)
	for range rounds {
		r.mislead()
		r.incr(1, tags[0], tags[1])
		for range 2 {
			r.turnUntil(r.world.now + r.world.between(0, 100*microsecond))
			r.incr(1, tags[1])
		}
		r.turnTo("serve three clients", 20*millisecond, r.allDone)
	}
	r.wasAstray(t, rounds, 1)
}

// TestContract_PIPE5_SlowReaderOfAnotherWorker has a client read nothing of a large reply. Its
// bytes stay with the node, whichever worker has the connection, and others are served on
// another one.
func TestContract_PIPE5_SlowReaderOfAnotherWorker(t *testing.T) {
	const value, bound = 1 << 20, 256 << 10
	for at := range 2 {
		t.Run(fmt.Sprintf("client at worker %d", at), func(t *testing.T) {
			c := sharing(2)
			c.Large, c.Private, c.Room = 1000, 10, 4<<10
			r := begin(t, c)
			r.cluster.start()
			key := keyOf("a", "k0")
			r.cluster.owner(slotOf(key)).store.put(key, strings.Repeat("v", value))
			first := r.askAt(at, func(s *script) { s.exact(wireOf("PING"), "+PONG\r\n") })
			r.turnTo("serve a client", second, func() bool { return first.done })
			reader := r.askAt(at, func(s *script) { s.keyed(opGet, []string{key}, nil) })
			reader.deaf, reader.rushing = true, false
			peak := 0
			for end := r.world.now + second/10; r.turn(end); {
				peak = max(peak, r.used())
			}
			if peak > bound {
				t.Errorf("%d bytes are in use", peak)
			}
			for other := range 2 {
				r.askAt(other, func(s *script) {
					for range 10 {
						s.keyed(opIncr, []string{keyOf("a", "n0")}, nil)
					}
				})
			}
			served := func() bool { return r.clients[2].done && r.clients[3].done }
			r.turnTo("serve the others", 10*millisecond, served)
			reader.deaf = false
			reader.rush()
			r.turnTo("serve the reader", 10*second, r.allDone)
		})
	}
}

// TestContract_PIPE5_WhatIsInOutlivesTheConnection has a client read late what another worker
// has handed back, with the connection gone meanwhile: replies that are in are given out.
func TestContract_PIPE5_WhatIsInOutlivesTheConnection(t *testing.T) {
	const value, room = 12_000, 4 << 10
	c := sharing(2)
	c.Large, c.Private, c.Room = 1000, 10, room
	r := begin(t, c)
	r.cluster.start()
	var n *node // whose connection is not with the client's worker
	var key, counter string
	for _, tag := range r.cluster.tags {
		key, counter = keyOf(tag, "k0"), keyOf(tag, "n0")
		if n = r.cluster.owner(slotOf(key)); n.index != 1 {
			break
		}
	}
	n.store.put(key, strings.Repeat("v", value))
	reader := r.askAt(0, func(s *script) {
		s.keyed(opGet, []string{key}, nil)
		s.keyed(opIncr, []string{counter}, nil)
	})
	reader.deaf, reader.rushing, reader.depth = true, false, 2
	handedOver := func() bool { return r.cores[0].worker.Snapshot().Counters.HandedOver == 2 }
	r.turnTo("hand two requests over", second, handedOver)
	r.cores[0].ring.pause = pause{until: r.world.now + second/10} // so that all replies come in at once
	r.turnUntil(r.world.now + second)
	n.breakAll()
	r.turnUntil(r.world.now + second)
	reader.deaf = false
	reader.rush()
	r.turnTo("serve the reader", 10*second, r.allDone)
	for _, q := range reader.requests {
		if q.outcome != answered {
			t.Errorf("%s has the outcome %d", q, q.outcome)
		}
	}
}

// TestContract_PIPE5_RepliesToAWorkerThatIsHeldUp lets a worker not run for a while to which
// another one hands replies back: that one keeps a part of them, and the rest is left with
// the node.
func TestContract_PIPE5_RepliesToAWorkerThatIsHeldUp(t *testing.T) {
	const value, requests, lent, slack = 3000, 2000, 32 << 10, 128 << 10
	for at := range 2 {
		t.Run(fmt.Sprintf("worker %d is held up", at), func(t *testing.T) {
			c := sharing(2)
			c.Room, c.Post = 16<<10, worker.PostLimits{Letters: 1024, LentBytes: lent}
			r := begin(t, c)
			r.cluster.start()
			key := keyOf("a", "k0")
			r.cluster.owner(slotOf(key)).store.put(key, strings.Repeat("v", value))
			reader := r.askAt(at, func(s *script) {
				for range requests {
					s.keyed(opGet, []string{key}, nil)
				}
			})
			reader.depth = requests
			r.turnTo("give the reader credit", second, func() bool { return reader.got > requests/2 })
			r.cores[at].ring.pause = pause{until: r.world.now + second}
			peak := 0
			for end := r.world.now + second; r.turn(end); {
				peak = max(peak, int(r.cores[1-at].arena.UsedBytes()))
			}
			if peak > lent+slack {
				t.Errorf("%d bytes are in use by the other one", peak)
			}
			r.turnTo("serve the reader", 10*second, r.allDone)
		})
	}
}

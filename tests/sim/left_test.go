package sim

import "testing"

// hang is a run whose nodes hang for a while, with slow clients to judge.
func hang(t *testing.T, seconds int64) (*run, func(requests int, ending ending) *client) {
	t.Helper()
	w := newWorld(1, nil)
	r := newRun(w, Config{Sessions: 100, Chunks: 256, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1}, make(region, regionBytes), nil)
	add := func(requests int, ending ending) *client {
		c, s := r.newClient()
		c.depth, c.rushing, c.ending = requests, true, ending
		for range requests {
			s.keyed(opGet, []string{keyOf("a", "k0")}, nil)
		}
		c.farewell(s)
		r.judge.sessions = append(r.judge.sessions, c.requests)
		c.connect()
		return c
	}
	r.cluster.start()
	r.turnUntil(w.now + second) // the map is there
	add(1, endClose)            // and so is the connection
	r.turnTo("serve the first client", second, r.allDone)
	for _, n := range r.cluster.nodes {
		n.stallUntil = w.now + seconds*second
	}
	return r, add
}

// TestClientsLeaveAHungNode has clients wait for nodes that hang: with a request at a node,
// and held back unread, because nothing more fits a connection. Those who leave are let go
// of, though the nodes owe replies. Who stays gets his own reply, and nobody else's.
func TestClientsLeaveAHungNode(t *testing.T) {
	r, add := hang(t, 40)
	w := r.world
	flood := add(40_000, endAbort) // more than a connection to a node takes
	flood.stubborn = true
	r.turnUntil(w.now + second)
	leavers := []*client{flood}
	for range 10 {
		leavers = append(leavers, add(1, endAbort), add(100, endAbort))
	}
	for _, c := range leavers {
		c.stubborn = true
	}
	stays := add(3, endClose)
	r.turnUntil(w.now + second)
	for i, c := range leavers {
		c.leave()
		if i%2 == 0 {
			c.end.close()
		} else {
			c.end.reset()
		}
	}
	r.turnUntil(w.now + 25*second)
	if n := r.worker.Census(); n.Clients != 1 || n.InFlight == 0 {
		t.Errorf("while the nodes hang: %+v, want one client left and its elders' requests in flight", n)
	}
	r.turnTo("serve who stays", 30*second, func() bool { return stays.done })
	if stays.got != len(stays.requests) {
		t.Error(stays)
	}
	r.judge.finish()
	r.close()
}

// TestHalfClosedClientWaitsForASlowNode: who ends its sending side may want the replies.
func TestHalfClosedClientWaitsForASlowNode(t *testing.T) {
	r, add := hang(t, 8)
	half := add(3, endHalf)
	r.turnTo("serve it", 30*second, func() bool { return half.done })
	if half.got != len(half.requests) {
		t.Error(half)
	}
	r.close()
}

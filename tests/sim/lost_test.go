package sim

import "testing"

// loseEnds makes the receives that are armed now miss the ends of their connections.
func (r *run) loseEnds() {
	for _, s := range r.files.sockets {
		if s != nil && s.recv == recvArmed {
			s.losesEnd = true
		}
	}
}

// TestLostEndOfAClient has idle clients, one of them within a request, break their
// connections, and the engine not tell. They are closed all the same, and those who only
// say nothing are not.
func TestLostEndOfAClient(t *testing.T) {
	r, add := hang(t, 0)
	w := r.world
	var leavers []*client
	for i := range 4 {
		c := add(1, endStay)
		if i%2 == 0 {
			c.requests = nil
			c.end.out.write([]byte("*2\r\n$3\r\nGE"))
		}
		leavers = append(leavers, c)
	}
	stays := add(1, endStay)
	r.turnUntil(w.now + second)
	if n := r.census(); n.Clients != len(leavers)+1 || n.InFlight != 0 {
		t.Fatalf("%+v, want %d idle clients", n, len(leavers)+1)
	}
	r.loseEnds()
	for _, c := range leavers {
		c.leave()
		c.end.reset()
	}
	r.turnUntil(w.now + 15*second)
	if n := r.census(); n.Clients != 1 {
		t.Errorf("%+v, want the client that has not left", n)
	}
	stays.leave()
	stays.end.close()
	r.turnTo("see the last client go", 15*second, func() bool { return r.census().Clients == 0 })
}

// TestLostEndOfANode has nodes break the connections on which they owe replies, and the
// engine not tell. The requests fail all the same.
func TestLostEndOfANode(t *testing.T) {
	r, add := hang(t, 40)
	w := r.world
	waits := add(1, endStay)
	waits.deaf, waits.stubborn = true, true
	r.turnUntil(w.now + second)
	if n := r.census(); n.InFlight != 1 {
		t.Fatalf("%+v, want a request at a node", n)
	}
	r.loseEnds()
	for _, n := range r.cluster.nodes {
		n.breakAll()
	}
	r.turnUntil(w.now + 5*second)
	if n := r.census(); n.InFlight != 0 {
		t.Errorf("%+v, want no request at a node", n)
	}
	waits.leave()
	waits.end.close()
	r.turnTo("see the client go", 15*second, func() bool { return r.census().Clients == 0 })
}

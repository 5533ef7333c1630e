package sim

import (
	"strings"
	"testing"
)

// hang is a run whose nodes hang for a while, with slow clients to judge.
func hang(t *testing.T, seconds int64) (*run, func(requests int, ending ending) *client) {
	t.Helper()
	r := begin(t, Config{Sessions: 100, Chunks: 256, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1})
	w := r.world
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
	if n := r.census(); n.Clients != 1 || n.InFlight == 0 {
		t.Errorf("while the nodes hang: %+v, want one client left and its elders' requests in flight", n)
	}
	r.turnTo("serve who stays", 30*second, func() bool { return stays.done })
	if stays.got != len(stays.requests) {
		t.Error(stays)
	}
}

// TestHalfClosedClientWaitsForASlowNode: who ends its sending side may want the replies.
func TestHalfClosedClientWaitsForASlowNode(t *testing.T) {
	r, add := hang(t, 8)
	half := add(3, endHalf)
	r.turnTo("serve it", 30*second, func() bool { return half.done })
	if half.got != len(half.requests) {
		t.Error(half)
	}
}

// slowly has a client get a large value that it does not read, behind which it may end its
// sending side. It returns the client when the reply is on its way.
func slowly(t *testing.T, softFor int64, ending ending) (*run, *client) {
	t.Helper()
	c := Config{Sessions: 100, Chunks: 64, Room: 4 << 10, Latency: 10 * microsecond, Lanes: 1, Depth: 1, Large: 1000, Private: 10, SoftOutput: 1 << 20, SoftFor: softFor}
	r := begin(t, c)
	w := r.world
	r.cluster.start()
	r.turnUntil(w.now + second)
	reader, s := r.newClient()
	reader.depth, reader.ending, reader.deaf = 2, ending, true
	s.keyed(opSet, []string{keyOf("a", "k0")}, []string{strings.Repeat("long", 5000)})
	s.keyed(opGet, []string{keyOf("a", "k0")}, nil)
	reader.farewell(s)
	r.judge.sessions = append(r.judge.sessions, reader.requests)
	reader.connect()
	r.turnUntil(w.now + second)
	if n := r.census(); n.Clients != 1 || n.InFlight != 1 {
		t.Fatalf("%+v, want one client with a reply under way", n)
	}
	return r, reader
}

// TestSlowReaderHasTheSoftLimitsTime: whether a client has left is asked meanwhile, which
// must not count as progress.
func TestSlowReaderHasTheSoftLimitsTime(t *testing.T) {
	const softFor = 25 * second
	r, reader := slowly(t, softFor, endClose)
	r.turnUntil(r.world.now + softFor - 2*second)
	if n := r.census(); n.Clients != 1 {
		t.Errorf("%+v, the client is closed too early", n)
	}
	r.turnUntil(r.world.now + 4*second)
	if n := r.census(); n.Clients != 0 {
		t.Errorf("%+v, the client should be closed", n)
	}
	reader.done = true
}

// TestHalfClosedClientReadsSlowly: it is there, whatever time it takes.
func TestHalfClosedClientReadsSlowly(t *testing.T) {
	r, reader := slowly(t, 0, endHalf)
	r.turnUntil(r.world.now + 30*second)
	reader.deaf = false
	reader.readable()
	r.turnTo("serve it", 30*second, func() bool { return reader.done })
	if reader.got != len(reader.requests) {
		t.Error(reader)
	}
}

// TestNodeHangsInsideALargeRequest: the client leaves and is closed, or stays and is told
// when the time for replies is over.
func TestNodeHangsInsideALargeRequest(t *testing.T) {
	t.Run("without a timeout", func(t *testing.T) { hangInside(t, 0) })
	t.Run("with one", func(t *testing.T) { hangInside(t, 500*millisecond) })
}

func hangInside(t *testing.T, timeout int64) {
	t.Helper()
	c := Config{Sessions: 100, Chunks: 64, Room: 4 << 10, Latency: 10 * microsecond, Lanes: 1, Depth: 1, Large: 1000, Private: 10, Timeout: timeout}
	r := begin(t, c)
	w := r.world
	r.cluster.start()
	r.turnUntil(w.now + second)
	sender, s := r.newClient()
	sender.stubborn, sender.ending, sender.rushing = true, endAbort, true
	s.keyed(opSet, []string{keyOf("a", "k0")}, []string{strings.Repeat("long", 1<<18)})
	sender.farewell(s)
	r.judge.sessions = append(r.judge.sessions, sender.requests)
	sender.connect()
	r.turnTo("begin the request", second, func() bool { return r.census().InFlight == 1 })
	r.turnUntil(w.now + 2*millisecond) // the node has answered the greeting
	for _, n := range r.cluster.nodes {
		n.stallUntil = w.now + 60*second
	}
	r.turnUntil(w.now + 2*second)
	open := 1
	if timeout > 0 {
		open = 0
	}
	if n := r.census(); n.Clients != 1 || n.InFlight != open {
		t.Fatalf("%+v, want one client with %d requests under way", n, open)
	}
	sender.leave()
	sender.end.reset()
	r.turnUntil(w.now + 25*second)
	if n := r.census(); n.Clients != 0 || n.InFlight != 0 {
		t.Errorf("%+v, want nothing", n)
	}
}

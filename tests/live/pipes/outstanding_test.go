package pipes

import (
	"testing"

	"mithril/src/pipe"
	"mithril/src/session"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_PIPE5_OutstandingReplies: of a client that asks without end while no node
// answers, 65,536 requests are taken. It is read again when half of them are answered, and not
// before.
func TestContract_PIPE5_OutstandingReplies(t *testing.T) {
	const (
		most  = session.OutstandingMax
		asked = most + most/4
		count = 12 // nodes, whose connections can hold more, those that four workers share too
	)
	harness.EachLayout(t, func(t *testing.T, engine string, l harness.Layout) {
		nodes := hold(t, count)
		p := nodes.start(t, engine, l)
		c := nodes.trusted(t, p, most)
		m := newMeter(t, p)
		c.SetTimeout(harness.Patience)
		var request []byte
		for i := range asked {
			request = testbed.AppendCommand(request, "GET", nodes[i%len(nodes)].key(i))
		}
		wrote := make(chan error, 1)
		go func() { wrote <- c.Write(request) }()
		m.await(t, most)
		m.stays(t, most)

		next := 0
		read := func(n int) {
			t.Helper()
			for range n {
				if got, err := c.Receive(); err != nil || got != nodes[next%len(nodes)].key(next) {
					t.Fatalf("reply %d: %v, %v", next, got, err)
				}
				next++
			}
		}
		for i, h := range nodes { // one less than half
			first := i // of its requests
			h.release((most/2 - 1 - first + len(nodes) - 1) / len(nodes))
		}
		read(most/2 - 1)
		m.stays(t, most)
		nodes[next%len(nodes)].release(1)
		m.await(t, asked)
		for _, h := range nodes {
			h.answer(true)
		}
		read(asked - most/2 + 1)
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	})
}

// TestContract_PIPE5_FullPipe: a node that does not answer gets 32,768 requests on a connection and
// no more. Clients that ask it for more wait, and nobody else does.
func TestContract_PIPE5_FullPipe(t *testing.T) {
	const (
		clients = 24
		each    = 6000 // requests
	)
	harness.EachLayout(t, func(t *testing.T, engine string, l harness.Layout) {
		nodes := hold(t, 3)
		p := nodes.start(t, engine, l)
		stuck := nodes[1]
		var request []byte
		for i := range each {
			request = testbed.AppendCommand(request, "GET", stuck.key(i))
		}
		var waiting []*testbed.Conn
		for range clients {
			waiting = append(waiting, nodes.trusted(t, p, each))
		}
		m := newMeter(t, p)
		for _, c := range waiting {
			c.SetTimeout(3 * harness.Patience)
			go c.Write(request) // what fails shows when it is read
		}
		taken := m.settles(t)
		conns := stuck.used()
		most := conns * pipe.PendingMax
		if l.Sharding == "yes" {
			if conns != 1 {
				t.Errorf("%d connections, want one for all workers", conns)
			}
			most += (l.Workers - 1) * pipe.PendingMax / l.Workers // what others may have waiting
		}
		if taken > most || taken < pipe.PendingMax/l.Workers {
			t.Errorf("%d requests are taken for %d connections, want %d at most", taken, conns, most)
		}
		nodes[0].answer(true)
		nodes[2].answer(true)
		for range 4 * l.Workers { // so that each worker has some
			c := p.Dial(t)
			for i := range 200 {
				if key := nodes[i%2*2].key(i); harness.MustDo(t, c, "GET", key) != key {
					t.Fatalf("GET %s of another node", key)
				}
			}
		}
		stuck.answer(true)
		for n, c := range waiting {
			for i := range each {
				if got, err := c.Receive(); err != nil || got != stuck.key(i) {
					t.Fatalf("client %d, reply %d: %v, %v", n, i, got, err)
				}
			}
		}
	})
}

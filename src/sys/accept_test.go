package sys

import (
	"net"
	"testing"
	"time"

	"mithril/src/ring"
)

// An OpAccept with a Max takes as many connections as that and leaves the others, and
// their descriptors, to the system.
func TestAcceptAFew(t *testing.T) {
	const come, few = 10, 3
	conformance(t, rigOptions{}, func(r *rig) {
		l, err := Listen(loopback, ListenOptions{})
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { Close(l) })
		for range come {
			dial(r, LocalAddr(l))
		}
		before := openDescriptors(r)
		var taken []ring.Socket
		for len(taken) < come {
			want := min(few, come-len(taken))
			r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken, Max: few})
			for range want {
				taken = append(taken, r.await(ring.Accepted, listenerToken).Socket)
			}
			if want == few {
				if e := r.await(ring.AcceptEnded, listenerToken); e.Err != ring.ErrNone {
					r.Errorf("accepting ended with %q", e.Err)
				}
			}
			r.never(ring.Accepted, listenerToken, 10*time.Millisecond)
			if n := openDescriptors(r) - before; n != len(taken) {
				r.Fatalf("%d descriptors more, with %d connections", n, len(taken))
			}
		}
		// The last one is armed still, for two more.
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		if e := r.await(ring.AcceptEnded, listenerToken); e.Err != ring.ErrCanceled {
			r.Errorf("accepting was stopped and ended with %q", e.Err)
		}
		// Without a Max any number is taken again.
		for range come {
			dial(r, LocalAddr(l))
		}
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		for range come {
			taken = append(taken, r.await(ring.Accepted, listenerToken).Socket)
		}
		r.nothingElse()
		for _, s := range taken {
			r.finish(s, sessionToken, false)
		}
	})
}

// Left tells of a peer that has gone, behind bytes that nobody has received, and with or
// without an operation on the socket.
func TestLeft(t *testing.T) {
	ways := map[string]func(*net.TCPConn){
		"half-close": func(c *net.TCPConn) { c.CloseWrite() },
		"close":      func(c *net.TCPConn) { c.Close() },
		"reset": func(c *net.TCPConn) {
			c.SetLinger(0)
			c.Close()
		},
	}
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := r.listen(loopback, listenerToken)
		for name, leave := range ways {
			s, peer := r.connectTo(addr)
			r.arm(s, sessionToken)
			write(r, peer, []byte("a"))
			r.receive(sessionToken, 1)
			r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
			r.await(ring.RecvEnded, sessionToken)
			write(r, peer, []byte("unread"))
			if r.Left(s) {
				r.Errorf("%s: it is said to have left before", name)
			}
			leave(peer)
			limit := time.Now().Add(patience)
			for !r.Left(s) {
				if time.Now().After(limit) {
					r.Fatalf("%s goes unnoticed", name)
				}
				time.Sleep(time.Millisecond)
			}
			r.finish(s, sessionToken, false)
		}
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		r.await(ring.AcceptEnded, listenerToken)
	})
}

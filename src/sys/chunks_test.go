package sys

import (
	"bytes"
	"testing"
	"time"

	"mithril/src/buf"
	"mithril/src/ring"
)

const chunk = buf.ReceiveChunkBytes

// hold turns until every chunk of the arena is referenced and the receive has ended
// for want of another, and returns the events that hold them.
func (r *rig) hold(token ring.Token, chunks int) []ring.Event {
	r.Helper()
	var held []ring.Event
	for len(held) < chunks {
		held = append(held, r.await(ring.Received, token))
	}
	if e := r.await(ring.RecvEnded, token); e.Err != ring.ErrNoBuffers {
		r.Fatalf("%s: want no buffers", describe(e))
	}
	return held
}

// With every chunk referenced a receive ends with ErrNoBuffers. Given again it
// waits, without a sound, until a chunk is back, and no byte is lost.
func TestChunksRunOutAndComeBack(t *testing.T) {
	const chunks = 4
	conformance(t, rigOptions{chunks: chunks}, func(r *rig) {
		s, peer := r.pair()
		want := pattern(10*chunk, 1)
		write(r, peer, want)
		r.arm(s, sessionToken)
		held := r.hold(sessionToken, chunks)

		r.arm(s, sessionToken)
		waits := r.Counters().Waits
		r.never(ring.RecvEnded, sessionToken, 100*time.Millisecond)
		if spent := r.Counters().Waits - waits; spent > 30 {
			r.Errorf("%d waits in 100 ms without a chunk", spent)
		}

		var got []byte
		for len(got) < len(want) {
			for _, e := range held {
				got = append(got, r.consume(e)...)
			}
			held = held[:0]
			if len(got) == len(want) {
				break
			}
			r.turn(r.in(50 * time.Millisecond))
			for _, e := range r.got {
				switch {
				case e.Kind == ring.Received:
					held = append(held, e)
				case e.Kind == ring.RecvEnded && e.Err == ring.ErrNoBuffers:
					r.arm(s, sessionToken)
				default:
					r.Fatalf("unexpected event: %s", describe(e))
				}
			}
			r.got = r.got[:0]
		}
		if !bytes.Equal(got, want) {
			r.Error("other bytes than were sent")
		}
		if r.Counters().NoBuffers == 0 {
			r.Error("the missing chunks are not counted")
		}
		r.finish(s, sessionToken, true)
		r.nothingElse()
	})
}

// A receive that waits for a chunk ends like any other.
func TestParkedReceiveIsStopped(t *testing.T) {
	const chunks = 2
	for _, by := range []ring.OpKind{ring.OpRecvStop, ring.OpShutdown} {
		conformance(t, rigOptions{chunks: chunks}, func(r *rig) {
			s, peer := r.pair()
			write(r, peer, pattern(4*chunk, 1))
			r.arm(s, sessionToken)
			held := r.hold(sessionToken, chunks)
			for range 3 {
				r.arm(s, sessionToken)
				r.turn(ring.Wait{})
				r.give(ring.Op{Kind: by, Socket: s})
				if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrCanceled {
					r.Fatalf("%s: want it canceled", describe(e))
				}
			}
			for _, e := range held {
				r.consume(e)
			}
			r.never(ring.Received, sessionToken, 10*time.Millisecond)
			r.finish(s, sessionToken, false)
			r.nothingElse()
		})
	}
}

// A parked receive of a socket that is gone does not hinder the next socket of that
// number, nor the others.
func TestParkedReceiveOfAClosedSocket(t *testing.T) {
	const chunks = 2
	conformance(t, rigOptions{chunks: chunks}, func(r *rig) {
		l, addr := r.listen(loopback, listenerToken)
		s, peer := r.connectTo(addr)
		write(r, peer, pattern(4*chunk, 1))
		r.arm(s, sessionToken)
		held := r.hold(sessionToken, chunks)
		r.arm(s, sessionToken)
		r.turn(ring.Wait{})
		next, nextPeer := r.replace(l, addr, s, sessionToken, true)
		r.arm(next, pipeToken)
		r.turn(ring.Wait{})
		write(r, nextPeer, []byte("new"))
		r.never(ring.Received, pipeToken, 10*time.Millisecond)
		for _, e := range held {
			r.consume(e)
		}
		if got := r.receive(pipeToken, 3); string(got) != "new" {
			r.Errorf("received %q", got)
		}
		r.finish(next, pipeToken, true)
		r.nothingElse()
	})
}

// More parked sockets than chunks: they share what comes back, all get their bytes.
func TestManyParkedReceives(t *testing.T) {
	const chunks, sockets = 3, 40
	conformance(t, rigOptions{chunks: chunks}, func(r *rig) {
		_, addr := r.listen(loopback, listenerToken)
		tokens := make([]ring.Token, sockets)
		all := make([]ring.Socket, sockets)
		for i := range all {
			s, peer := r.connectTo(addr)
			all[i], tokens[i] = s, ring.MakeToken(ring.KindSession, 1, uint32(i))
			write(r, peer, pattern(1000+i, uint32(i)))
		}
		for i := range all {
			r.arm(all[i], tokens[i])
		}
		got := make([][]byte, sockets)
		ended := 0
		for done := 0; done < sockets; {
			r.turn(r.in(50 * time.Millisecond))
			if r.turns > 2000 {
				r.Fatalf("%d of %d sockets after 2000 turns", done, sockets)
			}
			for _, e := range r.got {
				i := e.Token.Index()
				switch e.Kind {
				case ring.Received:
					got[i] = append(got[i], r.consume(e)...)
					if len(got[i]) == 1000+int(i) {
						done++
					}
				case ring.RecvEnded:
					ended++
					r.arm(all[i], tokens[i])
				}
			}
			r.got = r.got[:0]
		}
		for i := range got {
			if !bytes.Equal(got[i], pattern(1000+i, uint32(i))) {
				r.Errorf("socket %d got other bytes than were sent", i)
			}
		}
		if ended > 3*sockets {
			r.Errorf("%d receives ended for want of chunks among %d sockets", ended, sockets)
		}
		for i := range all {
			r.finish(all[i], tokens[i], true)
		}
		r.nothingElse()
	})
}

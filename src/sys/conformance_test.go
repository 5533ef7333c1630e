package sys

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

var (
	_ Engine = (*Uring)(nil)
	_ Engine = (*Epoll)(nil)
)

// fillBytes is more than what the buffers of a connection take unread.
const fillBytes = 1 << 20

func TestAcceptReceiveAndSend(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(listen, func(t *testing.T) {
			conformance(t, rigOptions{}, func(r *rig) {
				_, addr := r.listen(netip.MustParseAddrPort(listen), listenerToken)
				s, peer := r.connectTo(addr)
				r.arm(s, sessionToken)
				write(r, peer, []byte("ping"))
				if got := r.receive(sessionToken, 4); string(got) != "ping" {
					r.Fatalf("received %q", got)
				}
				r.send(s, sessionToken, []byte("pong"))
				if got := readFull(r, peer, 4); string(got) != "pong" {
					r.Fatalf("the peer got %q", got)
				}
				if got, want := r.Peer(s).String(), peer.LocalAddr().String(); got != want {
					r.Errorf("Peer is %s, want %s", got, want)
				}
				r.finish(s, sessionToken, true)
				if rest := readAll(r, peer); len(rest) > 0 {
					r.Errorf("the peer got %q after the reply", rest)
				}
				r.nothingElse()
			})
		})
	}
}

func TestPeerOfALostConnectionIsZero(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		reset(r, peer)
		r.await(ring.RecvEnded, sessionToken)
		if got := r.Peer(s); got.IsValid() {
			r.Errorf("Peer is %s", got)
		}
		r.finish(s, sessionToken, false)
	})
}

// A slow reader and small buffers: sends are short or take long, and every byte
// arrives once and in order.
func TestSlowReaderGetsEveryByte(t *testing.T) {
	const total = 2 << 20
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.setInt(s, unix.SOL_SOCKET, unix.SO_SNDBUF, 16384)
		want := pattern(total, 1)
		done := make(chan []byte)
		go func() {
			var got []byte
			p := make([]byte, 300_000)
			for len(got) < total {
				n, err := peer.Read(p)
				got = append(got, p[:n]...)
				if err != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			done <- got
		}()
		r.send(s, sessionToken, want)
		if got := <-done; !bytes.Equal(got, want) {
			r.Fatalf("the peer got %d bytes, differing from the %d sent", len(got), len(want))
		}
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

func TestSendOfManySlices(t *testing.T) {
	const slices, each = 3000, 7
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		want := pattern(slices*each, 2)
		block := r.put(want)
		out := make([]buf.Slice, slices)
		for i := range out {
			out[i] = block.Sub(uint32(i*each), each)
		}
		sends := 0
		for len(out) > 0 {
			r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: out})
			e := r.await(ring.Sent, sessionToken)
			if e.Err != ring.ErrNone || e.N == 0 || e.N > 1024*each || e.N%each != 0 {
				r.Fatalf("%s: want a send of at most 1024 slices of %d bytes", describe(e), each)
			}
			out = out[e.N/each:]
			sends++
		}
		if sends != 3 {
			r.Errorf("%d sends for 3000 slices, want 3", sends)
		}
		if got := readFull(r, peer, len(want)); !bytes.Equal(got, want) {
			r.Error("the peer got other bytes than were sent")
		}
		r.arena.Release(block.Block)
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

// The list of slices is the caller's again when Turn returns, even if the send is
// still waiting for room: fillSocket overwrites it.
func TestListOfSlicesIsFreeAfterTheTurn(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		want := pattern(fillBytes, 3)
		fill := r.put(want)
		before := r.fillSocket(s, sessionToken, fill)
		got := make(chan []byte)
		go func() {
			p, _ := io.ReadAll(peer)
			got <- p
		}()
		e := r.await(ring.Sent, sessionToken)
		if e.Err != ring.ErrNone || e.N == 0 {
			r.Fatalf("%s: want bytes sent", describe(e))
		}
		r.finish(s, sessionToken, false)
		if !bytes.Equal(<-got, want[:before+e.N]) {
			r.Error("the peer got other bytes than were sent")
		}
		r.arena.Release(fill.Block)
		r.nothingElse()
	})
}

func TestRecvStopAndAgain(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		r.turn(ring.Wait{})
		for range 3 {
			r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
			if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrCanceled {
				r.Fatalf("%s: want it canceled", describe(e))
			}
			write(r, peer, []byte("later"))
			r.never(ring.Received, sessionToken, 20*time.Millisecond)
			r.arm(s, sessionToken)
			if got := r.receive(sessionToken, 5); string(got) != "later" {
				r.Fatalf("received %q", got)
			}
		}
		r.finish(s, sessionToken, true)
		r.nothingElse()
	})
}

// Stop in the turn that arms, twice, and while bytes are on their way.
func TestRecvStopAtOnceAndTwice(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		write(r, peer, []byte("abc"))
		r.arm(s, sessionToken)
		r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
		r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
		e := r.await(ring.RecvEnded, sessionToken)
		if e.Err != ring.ErrCanceled {
			r.Fatalf("%s: want it canceled", describe(e))
		}
		var got []byte
		if e, ok := r.take(ring.Received, sessionToken); ok {
			got = r.consume(e)
		}
		r.nothingElse()
		r.arm(s, sessionToken)
		got = append(got, r.receive(sessionToken, 3-len(got))...)
		if string(got) != "abc" {
			r.Errorf("received %q", got)
		}
		r.finish(s, sessionToken, true)
	})
}

// Bytes may come before the end of a stopped receive, never after it.
func TestRecvStopWithMoreToCome(t *testing.T) {
	conformance(t, rigOptions{events: 1}, func(r *rig) {
		s, peer := r.pair()
		want := pattern(10*buf.ReceiveChunkBytes, 4)
		write(r, peer, want)
		var got []byte
		for len(got) < len(want) {
			r.arm(s, sessionToken)
			got = append(got, r.consume(r.await(ring.Received, sessionToken))...)
			r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
			for ended := false; !ended; {
				r.turn(r.in(patience))
				if e, ok := r.take(ring.Received, sessionToken); ok {
					got = append(got, r.consume(e)...)
				}
				_, ended = r.take(ring.RecvEnded, sessionToken)
			}
			r.never(ring.Received, sessionToken, time.Millisecond)
		}
		if !bytes.Equal(got, want) {
			r.Error("other bytes than were sent")
		}
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

func TestRecvStopWithoutRecvDoesNothing(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
		r.never(ring.RecvEnded, sessionToken, 20*time.Millisecond)
		r.arm(s, sessionToken)
		write(r, peer, []byte("x"))
		r.receive(sessionToken, 1)
		peer.CloseWrite()
		r.await(ring.RecvEnded, sessionToken)
		r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
		r.never(ring.RecvEnded, sessionToken, 20*time.Millisecond)
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

// RecvStop ends the receive only: a send of the same token goes on.
func TestRecvStopLeavesTheSend(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		fill := r.put(pattern(fillBytes, 3))
		r.fillSocket(s, sessionToken, fill)
		r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
		if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrCanceled {
			r.Fatalf("%s: want it canceled", describe(e))
		}
		go io.Copy(io.Discard, peer)
		if e := r.await(ring.Sent, sessionToken); e.Err != ring.ErrNone {
			r.Fatalf("%s: want it sent", describe(e))
		}
		r.finish(s, sessionToken, false)
		r.arena.Release(fill.Block)
		r.nothingElse()
	})
}

func TestHalfClose(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		write(r, peer, []byte("last words"))
		peer.CloseWrite()
		if got := r.receive(sessionToken, 10); string(got) != "last words" {
			r.Fatalf("received %q", got)
		}
		if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrNone {
			r.Fatalf("%s: want the end of the stream", describe(e))
		}
		r.send(s, sessionToken, []byte("answer"))
		if got := readFull(r, peer, 6); string(got) != "answer" {
			r.Errorf("the peer got %q", got)
		}
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

// The end of the stream may come together with bytes that fill chunks exactly.
func TestEndOfStreamBehindFullChunks(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		write(r, peer, pattern(4*buf.ReceiveChunkBytes, 5))
		peer.CloseWrite()
		time.Sleep(10 * time.Millisecond)
		r.arm(s, sessionToken)
		if got := r.receive(sessionToken, 4*buf.ReceiveChunkBytes); !bytes.Equal(got, pattern(4*buf.ReceiveChunkBytes, 5)) {
			r.Fatal("other bytes than were sent")
		}
		if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrNone {
			r.Fatalf("%s: want the end of the stream", describe(e))
		}
		r.finish(s, sessionToken, false)
	})
}

func TestPeerResets(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		r.turn(ring.Wait{})
		reset(r, peer)
		if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrReset {
			r.Fatalf("%s: want a reset", describe(e))
		}
		p := r.put([]byte("x"))
		r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: []buf.Slice{p}})
		if e := r.await(ring.Sent, sessionToken); e.Err != ring.ErrReset || e.N != 0 {
			r.Fatalf("%s: want a reset", describe(e))
		}
		r.arena.Release(p.Block)
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

func TestSendWaitingWhenThePeerResets(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		fill := r.put(pattern(fillBytes, 3))
		r.fillSocket(s, sessionToken, fill)
		reset(r, peer)
		// Bytes that went out before the reset count; the next send tells.
		e := r.await(ring.Sent, sessionToken)
		if e.Err == ring.ErrNone {
			r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: []buf.Slice{fill}})
			e = r.await(ring.Sent, sessionToken)
		}
		if e.Err != ring.ErrReset {
			r.Fatalf("%s: want a reset", describe(e))
		}
		r.arena.Release(fill.Block)
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

// Shutdown makes everything end, with ErrCanceled, and the peer sees the end of the
// stream behind what was sent before.
func TestShutdownEndsOperations(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		want := pattern(fillBytes, 3)
		fill := r.put(want)
		n := r.fillSocket(s, sessionToken, fill)
		r.give(ring.Op{Kind: ring.OpShutdown, Socket: s})
		if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrCanceled {
			r.Errorf("%s: want it canceled", describe(e))
		}
		// What went out of the send in flight counts, else it is canceled.
		e := r.await(ring.Sent, sessionToken)
		if n+e.N >= fill.Len || (e.N > 0) != (e.Err == ring.ErrNone) || (e.N == 0) != (e.Err == ring.ErrCanceled) {
			r.Errorf("%s: want a short send, or a canceled one", describe(e))
		}
		r.give(ring.Op{Kind: ring.OpClose, Socket: s})
		r.turn(ring.Wait{})
		if got := readAll(r, peer); !bytes.Equal(got, want[:n+e.N]) {
			r.Errorf("the peer got %d bytes, %d were sent", len(got), n+e.N)
		}
		r.arena.Release(fill.Block)
		r.nothingElse()
	})
}

// Operations of one turn take effect in their order.
func TestSendThenShutdownInOneTurn(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		_, addr := r.listen(loopback, listenerToken)
		for range 20 {
			s, peer := r.connectTo(addr)
			r.arm(s, sessionToken)
			p := r.put([]byte("goodbye"))
			r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: []buf.Slice{p}})
			r.give(ring.Op{Kind: ring.OpShutdown, Socket: s})
			if e := r.await(ring.Sent, sessionToken); e.N != 7 {
				r.Fatalf("%s: want 7 bytes sent", describe(e))
			}
			if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrCanceled {
				r.Fatalf("%s: want it canceled", describe(e))
			}
			r.give(ring.Op{Kind: ring.OpClose, Socket: s})
			r.turn(ring.Wait{})
			if got := readAll(r, peer); string(got) != "goodbye" {
				r.Fatalf("the peer got %q", got)
			}
			r.arena.Release(p.Block)
		}
		r.nothingElse()
	})
}

func TestAcceptStopAndAgain(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := r.listen(loopback, listenerToken)
		s, _ := r.connectTo(addr)
		r.finish(s, sessionToken, false)
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		if e := r.await(ring.AcceptEnded, listenerToken); e.Err != ring.ErrCanceled {
			r.Fatalf("%s: want it canceled", describe(e))
		}
		dial(r, addr)
		r.never(ring.Accepted, listenerToken, 20*time.Millisecond)
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		r.finish(r.await(ring.Accepted, listenerToken).Socket, sessionToken, false)
		r.nothingElse()
	})
}

func TestMisuseIsAsserted(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, _ := r.pair()
		fill := r.put(pattern(fillBytes, 3))
		r.fillSocket(s, sessionToken, fill)
		r.arm(s, sessionToken)
		r.turn(ring.Wait{})
		for what, op := range map[string]ring.Op{
			"a second send":                 {Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: []buf.Slice{fill}},
			"a second recv":                 {Kind: ring.OpRecv, Socket: s, Token: sessionToken},
			"close with operations armed":   {Kind: ring.OpClose, Socket: s},
			"an operation nobody has named": {Kind: 99, Socket: s},
		} {
			if !panics(func() { r.Turn([]ring.Op{op}, ring.Wait{}, r.events) }) {
				r.Errorf("%s is accepted", what)
			}
		}
		r.give(ring.Op{Kind: ring.OpShutdown, Socket: s})
		r.await(ring.Sent, sessionToken)
		r.finish(s, sessionToken, true)
		r.arena.Release(fill.Block)
	})
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return
}

// pattern is n bytes that differ from those of another seed at any offset.
func pattern(n int, seed uint32) []byte {
	p := make([]byte, n)
	x := seed*2654435761 + 1
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// reset closes a peer's connection so that the other end gets a RST.
func reset(t testing.TB, peer *net.TCPConn) {
	t.Helper()
	if err := peer.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	peer.Close()
}

// fillSocket makes the buffer of a socket small and sends p until a send stays in
// flight for want of room. It returns how many bytes earlier sends took: the one in
// flight began behind them.
func (r *rig) fillSocket(s ring.Socket, token ring.Token, p buf.Slice) uint32 {
	r.Helper()
	r.setInt(s, unix.SOL_SOCKET, unix.SO_SNDBUF, 4096)
	var before uint32
	out := make([]buf.Slice, 2)
	for before < p.Len {
		out[0], out[1] = p.Sub(before, 1), p.Sub(before+1, p.Len-before-1)
		r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: token, Out: out})
		r.turn(ring.Wait{})
		// The list is the caller's again, whatever becomes of the send.
		out[0], out[1] = buf.Slice{}, buf.Slice{}
		r.turn(r.in(30 * time.Millisecond))
		e, ok := r.take(ring.Sent, token)
		if !ok {
			return before
		}
		before += e.N
	}
	r.Fatal("the socket does not fill up")
	return 0
}

package sys

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

// A number that comes back names a new socket: its events carry the new token only.
func TestSocketNumberComesBack(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := r.listen(loopback, listenerToken)
		s, peer := r.connectTo(addr)
		old := ring.MakeToken(ring.KindSession, 0, 0)
		for generation := range uint32(20) {
			token := ring.MakeToken(ring.KindSession, generation+1, 0)
			r.arm(s, old)
			write(r, peer, []byte("unread"))
			r.turn(ring.Wait{})
			if e, ok := r.take(ring.Received, old); ok {
				r.consume(e)
			}
			if generation%2 == 0 {
				peer.Close()
			}
			r.give(ring.Op{Kind: ring.OpShutdown, Socket: s})
			r.await(ring.RecvEnded, old)
			for e, ok := r.take(ring.Received, old); ok; e, ok = r.take(ring.Received, old) {
				r.consume(e)
			}
			_, peer = r.replace(l, addr, s, old, false)
			r.nothingElse()
			r.arm(s, token)
			write(r, peer, []byte("new"))
			if got := r.receive(token, 3); string(got) != "new" {
				r.Fatalf("received %q", got)
			}
			r.give(ring.Op{Kind: ring.OpRecvStop, Socket: s})
			r.await(ring.RecvEnded, token)
			old = ring.MakeToken(ring.KindSession, generation+2, 0)
		}
		r.finish(s, old, false)
		r.nothingElse()
		if n := r.Counters().Stale; n != 0 {
			r.Errorf("%d stale completions though every operation was waited for", n)
		}
	})
}

// What the kernel reports late, for a socket that is closed, is dropped, counted
// and gives its chunk back.
func TestLateCompletionIsDropped(t *testing.T) {
	r := newRig(t, EngineUring, rigOptions{chunks: 4})
	u := r.Engine.(*Uring)
	s, _ := r.pair()
	late := userData(makeUserData(actRecv, u.at(s).generation, s))
	r.finish(s, sessionToken, false)
	lent, tail := u.buffers.lent, u.buffers.tail
	var e ring.Event
	if u.complete(&cqe{userData: uint64(late), res: 5, flags: cqeBuffer | cqeMore | 0<<cqeBufferShift}, &e) {
		t.Errorf("a late completion became an event: %s", describe(e))
	}
	if u.buffers.lent != lent || u.buffers.tail != tail+1 {
		t.Errorf("%d chunks are lent, %d before; %d were given back, want 1", u.buffers.lent, lent, u.buffers.tail-tail)
	}
	late = makeUserData(actSend, late.generation(), s)
	if u.complete(&cqe{userData: uint64(late), res: 5}, &e) {
		t.Errorf("a late completion became an event: %s", describe(e))
	}
	if n := r.Counters().Stale; n != 2 {
		t.Errorf("%d stale completions counted, want 2", n)
	}
}

// A poll result that was on its way when its socket was closed likewise.
func TestLatePollResultIsDropped(t *testing.T) {
	r := newRig(t, EngineEpoll, rigOptions{})
	p := r.Engine.(*Epoll)
	s, _ := r.pair()
	generation := int32(p.at(s).generation)
	r.finish(s, sessionToken, false)
	p.note(&unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLHUP, Fd: int32(s), Pad: generation})
	if n := r.Counters().Stale; n != 1 {
		t.Errorf("%d stale results counted, want 1", n)
	}
	r.nothingElse()
}

// A cancellation that finds nothing, while the receive goes on, is tried again.
func TestLostCancellationIsRepeated(t *testing.T) {
	r := newRig(t, EngineUring, rigOptions{})
	u := r.Engine.(*Uring)
	s, _ := r.pair()
	r.arm(s, sessionToken)
	r.turn(ring.Wait{})
	state := u.at(s)
	state.toArm(armStopping) // as after a cancellation that the kernel has dropped
	var e ring.Event
	cancel := makeUserData(actCancel, state.generation, s)
	if u.complete(&cqe{userData: uint64(cancel), res: -int32(unix.ENOENT)}, &e) {
		t.Fatalf("the result of a cancellation became an event: %s", describe(e))
	}
	if e := r.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrCanceled {
		t.Errorf("%s: want it canceled", describe(e))
	}
	r.finish(s, sessionToken, false)
}

// A listener may move to another engine; each wants another mode of it.
func TestListenerMovesToAnotherEngine(t *testing.T) {
	uring, epoll := newRig(t, EngineUring, rigOptions{}), newRig(t, EngineEpoll, rigOptions{})
	l, err := Listen(loopback, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer Close(l)
	addr := LocalAddr(l)
	for _, r := range []*rig{uring, epoll, uring, epoll} {
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		s, _ := r.connectTo(addr)
		r.finish(s, sessionToken, false)
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		r.await(ring.AcceptEnded, listenerToken)
		r.nothingElse()
	}
}

// leaveDescriptors lowers the limit on descriptors so that n more can be opened.
func leaveDescriptors(t testing.TB, n int) (restore func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// Descriptors are handed out from the lowest up: fill the gaps first.
	probe, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	fillers := []int{probe}
	for highest := highestDescriptor(t); probe <= highest; {
		if probe, err = unix.Dup(0); err != nil {
			t.Fatal(err)
		}
		fillers = append(fillers, probe)
	}
	lowered := unix.Rlimit{Cur: uint64(probe + 1 + n), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lowered); err != nil {
		t.Fatal(err)
	}
	return func() {
		for _, fd := range fillers {
			unix.Close(fd)
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
}

// Without descriptors accepting ends, and connecting fails; with descriptors back
// both work again and no connection is lost.
func TestDescriptorsRunOut(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := r.listen(loopback, listenerToken)
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		r.await(ring.AcceptEnded, listenerToken)
		for range 3 {
			dial(r, addr)
		}
		restore := leaveDescriptors(r, 1)
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		first := r.await(ring.Accepted, listenerToken).Socket
		if e := r.await(ring.AcceptEnded, listenerToken); e.Err != ring.ErrDescriptors {
			r.Errorf("%s: want no descriptors", describe(e))
		}
		r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: addr})
		if e := r.await(ring.Connected, pipeToken); e.Err != ring.ErrDescriptors || e.Socket != ring.NoSocket {
			r.Errorf("%s: want no descriptors", describe(e))
		}
		restore()
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		for _, s := range []ring.Socket{first, r.await(ring.Accepted, listenerToken).Socket, r.await(ring.Accepted, listenerToken).Socket} {
			r.finish(s, sessionToken, false)
		}
		r.nothingElse()
	})
}

// An engine that is closed with receives armed leaves the memory alone.
func TestCloseEndsArmedReceives(t *testing.T) {
	for _, e := range engines {
		memory := make(buf.HeapMemory, 64*chunk)
		arena, err := buf.NewArena(memory, 32)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, e.engine, rigOptions{Options: e.options})
		var second Engine
		if e.engine == EngineUring {
			second, err = NewUring(arena, memory, e.options)
		} else {
			second, err = NewEpoll(arena, e.options)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, peer := r.pair()
		second.Turn([]ring.Op{{Kind: ring.OpRecv, Socket: s, Token: sessionToken}}, ring.Wait{}, r.events)
		second.Close()
		clear(memory)
		write(t, peer, pattern(3*chunk, 9))
		time.Sleep(20 * time.Millisecond)
		for i, b := range memory {
			if b != 0 {
				t.Errorf("%s: byte %d was written after Close", e.name, i)
				break
			}
		}
		r.arm(s, sessionToken)
		if got := r.receive(sessionToken, 3*chunk); string(got) != string(pattern(3*chunk, 9)) {
			t.Errorf("%s: other bytes than were sent", e.name)
		}
		r.finish(s, sessionToken, true)
	}
}

func TestEnginesCloseTheirDescriptors(t *testing.T) {
	for _, e := range engines {
		before := openDescriptors(t)
		t.Run(e.name, func(t *testing.T) {
			r := newRig(t, e.engine, rigOptions{Options: e.options})
			r.turn(ring.Wait{})
		})
		if after := openDescriptors(t); after != before {
			t.Errorf("%s: %d descriptors are open, %d before", e.name, after, before)
		}
	}
}

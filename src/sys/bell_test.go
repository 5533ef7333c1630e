package sys

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

// ring gives an OpBell for another engine.
func (r *rig) ring(other *rig) { r.give(ring.Op{Kind: ring.OpBell, Socket: other.Bell()}) }

// A bell ends the wait of the other engine, and is no event of this one.
func TestBellEndsTheWaitOfAnotherEngine(t *testing.T) {
	const rounds = 20
	conformance(t, rigOptions{}, func(r *rig) {
		woken := make(chan int64, 1)
		other, join := r.beside(func(other *rig) {
			for range rounds {
				other.await(ring.Woken, 0)
				woken <- Now()
				other.got = other.got[:0]
			}
			other.nothingElse()
		})
		for i := range rounds {
			if i%2 == 0 {
				time.Sleep(2 * time.Millisecond) // it waits by now, most likely
			}
			start := Now()
			r.ring(other)
			r.turn(ring.Wait{})
			if took := time.Duration(hear(r, woken) - start); took < 0 || took > time.Second {
				r.Errorf("woken after %s", took)
			}
		}
		join()
		r.nothingElse()
	})
}

// No bell is lost, however turns and waits of two engines interleave that ring each other.
func TestEveryBellIsSeen(t *testing.T) {
	const posts = 3000
	conformance(t, rigOptions{}, func(r *rig) {
		var posted, seen atomic.Int64
		other, join := r.beside(func(other *rig) {
			for n := int64(0); n < posts; {
				other.await(ring.Woken, 0)
				other.got = other.got[:0]
				n = posted.Load()
				seen.Store(n)
				other.ring(r)
				other.turn(ring.Wait{})
			}
		})
		for i := int64(1); i <= posts; i++ {
			posted.Store(i)
			r.ring(other)
			if i%64 == 0 {
				r.ring(other)
				r.turn(ring.Wait{})
				time.Sleep(50 * time.Microsecond)
			}
			for first := true; first || seen.Load() < i-2; first = false {
				r.await(ring.Woken, 0)
				r.got = r.got[:0]
			}
		}
		join()
	})
}

// A gathering wait counts a bell as one event.
func TestBellInAGatheringWait(t *testing.T) {
	for _, e := range engines[:2] {
		t.Run(e.name, func(t *testing.T) {
			r := newRig(t, e.engine, rigOptions{Options: e.options})
			s, peer := r.pair()
			type outcome struct {
				events int
				took   time.Duration
			}
			waits, outcomes := make(chan ring.Wait, 1), make(chan outcome, 1)
			other, join := r.beside(func(other *rig) {
				other.arm(s, sessionToken)
				for w := range waits {
					start := Now()
					n := other.turn(w)
					outcomes <- outcome{n, time.Duration(Now() - start)}
				}
				other.receive(sessionToken, 1)
				other.finish(s, sessionToken, true)
			})
			bell := func() {
				r.ring(other)
				r.turn(ring.Wait{})
			}
			for _, c := range []struct {
				what   string
				wait   ring.Wait
				happen func()
				want   outcome // at least so long
			}{
				{"with bytes", ring.Wait{Deadline: ring.Forever, Min: 2, Window: 900e6}, func() {
					bell()
					time.Sleep(2 * time.Millisecond)
					write(r, peer, []byte("x"))
				}, outcome{2, 0}},
				{"alone", ring.Wait{Deadline: ring.Forever, Min: 2, Window: 60e6}, bell, outcome{1, 50 * time.Millisecond}},
				{"behind the window", ring.Wait{Deadline: ring.Forever, Min: 2, Window: 1e6}, func() {
					time.Sleep(100 * time.Millisecond)
					bell()
				}, outcome{1, 80 * time.Millisecond}},
			} {
				waits <- c.wait
				c.happen()
				if got := hear(r, outcomes); got.events != c.want.events || got.took < c.want.took || got.took > c.want.took+500*time.Millisecond {
					t.Errorf("%s: %d events after %s", c.what, got.events, got.took)
				}
			}
			close(waits)
			join()
			r.nothingElse()
		})
	}
}

// Bells of an engine that does not turn, until its queues are full and beyond, do no harm to
// either side, and the first turn sees them.
func TestBellsOfAFullQueue(t *testing.T) {
	o := rigOptions{Options: Options{submissions: 4, completions: 8}}
	conformance(t, o, func(r *rig) {
		begin, begun := make(chan bool, 1), make(chan bool, 1)
		other, join := r.beside(func(other *rig) {
			hear(other, begin)
			other.await(ring.Woken, 0)
			for woken := true; woken; { // several bells may yield one event or more
				other.got = other.got[:0]
				woken = other.turn(ring.Wait{}) > 0
			}
			begun <- true
			other.await(ring.Woken, 0)
		})
		for range 20 {
			for range 50 {
				r.ring(other)
			}
			r.turn(ring.Wait{})
		}
		r.nothingElse()
		begin <- true
		hear(r, begun)
		r.ring(other)
		r.turn(ring.Wait{})
		join()
		r.nothingElse()
	})
}

// Bells for a worker that has turned for the last time, whose engine is still open and then
// closed, are lost without harm.
func TestBellsOfAnEngineThatHasEnded(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		other, join := r.beside(func(*rig) {})
		r.ring(other)
		r.turn(ring.Wait{})
		bell := other.Bell()
		join()
		r.give(ring.Op{Kind: ring.OpBell, Socket: bell})
		r.turn(ring.Wait{})
		s, peer := r.pair()
		r.send(s, sessionToken, []byte("still here"))
		readFull(r, peer, 10)
		r.finish(s, sessionToken, false)
		r.nothingElse()
	})
}

// A bell goes with the other operations of its turn: with messages that is one system call,
// and it allocates nothing.
func TestBellIsPartOfTheTurn(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		seen := make(chan bool, 1)
		other, join := r.beside(func(other *rig) {
			other.await(ring.Woken, 0)
			seen <- true
		})
		s, peer := r.pair()
		p := r.put([]byte("x"))
		before := r.Counters().Waits
		r.ring(other)
		r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: []buf.Slice{p}})
		r.ring(other)
		if n := r.turn(ring.Wait{Deadline: ring.Forever}); n != 1 {
			r.Errorf("%d events of a send between two bells: %s", n, r.describe())
		}
		if n := r.Counters().Waits - before; n != 1 {
			r.Errorf("%d waits", n)
		}
		hear(r, seen)
		ops := []ring.Op{{Kind: ring.OpBell, Socket: other.Bell()}}
		if n := testing.AllocsPerRun(100, func() { r.Turn(ops, ring.Wait{}, r.events) }); n != 0 {
			r.Errorf("a turn with a bell allocates %v times", n)
		}
		if u, ok := r.Engine.(*Uring); ok {
			before := atomic.LoadUint32(u.q.cqTail)
			r.Turn(ops, ring.Wait{}, r.events)
			if n := atomic.LoadUint32(u.q.cqTail) - before; n != 0 {
				r.Errorf("a bell has %d completions in the ring that gave it", n)
			}
		}
		join()
		r.await(ring.Sent, sessionToken)
		readFull(r, peer, 1)
		r.arena.Release(p.Block)
		r.finish(s, sessionToken, false)
	})
}

// The kernel's memory for a message may be short: it is sent again.
func TestFailedBellIsRepeated(t *testing.T) {
	r := newRig(t, EngineUring, rigOptions{})
	u := r.Engine.(*Uring)
	if features, err := ProbeUring(); err != nil || u.message != features.Message {
		t.Errorf("the engine sends messages: %v, the probe says %+v, %v", u.message, features, err)
	}
	other, join := r.beside(func(other *rig) {
		other.await(ring.Woken, 0)
		other.nothingElse()
	})
	var e ring.Event
	for _, errno := range []unix.Errno{unix.EBADFD, unix.ENOMEM, unix.EOWNERDEAD} {
		failed := cqe{userData: uint64(makeUserData(actBell, 0, other.Bell())), res: -int32(errno)}
		if u.complete(&failed, &e) {
			t.Errorf("%s: an event: %s", errno, describe(e))
		}
	}
	r.turn(ring.Wait{})
	join()
}

// Linux 6.10 and later wake a ring like ours by a message: there the trial must say so.
func TestMessagesWork(t *testing.T) {
	var major, minor int
	if _, err := fmt.Sscanf(kernelRelease(), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	if recent := major > 6 || major == 6 && minor >= 10; recent && !messageWorks() {
		t.Errorf("messages do not work on Linux %s", kernelRelease())
	}
}

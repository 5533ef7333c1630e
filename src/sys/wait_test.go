package sys

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

func TestDeadline(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		for _, d := range []time.Duration{3 * time.Millisecond, 60 * time.Millisecond} {
			start := Now()
			n := r.turn(ring.Wait{Deadline: start + int64(d)})
			took := time.Duration(Now() - start)
			if n != 0 || took < d || took > d+500*time.Millisecond {
				r.Errorf("a turn with a deadline in %s took %s and gave %d events", d, took, n)
			}
			if late := r.Now() - start; late < int64(d) || late > int64(took) {
				r.Errorf("Now is %d ns after the start, the turn took %s", late, took)
			}
		}
	})
}

// TestLongWaitIsLeftAlone: an engine that waits long is interrupted a few times, not every
// 10 ms.
func TestLongWaitIsLeftAlone(t *testing.T) {
	const most = 20
	sleeps := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return u.Nvcsw
	}
	conformance(t, rigOptions{}, func(r *rig) {
		before := sleeps()
		r.turn(r.in(time.Second))
		if n := sleeps() - before; n < 1 || n > most {
			r.Errorf("the thread has gone to sleep %d times within a second", n)
		}
	})
}

func TestDeadlineInThePastDoesNotBlock(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		for _, w := range []ring.Wait{{}, {Deadline: 1}, {Deadline: Now()}, {Min: 32, Window: 1e9}, {Deadline: 1, Min: 32, Window: 1e9}} {
			start := Now()
			if n := r.turn(w); n != 0 {
				r.Errorf("%d events out of nothing", n)
			}
			if took := time.Duration(Now() - start); took > 500*time.Millisecond {
				r.Errorf("%+v blocked for %s", w, took)
			}
		}
	})
}

func TestWakeFromAnotherThread(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		for range 3 {
			go func() {
				time.Sleep(20 * time.Millisecond)
				r.Wake()
			}()
			start := Now()
			if n := r.turn(ring.Wait{Deadline: ring.Forever}); n != 1 {
				r.Fatalf("%d events: %s", n, r.describe())
			}
			if took := time.Duration(Now() - start); took < 15*time.Millisecond {
				r.Errorf("woken after %s, before the call of Wake", took)
			}
			r.take(ring.Woken, 0)
		}
		r.nothingElse()
	})
}

func TestWakeBeforeTheWait(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		for range 5 {
			r.Wake()
			r.Wake()
			r.turn(ring.Wait{Deadline: ring.Forever})
			if _, ok := r.take(ring.Woken, 0); !ok {
				r.Fatalf("events: %s", r.describe())
			}
			for ok := true; ok; { // several calls may yield one event or more
				r.turn(ring.Wait{})
				_, ok = r.take(ring.Woken, 0)
			}
			r.nothingElse()
		}
	})
}

// No wake is lost, however calls and waits interleave.
func TestEveryWakeIsSeen(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		var posted atomic.Int64
		const posts = 3000
		go func() {
			for i := range posts {
				posted.Add(1)
				r.Wake()
				if i%64 == 0 {
					time.Sleep(50 * time.Microsecond)
				}
			}
		}()
		limit := time.Now().Add(patience)
		for posted.Load() < posts {
			r.turn(r.in(patience))
			if _, ok := r.take(ring.Woken, 0); !ok || time.Now().After(limit) {
				r.Fatalf("stuck with %d of %d posted; events: %s", posted.Load(), posts, r.describe())
			}
			r.got = r.got[:0]
		}
	})
}

// gathered sets up connections whose peers write one byte each when told.
func gathered(r *rig, count int) (peers []*net.TCPConn, finish func()) {
	_, addr := r.listen(loopback, listenerToken)
	sockets := make([]ring.Socket, count)
	for i := range sockets {
		s, peer := r.connectTo(addr)
		sockets[i] = s
		peers = append(peers, peer)
		r.arm(s, ring.MakeToken(ring.KindSession, 0, uint32(i)))
	}
	r.turn(ring.Wait{})
	return peers, func() {
		for _, e := range r.got {
			if e.Kind == ring.Received {
				r.consume(e)
			}
		}
		r.got = r.got[:0]
		for i, s := range sockets {
			r.finish(s, ring.MakeToken(ring.KindSession, 0, uint32(i)), true)
		}
	}
}

func TestWindowGathersEvents(t *testing.T) {
	for _, e := range engines[:2] {
		t.Run(e.name, func(t *testing.T) {
			r := newRig(t, e.engine, rigOptions{Options: e.options})
			const count = 8
			peers, finish := gathered(r, count)

			// All within the window: one turn has them all.
			var writer sync.WaitGroup
			defer writer.Wait()
			writer.Go(func() {
				for _, peer := range peers {
					peer.Write([]byte("x"))
					time.Sleep(2 * time.Millisecond)
				}
			})
			if n := r.turn(ring.Wait{Deadline: ring.Forever, Min: count, Window: 5e9}); n != count {
				r.Errorf("%d events in a turn that gathers %d", n, count)
			}

			// Some: the window ends the turn.
			write(r, peers[0], []byte("x"))
			write(r, peers[1], []byte("x"))
			start := Now()
			n := r.turn(ring.Wait{Deadline: ring.Forever, Min: count, Window: 60e6})
			if took := time.Duration(Now() - start); n != 2 || took < 50*time.Millisecond || took > time.Second {
				r.Errorf("%d events after %s, want 2 after 60 ms", n, took)
			}

			// One after the window: it ends the turn at once.
			writer.Go(func() {
				time.Sleep(100 * time.Millisecond)
				peers[0].Write([]byte("x"))
			})
			start = Now()
			n = r.turn(ring.Wait{Deadline: ring.Forever, Min: count, Window: 1e6})
			if took := time.Duration(Now() - start); n != 1 || took < 80*time.Millisecond || took > 2*time.Second {
				r.Errorf("%d events after %s, want 1 after 100 ms", n, took)
			}

			// The deadline goes before the window.
			start = Now()
			n = r.turn(ring.Wait{Deadline: start + 30e6, Min: count, Window: 5e9})
			if took := time.Duration(Now() - start); n != 0 || took < 30*time.Millisecond || took > time.Second {
				r.Errorf("%d events after %s, want none after 30 ms", n, took)
			}
			finish()
			r.nothingElse()
		})
	}
}

// However long nothing happens, the engine does not spin. The scheduler's signals
// interrupt a wait up to some hundred times a second.
func TestIdleWaitDoesNotSpin(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		_, finish := gathered(r, 4)
		for _, w := range []ring.Wait{{}, {Min: 32, Window: 250_000}} {
			before := r.Counters().Waits
			start := Now()
			w.Deadline = start + 500e6
			r.turn(w)
			if n := r.Counters().Waits - before; n > 150 {
				r.Errorf("%d system calls in half a second of idling with %+v", n, w)
			}
		}
		finish()
	})
}

// A collection completes while the engine waits, and the engine's waits survive
// collections.
func TestGarbageCollectionWhileWaiting(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		collections := make(chan time.Duration)
		go func() {
			for range 10 {
				start := time.Now()
				runtime.GC()
				collections <- time.Since(start)
			}
			close(collections)
			r.Wake()
		}()
		var worst time.Duration
		var drained sync.WaitGroup
		drained.Go(func() {
			for d := range collections {
				worst = max(worst, d)
			}
		})
		limit := time.Now().Add(patience)
		for {
			r.turn(ring.Wait{Deadline: Now() + int64(patience)})
			if _, ok := r.take(ring.Woken, 0); ok {
				break
			}
			if time.Now().After(limit) {
				r.Fatal("the collections do not come to an end")
			}
		}
		drained.Wait()
		if worst > 2*time.Second {
			r.Errorf("a collection took %s", worst)
		}
	})
}

func TestEchoUnderGarbageCollection(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		stop := make(chan struct{})
		var collector sync.WaitGroup
		collector.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		})
		r.arm(s, sessionToken)
		for i := range 300 {
			want := pattern(500, uint32(i))
			write(r, peer, want)
			r.send(s, sessionToken, r.receive(sessionToken, 500))
			if got := readFull(r, peer, 500); string(got) != string(want) {
				r.Fatalf("round %d: other bytes came back", i)
			}
		}
		close(stop)
		collector.Wait()
		r.finish(s, sessionToken, true)
	})
}

// A turn whose operations yield events at once does not wait for others.
func TestTurnWithEventsAtOnce(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		p := r.put([]byte("x"))
		start := Now()
		for range 100 {
			r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: sessionToken, Out: []buf.Slice{p}})
			if n := r.turn(ring.Wait{Deadline: ring.Forever}); n != 1 {
				r.Fatalf("%d events: %s", n, r.describe())
			}
			r.take(ring.Sent, sessionToken)
		}
		if took := time.Duration(Now() - start); took > 300*time.Millisecond {
			r.Errorf("the turns took %s", took)
		}
		readFull(r, peer, 100)
		r.arena.Release(p.Block)
		r.finish(s, sessionToken, false)
	})
}

// Events beyond the room of one turn come with the next ones, which do not wait.
func TestEventsBeyondTheRoom(t *testing.T) {
	conformance(t, rigOptions{events: 3, chunks: 512}, func(r *rig) {
		const count = 200
		peers, finish := gathered(r, count)
		for _, peer := range peers {
			write(r, peer, []byte("x"))
		}
		time.Sleep(10 * time.Millisecond)
		start := Now()
		for events := 0; events < count; {
			n := r.turn(ring.Wait{Deadline: ring.Forever, Min: 32, Window: 5e9})
			if n < 1 || n > 3 {
				r.Fatalf("%d events in a turn with room for 3", n)
			}
			events += n
		}
		// The scheduler's signals end a wait too, some ten milliseconds later.
		if took := time.Duration(Now() - start); took > 300*time.Millisecond {
			r.Errorf("the turns took %s", took)
		}
		finish()
		r.nothingElse()
	})
}

// CPU counts what the thread does, not what it waits.
func TestCPUCountsWorkOnly(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		before := r.CPU()
		r.turn(ring.Wait{Deadline: Now() + 200e6})
		waited := r.CPU() - before
		before = r.CPU()
		start := Now()
		for Now()-start < 20e6 || r.CPU()-before < 10e6 && Now()-start < int64(patience) {
		}
		// Others may use the processor meanwhile, so the work goes on until some of it is counted.
		if worked, took := r.CPU()-before, Now()-start; waited > 50e6 || worked < 10e6 || worked > took {
			r.Errorf("%d ns of CPU time for a wait of 200 ms, %d for %d ns of work", waited, worked, took)
		}
	})
}

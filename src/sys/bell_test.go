package sys

import (
	"sync/atomic"
	"testing"
	"time"

	"mithril/src/ring"
)

// ring gives an OpBell for another engine.
func (r *rig) ring(other *rig) { r.give(ring.Op{Kind: ring.OpBell, Socket: other.Bell()}) }

// A bell ends the wait of the other engine, and is no event of this one.
func TestBellEndsTheWaitOfAnotherEngine(t *testing.T) {
	const rounds = 20
	conformance(t, rigOptions{}, func(r *rig) {
		woken := make(chan int64)
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
			if took := time.Duration(<-woken - start); took < 0 || took > time.Second {
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

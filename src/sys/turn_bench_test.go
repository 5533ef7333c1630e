package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mithril/src/buf"
	"mithril/src/ring"
)

// volley bats messages to and fro on connections whose both ends are in the same
// engine: every message received is sent back, by reference, in the next turn.
type volley struct {
	*rig
	slots []volleySlot
	moved int
}

type volleySlot struct {
	socket   ring.Socket
	inFlight [1]buf.Slice
}

func newVolley(r *rig, pairs, size int) *volley {
	_, addr := r.listen(loopback, listenerToken)
	v := &volley{rig: r}
	for range pairs {
		r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: addr})
		connected := r.await(ring.Connected, pipeToken).Socket
		accepted := r.await(ring.Accepted, listenerToken).Socket
		for _, s := range []ring.Socket{connected, accepted} {
			r.arm(s, v.token(len(v.slots)))
			v.slots = append(v.slots, volleySlot{socket: s})
		}
	}
	r.ops = append(make([]ring.Op, 0, 4*pairs), r.ops...)
	for i := 0; i < len(v.slots); i += 2 {
		v.send(i, r.put(pattern(size, uint32(i))))
	}
	return v
}

func (v *volley) token(i int) ring.Token { return ring.MakeToken(ring.KindSession, 0, uint32(i)) }

func (v *volley) send(i int, s buf.Slice) {
	slot := &v.slots[i]
	slot.inFlight[0] = s
	v.give(ring.Op{Kind: ring.OpSend, Socket: slot.socket, Token: v.token(i), Out: slot.inFlight[:]})
}

// turn is one turn of a worker.
func (v *volley) turn() {
	n := v.Turn(v.ops, ring.Wait{Deadline: ring.Forever, Min: len(v.slots) / 2, Window: 250_000}, v.events)
	v.ops = v.ops[:0]
	for i := range v.events[:n] {
		e := &v.events[i]
		switch slot := int(e.Token.Index()); e.Kind {
		case ring.Received:
			v.moved++
			v.send(slot, e.Data)
		case ring.Sent:
			v.arena.Release(v.slots[slot].inFlight[0].Block)
		default:
			v.Fatalf("unexpected event: %s", describe(*e))
		}
	}
}

// finish lets the messages in flight arrive and closes everything.
func (v *volley) finish() {
	for len(v.ops) > 0 { // what would be sent next is dropped
		last := len(v.ops) - 1
		v.arena.Release(v.ops[last].Out[0].Block)
		v.ops = v.ops[:last]
	}
	for i := range v.slots {
		v.give(ring.Op{Kind: ring.OpShutdown, Socket: v.slots[i].socket})
	}
	for open := len(v.slots); open > 0; {
		v.rig.turn(v.in(time.Second))
		for _, e := range v.got {
			switch e.Kind {
			case ring.Received:
				v.consume(e)
			case ring.Sent:
				v.arena.Release(v.slots[e.Token.Index()].inFlight[0].Block)
			case ring.RecvEnded:
				v.give(ring.Op{Kind: ring.OpClose, Socket: v.slots[e.Token.Index()].socket})
				open--
			}
		}
		v.got = v.got[:0]
	}
	v.rig.turn(ring.Wait{})
}

func TestTurnDoesNotAllocate(t *testing.T) {
	conformance(t, rigOptions{chunks: 256, events: 512}, func(r *rig) {
		v := newVolley(r, 20, 200)
		for range 50 {
			v.turn()
		}
		if n := testing.AllocsPerRun(300, v.turn); n != 0 {
			t.Errorf("a turn allocates %v times", n)
		}
		v.finish()
	})
}

// BenchmarkVolley moves one message per operation, by a send and a receive:
// cpu-ns/msg is the CPU time of both with the kernel's part, waits/msg the system
// calls for submitting and waiting.
func BenchmarkVolley(b *testing.B) {
	for _, e := range engines {
		for _, pairs := range []int{1, 50} {
			b.Run(fmt.Sprintf("%s/pairs=%d", e.name, pairs), func(b *testing.B) {
				r := newRig(b, e.engine, rigOptions{Options: e.options, chunks: 1024, events: 1024})
				v := newVolley(r, pairs, 64)
				for range 100 {
					v.turn()
				}
				v.moved = 0
				waits, cpu := r.Counters().Waits, cpuTime(b)
				b.ReportAllocs()
				b.ResetTimer()
				for v.moved < b.N {
					v.turn()
				}
				b.StopTimer()
				b.ReportMetric(float64(cpuTime(b)-cpu)/float64(v.moved), "cpu-ns/msg")
				b.ReportMetric(float64(r.Counters().Waits-waits)/float64(v.moved), "waits/msg")
				v.finish()
			})
		}
	}
}

// cpuTime is how long this thread has run, in nanoseconds, by the scheduler's count.
func cpuTime(t testing.TB) int64 {
	t.Helper()
	stat, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	ran, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ran
}

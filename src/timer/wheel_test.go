package timer

import (
	"slices"
	"testing"
	"time"
)

const (
	tick  = int64(1) << tickBits
	msec  = int64(time.Millisecond)
	start = 987654321 * msec
)

// A wait as short as a redirect's ends when it should, wherever in a tick it begins.
func TestShortTimersAreAtMostOneTickLate(t *testing.T) {
	for offset := int64(0); offset < 3*tick; offset += tick / 7 {
		now := start + offset
		w := New(now, 1)
		at := now + 2*msec
		w.Arm(at, 7)
		if fired := w.Expire(at-1, nil); len(fired) != 0 {
			t.Fatalf("offset %d: fired early", offset)
		}
		wake, ok := w.Next()
		if !ok || wake < at || wake > at+tick {
			t.Fatalf("offset %d: wakes %d ns after the deadline, ok %v", offset, wake-at, ok)
		}
		if fired := w.Expire(wake, nil); !slices.Equal(fired, []uint64{7}) || w.Len() != 0 {
			t.Fatalf("offset %d: fired %v, %d left", offset, fired, w.Len())
		}
	}
}

// Following Next alone, every timer fires within a tick of its deadline and after few wakes, near or far.
func TestNextLeadsToEveryTimer(t *testing.T) {
	for shift := range 62 {
		for _, extra := range []int64{0, 1, tick - 1, tick, tick + 1, 12345678} {
			at := min(start+1<<shift+extra, horizon)
			w := New(start, 1)
			w.Arm(at, 1)
			wakes := 0
			for {
				now, ok := w.Next()
				if wakes++; !ok || wakes > levels {
					t.Fatalf("deadline in 2^%d+%d ns: %d wakes, ok %v", shift, extra, wakes, ok)
				}
				if fired := w.Expire(now, nil); len(fired) > 0 {
					if now < at || now > at+tick {
						t.Fatalf("deadline in 2^%d+%d ns: fired %d ns after it", shift, extra, now-at)
					}
					break
				}
			}
			if _, ok := w.Next(); ok {
				t.Fatal("an empty wheel names a time")
			}
		}
	}
}

func TestTimersFireTickByTick(t *testing.T) {
	w := New(start, 0)
	for _, ms := range []int64{500, 3, 70_000, 20, 1, 300_000, 9} {
		w.Arm(start+ms*msec, uint64(ms))
	}
	got := w.Expire(start+100_000*msec, nil)
	if want := []uint64{1, 3, 9, 20, 500, 70_000}; !slices.Equal(got, want) {
		t.Errorf("fired %v, want %v", got, want)
	}
	if got = w.Expire(start+300_001*msec, got[:0]); !slices.Equal(got, []uint64{300_000}) {
		t.Errorf("fired %v", got)
	}
}

func TestPastDeadlinesFireAtOnce(t *testing.T) {
	w := New(start, 0)
	w.Arm(start-1000*msec, 1)
	w.Arm(-5, 2)
	if at, ok := w.Next(); !ok || at > start {
		t.Errorf("next at %d, ok %v", at-start, ok)
	}
	if got := w.Expire(start, nil); len(got) != 2 {
		t.Errorf("fired %v", got)
	}
}

func TestStaleHandlesCancelNothing(t *testing.T) {
	w := New(start, 0)
	a := w.Arm(start+msec, 1)
	if !w.Cancel(a) || w.Cancel(a) {
		t.Error("a timer is cancelled once")
	}
	b := w.Arm(start+msec, 2) // takes the same place
	if a == b || w.Cancel(a) {
		t.Error("an old handle reaches the new timer")
	}
	w.Expire(start+2*msec, nil)
	for _, h := range []Handle{b, 0, 1 << 32, 1<<32 | 99, 2<<32 | 1} {
		if w.Cancel(h) {
			t.Errorf("handle %x cancels something", h)
		}
	}
	if w.Len() != 0 {
		t.Errorf("%d armed", w.Len())
	}
}

// Timers of one slot are cancelled in every order; the others fire.
func TestCancelWithinASlot(t *testing.T) {
	const timers = 4
	for order := range timers * timers * timers {
		w := New(start, 0)
		var handles [timers]Handle
		for i := range handles {
			handles[i] = w.Arm(start+10*msec, uint64(i))
		}
		want := []uint64{0, 1, 2, 3}
		for picks := order; picks > 0; picks /= timers {
			i := uint64(picks % timers)
			at := slices.Index(want, i)
			if w.Cancel(handles[i]) != (at >= 0) {
				t.Fatalf("order %d: timer %d is armed: %v", order, i, at < 0)
			}
			if at >= 0 {
				want = slices.Delete(want, at, at+1)
			}
		}
		got := w.Expire(start+11*msec, nil)
		slices.Sort(got)
		if !slices.Equal(got, want) || w.Len() != 0 {
			t.Errorf("order %d: fired %v, want %v; %d left", order, got, want, w.Len())
		}
	}
}

func TestTimeDoesNotGoBack(t *testing.T) {
	w := New(start, 0)
	w.Expire(start+5*tick, nil)
	defer func() {
		if recover() == nil {
			t.Error("accepted")
		}
	}()
	w.Expire(start+4*tick, nil)
}

func TestWheelDoesNotAllocate(t *testing.T) {
	const timers = 1000
	w, now, fired := New(start, timers), start, make([]uint64, 0, timers)
	var handles [timers]Handle
	if n := testing.AllocsPerRun(50, func() {
		for i := range handles {
			handles[i] = w.Arm(now+int64(i*i)*msec/10, uint64(i))
		}
		for i := 0; i < timers; i += 2 {
			w.Cancel(handles[i])
		}
		now += 1_000_000 * msec
		fired = w.Expire(now, fired[:0])
	}); n != 0 || len(fired) != timers/2 {
		t.Errorf("%v allocations, %d fired", n, len(fired))
	}
}

// model is the same thing as a list.
type model struct {
	timers []modelTimer
}

type modelTimer struct {
	at      int64
	tick    int64 // at which it is due: of its deadline, or the one in which it was armed
	payload uint64
	handle  Handle
}

// Arming, cancelling and expiring in any order does what a plain list does, to the tick.
func FuzzWheelAgainstList(f *testing.F) {
	f.Add([]byte{0, 10, 1, 0, 40, 2, 2, 30, 0, 1, 0, 0, 2, 50, 0})
	f.Add([]byte{0, 61, 255, 0, 18, 0, 0, 17, 9, 2, 62, 1, 1, 1, 0, 2, 62, 200})
	f.Add([]byte{0, 20, 1, 0, 21, 1, 0, 24, 1, 0, 30, 1, 0, 36, 1, 2, 24, 9, 2, 30, 1, 2, 36, 1})
	f.Fuzz(func(t *testing.T, program []byte) {
		now := start
		w := New(now, 0)
		var m model
		var stale []Handle
		for serial := uint64(0); len(program) >= 3; program, serial = program[3:], serial+1 {
			span := int64(program[2])<<(program[1]%50) + int64(program[1])
			switch program[0] % 3 {
			case 0:
				at := now + span - 1000
				due := max((at+tick-1)/tick, now/tick)
				m.timers = append(m.timers, modelTimer{at, due, serial, w.Arm(at, serial)})
			case 1:
				if len(m.timers) > 0 {
					i := int(program[1]) % len(m.timers)
					if !w.Cancel(m.timers[i].handle) {
						t.Fatalf("timer %d is not armed", m.timers[i].payload)
					}
					stale = append(stale, m.timers[i].handle)
					m.timers = slices.Delete(m.timers, i, i+1)
				}
			case 2:
				if now+span > horizon-tick {
					return
				}
				now += span
				stale = append(stale, m.expire(t, w, now)...)
			}
			if w.Len() != len(m.timers) {
				t.Fatalf("%d armed, want %d", w.Len(), len(m.timers))
			}
			for _, h := range stale {
				if w.Cancel(h) {
					t.Fatalf("stale handle %x cancels something", h)
				}
			}
		}
	})
}

// expire expires the wheel and checks what fired against the list. It returns the handles that are stale now.
func (m *model) expire(t *testing.T, w *Wheel, now int64) (stale []Handle) {
	var left []modelTimer
	due := map[uint64]modelTimer{}
	for _, timer := range m.timers {
		if timer.tick <= now/tick {
			due[timer.payload] = timer
			stale = append(stale, timer.handle)
		} else {
			left = append(left, timer)
		}
	}
	last := int64(0)
	for _, payload := range w.Expire(now, nil) {
		timer, ok := due[payload]
		if !ok || timer.at > now {
			t.Fatalf("timer %d fires %d ns early", payload, timer.at-now)
		}
		delete(due, payload)
		if timer.tick < last {
			t.Fatalf("timer %d fires after a later one", payload)
		}
		last = timer.tick
	}
	if len(due) > 0 {
		t.Fatalf("timers %v are overdue", due)
	}
	next, ok := w.Next()
	if ok != (len(left) > 0) || ok && next <= now {
		t.Fatalf("next is %d ns ahead, ok %v with %d timers left", next-now, ok, len(left))
	}
	for _, timer := range left {
		if next > timer.tick*tick {
			t.Fatalf("next is %d ns behind timer %d", next-timer.at, timer.payload)
		}
	}
	m.timers = left
	return stale
}

func BenchmarkArmCancel(b *testing.B) {
	w := New(start, 10_000)
	for i := range int64(10_000) {
		w.Arm(start+i*msec, 0)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		w.Cancel(w.Arm(start+int64(i%5000)*msec, 0))
	}
}

// A turn of a worker that has nothing due.
func BenchmarkExpireNothing(b *testing.B) {
	w, now := New(start, 1), start
	w.Arm(horizon, 0)
	for range b.N {
		now += 1000
		w.Expire(now, nil)
	}
}

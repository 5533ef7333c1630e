package session

import (
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
)

// TestContract_PIPE5_UnderPressure: while memory is short, clients that do not read are held
// to less; a limit that is off stays off.
func TestContract_PIPE5_UnderPressure(t *testing.T) {
	const (
		mb  = 1 << 20
		all = 1 << 40
	)
	env := &Env{}
	// The most that may wait: with the limit at 100 bytes, at 64 MB, and without one.
	for _, level := range []struct {
		others     int64 // bytes that wait for the other clients
		soft, hard [3]int64
		softFor    int64 // of a limit of a minute, in seconds
	}{
		{0, [3]int64{100, 64 * mb, all}, [3]int64{100, 64 * mb, all}, 60},
		{PressureBytes, [3]int64{100, 64 * mb, all}, [3]int64{100, 64 * mb, all}, 60},
		{PressureBytes + 1, [3]int64{100, mb, all}, [3]int64{100, 64 * mb, all}, 10},
		{HighPressureBytes, [3]int64{100, mb, all}, [3]int64{100, 64 * mb, all}, 10},
		{HighPressureBytes + 1, [3]int64{100, mb, all}, [3]int64{100, 8 * mb, all}, 10},
	} {
		for i, limit := range []int64{100, 64 * mb, 0} {
			env.Output = OutputLimit{Soft: limit, Hard: limit, SoftFor: 60_000_000_000}
			if env.overSoft(level.soft[i], level.others) || level.soft[i] < all && !env.overSoft(level.soft[i]+1, level.others) {
				t.Errorf("with %d bytes for others and a soft limit of %d: %d are not what may wait", level.others, limit, level.soft[i])
			}
			if env.overHard(level.hard[i], level.others) || level.hard[i] < all && !env.overHard(level.hard[i]+1, level.others) {
				t.Errorf("with %d bytes for others and a hard limit of %d: %d are not what may wait", level.others, limit, level.hard[i])
			}
		}
		if got := env.softFor(level.others); got != level.softFor*1_000_000_000 {
			t.Errorf("with %d bytes for others: %d ns over the soft limit", level.others, got)
		}
		if env.Output.SoftFor = 5; env.softFor(level.others) != 5 {
			t.Errorf("with %d bytes for others: a shorter time becomes %d ns", level.others, env.softFor(level.others))
		}
	}
}

// TestContract_PIPE5_ReadingStopsUnderPressure: the session is held, and goes on when the
// client has taken half of what it may have.
func TestContract_PIPE5_ReadingStopsUnderPressure(t *testing.T) {
	arena, err := buf.NewArena(make(buf.HeapMemory, 320<<20), 0)
	if err != nil {
		t.Fatal(err)
	}
	u := newUpload(t, "")
	u.env = testEnv(t, command.Versions[0], "")
	u.env.Arena, u.env.Output.Soft, u.env.StreamFrom = arena, 8<<20, 1<<20
	u.Session = newTestSession(u.env)
	u.env.Owed = PressureBytes + 1 // for others
	u.receive(getFrame)
	s, _ := arena.Copy([]byte(strings.Repeat("v", 1<<20+1)))
	u.Answer(u.env, 0, s)
	arena.Release(s.Block)
	two, _ := arena.Copy([]byte(getFrame))
	u.Put(u.env, two)
	held := func(hold Hold, in IntentKind, goesOn bool) {
		t.Helper()
		if got := u.Next(u.env); got.Kind != in || u.Holding() != hold {
			t.Fatalf("offered kind %d, holding %d", got.Kind, u.Holding())
		}
		if u.Holding() != HoldNone && u.Release(u.env) != goesOn {
			t.Fatalf("goes on: %v", !goesOn)
		}
	}
	held(HoldOutput, Nothing, false)
	u.Out().Sent(arena, 1<<19-1)
	u.Sent(u.env, 1<<19-1)
	held(HoldOutput, Nothing, false)
	u.Out().Sent(arena, 2)
	u.Sent(u.env, 2)
	if !u.Release(u.env) {
		t.Error("it does not go on at half")
	}
	held(HoldNone, Forward, false)
	u.read()
	u.free()
}

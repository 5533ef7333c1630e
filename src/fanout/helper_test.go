package fanout

import (
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
)

func newArena(t testing.TB) *buf.Arena {
	a, err := buf.NewArena(buf.HeapMemory(make([]byte, 1<<20)), 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// join answers the parts of a request in the given order, those in the set of cut in pieces
// of so many bytes, and returns the joined reply.
func join(t testing.TB, begin func(j *Join), order []int, cut map[int]int, replies ...string) string {
	t.Helper()
	a, err := buf.NewArena(buf.HeapMemory(make([]byte, 64<<10)), 0)
	if err != nil {
		t.Fatal(err)
	}
	var j Join
	begin(&j)
	for i, k := range order {
		done := false
		if n := cut[k]; n > 0 {
			done = extend(t, a, &j, uint32(k), n, replies[k])
		} else {
			done = put(t, a, &j, uint32(k), replies[k])
		}
		if done != (i == len(order)-1) {
			t.Fatalf("done after %d of %d parts: %v", i+1, len(order), done)
		}
	}
	var out buf.Gather
	if !j.Result(a, &out) {
		t.Fatal("arena exhausted")
	}
	text := ""
	for _, s := range out.Slices() {
		text += string(a.Bytes(s))
	}
	out.Drop(a)
	if a.Live() != 0 || j.Held() != 0 {
		t.Fatalf("%d blocks are still referenced, %d bytes held", a.Live(), j.Held())
	}
	return text
}

func put(t testing.TB, a *buf.Arena, j *Join, k uint32, reply string) bool {
	t.Helper()
	s := stored(t, a, reply)
	held := j.Held()
	grown, done := j.Put(a, k, s)
	a.Release(s.Block)
	if grown < len(reply) || j.Held() != held+grown {
		t.Errorf("a reply of %d bytes has made the join hold %d more, and %d in all after %d", len(reply), grown, j.Held(), held)
	}
	return done
}

// extend gives a reply in pieces of n bytes.
func extend(t testing.TB, a *buf.Arena, j *Join, k uint32, n int, reply string) (done bool) {
	t.Helper()
	held, all := j.Held(), len(reply)
	for len(reply) > 0 {
		piece := reply[:min(n, len(reply))]
		reply = reply[len(piece):]
		s := stored(t, a, piece)
		grown, last := 0, false
		if grown, last = j.Extend(a, k, s, reply == ""); last && reply != "" {
			t.Error("done before the last piece")
		}
		a.Release(s.Block)
		if held += grown; j.Held() != held || grown < len(piece) {
			t.Errorf("a piece of %d bytes has made the join hold %d more, and %d in all", len(piece), grown, j.Held())
		}
		done = last
	}
	if j.PartBytes(k) != all {
		t.Errorf("part %d has %d bytes, want %d", k, j.PartBytes(k), all)
	}
	return done
}

func stored(t testing.TB, a *buf.Arena, bytes string) buf.Slice {
	t.Helper()
	s, ok := a.Copy([]byte(bytes))
	if !ok {
		t.Fatal("arena exhausted")
	}
	return s
}

// broadcast begins a join of parts nodes, of which count make the reply.
func broadcast(parts, count int, policy command.ResponsePolicy) func(*Join) {
	return func(j *Join) { j.BeginBroadcast(parts, count, policy, 0, 0) }
}

// inOrder are the numbers of n parts.
func inOrder(n int) (order []int) {
	for k := range n {
		order = append(order, k)
	}
	return order
}

package fanout

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/slot"
)

func newArena(t testing.TB) *buf.Arena {
	a, err := buf.NewArena(buf.HeapMemory(make([]byte, 1<<20)), 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func scan(t testing.TB, words ...string) (frame []byte, args []resp.Arg) {
	frame = resp.AppendCommand(nil, words...)
	var s resp.RequestScanner
	args, n, status := s.Scan(frame, &resp.Authenticated, nil)
	if status != resp.Complete || n != len(frame) {
		t.Fatalf("scan of %q: %v", frame, status)
	}
	return frame, args
}

// parts splits a request and returns its frames in order.
func parts(t testing.TB, p *Plan, step int, words ...string) []string {
	frame, args := scan(t, words...)
	p.Split(frame, args, step)
	var out []string
	for k := range p.Parts {
		part := p.AppendFrame(nil, k, frame, args)
		if len(part) != p.FrameBytes(k) {
			t.Fatalf("part %d has %d bytes, FrameBytes says %d", k, len(part), p.FrameBytes(k))
		}
		out = append(out, string(part))
	}
	return out
}

func TestContract_ROUTE4_OnePartPerSlotInOrderOfFirstKeys(t *testing.T) {
	var p Plan
	got := parts(t, &p, 1, "mGet", "{b}1", "{a}1", "{b}2", "{a}1")
	want := []string{
		string(resp.AppendCommand(nil, "mGet", "{b}1", "{b}2")),
		string(resp.AppendCommand(nil, "mGet", "{a}1", "{a}1")),
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("parts\n%q, want\n%q", got, want)
	}
	got = parts(t, &p, 2, "MSET", "a", "1", "b", "2", "a", "3")
	want = []string{
		string(resp.AppendCommand(nil, "MSET", "a", "1", "a", "3")),
		string(resp.AppendCommand(nil, "MSET", "b", "2")),
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("parts\n%q, want\n%q", got, want)
	}
}

func put(t testing.TB, a *buf.Arena, j *Join, k uint32, reply string) bool {
	s, ok := a.Copy([]byte(reply))
	if !ok {
		t.Fatal("arena exhausted")
	}
	held := j.Held()
	grown, done := j.Put(a, k, s)
	a.Release(s.Block)
	if grown < len(reply) || j.Held() != held+grown {
		t.Errorf("a reply of %d bytes has made the join hold %d more, and %d in all after %d", len(reply), grown, j.Held(), held)
	}
	return done
}

// join answers the parts in the given order and returns the joined reply.
func join(t testing.TB, p *Plan, policy command.ResponsePolicy, order []int, replies ...string) string {
	a := newArena(t)
	var j Join
	j.Begin(p, policy, 0, 0)
	for i, k := range order {
		if done := put(t, a, &j, uint32(k), replies[k]); done != (i == len(order)-1) {
			t.Fatalf("done after %d of %d parts", i+1, len(order))
		}
	}
	reply, ok := j.Result(a)
	if !ok {
		t.Fatal("arena exhausted")
	}
	text := string(a.Bytes(reply))
	a.Release(reply.Block)
	if a.Live() != 0 {
		t.Fatalf("%d blocks still referenced", a.Live())
	}
	return text
}

func TestContract_ROUTE4_ArraysJoinInTheClientsOrder(t *testing.T) {
	var p Plan
	parts(t, &p, 1, "MGET", "{b}1", "{a}1", "{b}2", "{c}1", "{a}1")
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		got := join(t, &p, command.ResponseDefaultHashslot, order, "*2\r\n$1\r\nx\r\n_\r\n", "*2\r\n$-1\r\n$2\r\nyy\r\n", "*1\r\n$0\r\n\r\n")
		want := "*5\r\n$1\r\nx\r\n$-1\r\n_\r\n$0\r\n\r\n$2\r\nyy\r\n"
		if got != want {
			t.Fatalf("order %v: %q, want %q", order, got, want)
		}
	}
}

func TestContract_ROUTE4_OtherMerges(t *testing.T) {
	var p Plan
	parts(t, &p, 1, "DEL", "a", "b", "c")
	for _, c := range []struct {
		merge   command.ResponsePolicy
		replies [3]string
		want    string
	}{
		{command.ResponseAggSum, [3]string{":1\r\n", ":0\r\n", ":41\r\n"}, ":42\r\n"},
		{command.ResponseAggSum, [3]string{":1\r\n", "-ERR two\r\n", "-ERR three\r\n"}, "-ERR two\r\n"},
		{command.ResponseAggSum, [3]string{":1\r\n", "+OK\r\n", ":1\r\n"}, errMerge},
		{command.ResponseAllSucceeded, [3]string{"+OK\r\n", "+OK\r\n", "+OK\r\n"}, "+OK\r\n"},
		{command.ResponseAllSucceeded, [3]string{"+OK\r\n", "+OK\r\n", "-OOM no\r\n"}, "-OOM no\r\n"},
		{command.ResponseAllSucceeded, [3]string{"+OK\r\n", ":1\r\n", "+OK\r\n"}, errMerge},
		{command.ResponseDefaultHashslot, [3]string{"*1\r\n_\r\n", "*0\r\n", "*1\r\n_\r\n"}, errMerge},
		{command.ResponseDefaultHashslot, [3]string{"*1\r\n_\r\n", "*2\r\n_\r\n_\r\n", "*0\r\n"}, errMerge},
		{command.ResponseDefaultHashslot, [3]string{"*1\r\n_\r\n", ":1\r\n", "*1\r\n_\r\n"}, errMerge},
	} {
		if got := join(t, &p, c.merge, []int{2, 0, 1}, c.replies[:]...); got != c.want {
			t.Errorf("merge %d of %q: %q, want %q", c.merge, c.replies, got, c.want)
		}
	}
}

func TestForgetLetsGoOfWhatIsInAndToCome(t *testing.T) {
	var p Plan
	parts(t, &p, 1, "DEL", "a", "b", "c")
	a := newArena(t)
	var j Join
	j.Begin(&p, command.ResponseAggSum, 0, 0)
	put(t, a, &j, 1, ":1\r\n")
	j.Forget(a)
	if a.Live() != 0 || j.Held() != 0 {
		t.Errorf("%d blocks and %d bytes still held", a.Live(), j.Held())
	}
	s, _ := a.Copy([]byte(":1\r\n"))
	if grown, done := j.Put(a, 0, s); grown != 0 || done {
		t.Errorf("the second part: %d bytes more, done %v", grown, done)
	}
	if _, done := j.Put(a, 2, s); !done {
		t.Error("not done after the last part")
	}
	a.Release(s.Block)
	if _, ok := j.Result(a); ok || a.Live() != 0 {
		t.Errorf("a result is there: %v; %d blocks still referenced", ok, a.Live())
	}
}

func TestSplitJoinRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var p Plan
	for range 500 {
		words := []string{"MGET"}
		for range 1 + rng.IntN(40) {
			words = append(words, fmt.Sprintf("k%d", rng.IntN(30)))
		}
		var replies []string
		var order []int
		seen := make(map[uint16]bool)
		for k, part := range parts(t, &p, 1, words...) {
			fields := strings.Split(part, "\r\n")
			var items []string
			for i := 4; i < len(fields); i += 2 {
				items = append(items, fields[i])
			}
			s := slot.Of([]byte(items[0]))
			if seen[s] || p.Parts[k].Slot != s {
				t.Fatalf("slot %d has two parts or a wrong label", s)
			}
			seen[s] = true
			reply := resp.AppendArray(nil, len(items))
			for _, item := range items {
				if slot.Of([]byte(item)) != s {
					t.Fatalf("key %s in the part of slot %d", item, s)
				}
				reply = resp.AppendBulkString(reply, "v"+item)
			}
			replies = append(replies, string(reply))
			order = append(order, k)
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		want := resp.AppendArray(nil, len(words)-1)
		for _, key := range words[1:] {
			want = resp.AppendBulkString(want, "v"+key)
		}
		if got := join(t, &p, command.ResponseDefaultHashslot, order, replies...); got != string(want) {
			t.Fatalf("%q: joined %q, want %q", words, got, want)
		}
	}
}

func TestSplitAllocatesNothing(t *testing.T) {
	words := []string{"MGET"}
	for i := range 100 {
		words = append(words, fmt.Sprint("key", i))
	}
	frame, args := scan(t, words...)
	var p Plan
	dst := make([]byte, 0, 1<<16)
	run := func() {
		p.Split(frame, args, 1)
		for k := range p.Parts {
			dst = p.AppendFrame(dst[:0], k, frame, args)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Fatalf("%v allocations a split, want none", n)
	}
}

func TestRoundCounterWrapsAround(t *testing.T) {
	var p Plan
	p.round = ^uint32(0) - 1
	for range 4 {
		if got := len(parts(t, &p, 1, "DEL", "a", "b", "a")); got != 2 {
			t.Fatalf("round %d: %d parts, want 2", p.round, got)
		}
	}
}

package fanout

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/slot"
)

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
		if got := join(t, func(j *Join) { j.Begin(&p, command.ResponseDefaultHashslot, 0, 0) }, order, nil, replies...); got != string(want) {
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

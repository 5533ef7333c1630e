package pipe

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/resp"
	"mithril/src/ring"
)

// joined is a pipe on somebody else's connection, which four share.
func joined(t testing.TB) *rig {
	r := newRig(t, Key{})
	r.p.Share(4)
	r.p.Join()
	return r
}

// TestAJoinedPipeSaysWhatItIsOwed: a group brings a reply for each of its commands, and what
// has been handed over is not owed again.
func TestAJoinedPipeSaysWhatItIsOwed(t *testing.T) {
	r := joined(t)
	if r.p.State() != Ready || r.p.Owed() != 0 {
		t.Fatalf("%s, owed %d", r.p.State(), r.p.Owed())
	}
	r.push(1, false, "GET", "a")
	r.push(2, true, "GET", "b")
	if r.p.Owed() != 3 {
		t.Fatalf("owed %d", r.p.Owed())
	}
	r.sent()
	if r.push(3, false, "GET", "c"); r.p.Owed() != 1 {
		t.Fatalf("owed %d behind what was handed over", r.p.Owed())
	}
	r.close()
}

// TestAJoinedPipeHoldsItsPart of what a pipe may hold.
func TestAJoinedPipeHoldsItsPart(t *testing.T) {
	r := joined(t)
	for i := range PendingMax / 4 {
		if r.p.Full() {
			t.Fatalf("full with %d", i)
		}
		r.push(i, false, "GET", "a")
	}
	if !r.p.Full() {
		t.Fatal("not full")
	}
	r.close()
}

// TestRelayedRequestsTakeNoRoom of the one who has the connection.
func TestRelayedRequestsTakeNoRoom(t *testing.T) {
	r := newRig(t, Key{}).ready()
	var none buf.Gather
	if !r.p.Relay(r.a, 1, ring.Token(1), &none, []byte("many"), PendingMax) {
		t.Fatal("no memory")
	}
	if r.p.Full() || !r.p.HalfEmpty() || r.p.Len() != PendingMax {
		t.Fatalf("full %v, half empty %v with %d of another's", r.p.Full(), r.p.HalfEmpty(), r.p.Len())
	}
	for i := range PendingMax {
		r.push(i, false, "GET", "a")
	}
	if !r.p.Full() {
		t.Fatal("not full of its own")
	}
	r.sent()
	for range PendingMax {
		r.node("+x\r\n")
		r.takeAny()
	}
	if !r.p.Full() {
		t.Fatal("replies to another have made room")
	}
	r.close()
}

// TestRecallTellsWhatWasAsked: requests whose replies were not asked of the node have not
// been sent, whatever was handed over; a group counts as a whole.
func TestRecallTellsWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		asked uint32
		want  string
	}{
		{0, "[1:false 2:false 3:false 4:false]"},
		{1, "[1:true 2:false 3:false 4:false]"},
		{3, "[1:true 2:true 3:false 4:false]"},
		{4, "[1:true 2:true 3:true 4:false]"},
		{5, "[1:true 2:true 3:true 4:true]"},
	} {
		r := joined(t)
		r.push(1, false, "GET", "a")
		r.push(2, true, "GET", "b")
		r.push(3, false, "GET", "c")
		r.sent()
		r.push(4, false, "GET", "d")
		r.p.Recall(c.asked)
		if lost := fmt.Sprint(r.close()); lost != c.want {
			t.Errorf("%d asked: %s, want %s", c.asked, lost, c.want)
		}
	}
}

// TestRelayedRequests are sent as they are, between those of its own, and each of their
// replies goes to the one who has handed them over.
func TestRelayedRequests(t *testing.T) {
	r := newRig(t, Key{}).ready()
	r.push(1, false, "GET", "own")
	var none, parts buf.Gather
	if !r.p.Relay(r.a, 7, ring.Token(2), &none, []byte("ASKING GET far "), 2) {
		t.Fatal("no memory")
	}
	long := strings.Repeat("x", 3*buf.CopyBytesMax)
	for _, part := range []string{"SET far ", long} {
		if _, ok := parts.Append(r.a, []byte(part)); !ok {
			t.Fatal("no memory")
		}
	}
	if !r.p.Relay(r.a, 7, ring.Token(3), &parts, []byte(" EX 1"), 1) || parts.Bytes() != 0 {
		t.Fatal("parts are left")
	}
	r.push(4, false, "GET", "own")
	own := string(resp.AppendCommand(nil, "GET", "own"))
	if got, want := r.sent(), own+"ASKING GET far SET far "+long+" EX 1"+own; got != want {
		t.Fatalf("sent %d bytes that begin with %.80q, want %d", len(got), got, len(want))
	}
	r.node("+a\r\n+OK\r\n+b\r\n+c\r\n+d\r\n")
	for _, want := range []string{"1:+a\r\n", "2:+OK\r\n", "2:+b\r\n", "3:+c\r\n", "4:+d\r\n"} {
		owner, text := r.takeAny()
		if got := fmt.Sprintf("%d:%s", owner, text); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	r.close()
}

// TestGathered: a lone request is sent at once; more wait until they are twice as many as
// what the node has yet to answer, or many bytes, or the last reply is there.
func TestGathered(t *testing.T) {
	r := newRig(t, Key{}).ready()
	step := func(what string, want bool) {
		t.Helper()
		if r.p.Gathered() != want {
			t.Fatalf("%s: gathered is %v", what, !want)
		}
	}
	r.push(1, false, "GET", "a")
	step("one and none to be answered", true)
	r.sent()
	r.push(2, false, "GET", "a")
	step("one and one", false)
	r.push(3, false, "GET", "a")
	step("two and one", true)
	r.sent()
	r.push(4, false, "GET", "a")
	step("one and three", false)
	r.node("+1\r\n+2\r\n")
	r.replies()
	step("one and one", false)
	r.node("+3\r\n")
	r.replies()
	step("one and none", true)
	r.sent()
	r.push(5, false, "SET", "a", strings.Repeat("x", gatherBytesMax))
	step("many bytes", true)
	r.close()
}

// takeAny takes a reply to a request with a frame, or without one.
func (r *rig) takeAny() (ring.Token, string) {
	reply, got, reason := r.next()
	if got != Got {
		r.Fatalf("progress %d, %s", got, reason)
	}
	if reply.Frame.Block != buf.NoBlock {
		r.a.Release(reply.Frame.Block)
	}
	return reply.Owner, string(r.a.Bytes(reply.Bytes))
}

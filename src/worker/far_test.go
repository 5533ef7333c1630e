package worker

import (
	"net/netip"
	"testing"

	"mithril/src/pipe"
	"mithril/src/resp"
)

// TestHandedTellsTheOldest: the batch with the oldest unanswered request is known, whatever
// was handed over behind it, and also when the numbers wrap around.
func TestHandedTellsTheOldest(t *testing.T) {
	before := ^uint32(0) - 4 // requests answered when it begins
	var h handed
	step := func(what string, want uint64) {
		t.Helper()
		if h.oldest.at != want {
			t.Fatalf("%s: the oldest is at %d, want %d", what, h.oldest.at, want)
		}
	}
	step("nothing", 0)
	h.more(before+3, 10)
	step("one batch", 10)
	h.more(before+6, 20)
	h.more(before+9, 30)
	step("others behind it", 10)
	h.answered(before + 2)
	step("partly answered", 10)
	h.answered(before + 3)
	step("answered", 30) // those behind it count as one
	h.more(before+10, 40)
	h.answered(before + 10)
	step("all answered", 0)
}

// TestNeighboursHaveDifferentKeepers: nodes on consecutive ports or addresses come to
// consecutive workers, and each key to one.
func TestNeighboursHaveDifferentKeepers(t *testing.T) {
	for _, c := range []struct{ first, second string }{
		{"127.0.0.1:7000", "127.0.0.1:7001"},
		{"10.1.2.3:6379", "10.1.2.4:6379"},
		{"[2001:db8::1]:6379", "[2001:db8::2]:6379"},
	} {
		first, second := spreadOf(netip.MustParseAddrPort(c.first)), spreadOf(netip.MustParseAddrPort(c.second))
		if second != first+1 {
			t.Errorf("%s is told by %d, %s by %d", c.first, first, c.second, second)
		}
	}
}

// TestAimIsReadAsWritten: the keeper opens just the connection that is meant.
func TestAimIsReadAsWritten(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:7000", "[2001:db8::1]:65535", "[::ffff:10.0.0.1]:1"} {
		for _, key := range []pipe.Key{{}, {DB: 1 << 20, Proto: resp.RESP3}, {ReadOnly: true}, {Tracking: true, Proto: resp.RESP2}} {
			want := netip.MustParseAddrPort(addr)
			if got, k := readAim(appendAim(nil, want, key)); got != want || k != key {
				t.Errorf("%v %+v is read as %v %+v", want, key, got, k)
			}
		}
	}
}

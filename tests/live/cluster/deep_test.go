package cluster

import (
	"io"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
)

// TestCase_J06_DeepReply: a node answers with arrays in arrays, far deeper than real ones
// do. The reply is passed on as it is, and takes no stack.
func TestCase_J06_DeepReply(t *testing.T) {
	const grownMost = 8 << 20 // bytes
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node := newFake(t)
		p := harness.StartAt(t, engine, node.addr)
		c := p.Dial(t)
		await(t, c, nil, "GET", "a")
		before := p.RSS()
		for _, level := range []string{"*1\r\n", "*2\r\n:0\r\n", "*2\r\n*1\r\n:0\r\n"} {
			for _, depth := range []int{10_000, 200_000} {
				reply := strings.Repeat(level, depth) + ":1\r\n"
				node.script(func([]any) string { return reply })
				want := reply + reply + "$6\r\nbehind\r\n"
				if err := c.Write([]byte("GET a\r\nGET a\r\nECHO behind\r\n")); err != nil {
					t.Fatal(err)
				}
				if err := c.NetConn().SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, len(want))
				if _, err := io.ReadFull(c.NetConn(), got); err != nil || string(got) != want {
					t.Fatalf("%d levels: %.50q, %v, want %.50q and so on", depth, got, err, want)
				}
			}
		}
		if grown := p.PeakRSS() - before; grown > grownMost {
			t.Errorf("the proxy grew by %d kB, want %d at most", grown>>10, int64(grownMost)>>10)
		}
	})
}

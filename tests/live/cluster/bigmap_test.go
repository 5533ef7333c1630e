package cluster

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/slot"
	"mithril/tests/harness"
)

// bigMap is a reply to CLUSTER SLOTS of more than six megabytes: every slot is a range of its
// own, with a primary at port, two replicas, and host names that begin with prefix.
func bigMap(port int, prefix string) string {
	node := func(port int) string {
		name := fmt.Sprintf("%s-%d%s", prefix, port, strings.Repeat(".example", 4))
		return fmt.Sprintf("*4\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%040d\r\n*2\r\n$8\r\nhostname\r\n$%d\r\n%s\r\n", port, port, len(name), name)
	}
	nodes := node(port) + node(1) + node(2)
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", slot.Count)
	for s := range slot.Count {
		fmt.Fprintf(&text, "*5\r\n:%d\r\n:%d\r\n%s", s, s, nodes)
	}
	return text.String()
}

// TestCase_B13_BigMap asks again and again for a map of the largest kind, which is another one
// each time.
func TestCase_B13_BigMap(t *testing.T) {
	const (
		mapBytesMin = 6 << 20
		settled     = 10       // refreshes until the process has the memory that it needs
		slack       = 64 << 20 // bytes of RSS that come and go with garbage
	)
	node := newFake(t)
	maps := []string{bigMap(node.port, "blue"), bigMap(node.port, "green")}
	if len(maps[0]) < mapBytesMin {
		t.Fatalf("the map has %d bytes, want %d", len(maps[0]), mapBytesMin)
	}
	node.tell(maps[0])
	p := harness.StartAt(t, harness.IOUring, node.addr)
	c := p.Dial(t)
	await(t, c, nil, "GET", "foo")
	asked := false
	node.script(func([]any) string { // every other time a redirect, which makes the proxy ask for the map
		if asked = !asked; asked {
			return fmt.Sprintf("-ASK %d %s\r\n", fooSlot, node.addr)
		}
		return "$-1\r\n"
	})
	first := node.times("CLUSTER SLOTS")
	var before int64
	for n := range harness.Size(30, 100) {
		node.tell(maps[n%2])
		harness.Eventually(t, harness.Patience, "the proxy to ask for the map", func() error {
			if got := harness.MustDo(t, c, "GET", "foo"); got != nil {
				t.Fatalf("GET: %v", got)
			}
			if node.times("CLUSTER SLOTS") <= first+n {
				return fmt.Errorf("it has asked %d times", n)
			}
			return nil
		})
		if n == settled {
			before = p.PeakRSS()
		}
	}
	after := p.PeakRSS()
	t.Logf("at its peak the process had %d MB after %d maps and %d MB at the end", before>>20, settled, after>>20)
	if after > before+slack {
		t.Errorf("its memory has grown by %d MB", (after-before)>>20)
	}
	// Nobody answers for the replicas.
	if n := p.LinesWith("level=warning") - p.LinesWith("level=warning", "condition=unreachable"); n > 0 {
		t.Errorf("%d warnings:\n%s", n, p.LogTail())
	}
}

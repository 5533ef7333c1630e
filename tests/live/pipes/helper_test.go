package pipes

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mithril/src/slot"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestMain(m *testing.M) { harness.Main(m) }

// tags has a hash tag for each slot that was asked for. To find one takes milliseconds.
var tags sync.Map

// tag returns a hash tag whose keys lie in a slot.
func tag(number int) string {
	if t, ok := tags.Load(number); ok {
		return t.(string)
	}
	for i := 0; ; i++ {
		if t := fmt.Sprint("{", i, "}"); int(slot.Of([]byte(t))) == number {
			tags.Store(number, t)
			return t
		}
	}
}

// infoNumber is a field of INFO.
func infoNumber(t *testing.T, c *testbed.Conn, field string) int {
	t.Helper()
	text, _ := harness.MustDo(t, c, "INFO").(string)
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, field+":"); found {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatalf("INFO: %s", line)
			}
			return n
		}
	}
	t.Fatalf("INFO lacks %s", field)
	return 0
}

// connectionsTo counts a proxy's connections for requests to a node, which the node has by the
// name of mithril. Another proxy's may have the same port, of which there is one for each node.
func connectionsTo(t *testing.T, node *testbed.Conn, p *harness.Proxy) (n int) {
	t.Helper()
	sockets, err := p.Sockets()
	if err != nil {
		t.Fatal(err)
	}
	addr := node.NetConn().RemoteAddr().String()
	list := harness.MustDo(t, node, "CLIENT", "LIST").(string)
	for line := range strings.Lines(list) {
		if !strings.Contains(line, " name=mithril ") {
			continue
		}
		for _, s := range sockets {
			if s.Remote.String() == addr && strings.Contains(line, fmt.Sprintf(" addr=%v ", s.Local)) {
				n++
			}
		}
	}
	return n
}

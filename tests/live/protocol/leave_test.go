package protocol

import (
	"fmt"
	"net"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_C08_ClientLeaves: clients that go away in the middle of everything leave
// nothing behind in the proxy, and its connections to nodes stay, with their replies in
// order. With three server releases each I/O engine sees ten thousand of them.
func TestCase_C08_ClientLeaves(t *testing.T) {
	const (
		warmUp    = 100
		growthMax = 8 << 20 // bytes of RSS
	)
	clients := harness.Size(3400, 100_000)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{})
		stays := p.Dial(t)
		leaveOften(t, p, stays, warmUp)
		descriptors, rss := p.Descriptors(), p.RSS()
		leaveOften(t, p, stays, clients)
		harness.Eventually(t, 5*time.Second, fmt.Sprintf("the proxy to have %d descriptors again", descriptors), func() error {
			if n := p.Descriptors(); n > descriptors {
				return fmt.Errorf("it has %d", n)
			}
			return nil
		})
		if growth := p.RSS() - rss; growth > growthMax {
			t.Errorf("%d clients that left cost %d kB, want %d kB at most", clients, growth>>10, growthMax>>10)
		}
		if n := p.LinesWith(`msg="connection to node lost"`); n > 0 {
			t.Errorf("%d connections to nodes were lost", n)
		}
	})
}

// leaveOften has clients come, ask and leave in turn in each way there is, and one that
// stays and must be served all the time.
func leaveOften(t *testing.T, p *harness.Proxy, stays *testbed.Conn, clients int) {
	t.Helper()
	request := []byte(array("MGET", "a", "b", "c") + array("SET", "a", "left") + array("EVAL", "return {1,2,3}", 1, "a") +
		array("BLPOP", "a", "b", 0) + array("PING"))
	for i := range clients {
		c, err := net.Dial("tcp4", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		sent := request
		if i%3 == 0 {
			sent = request[:i%len(request)]
		}
		if _, err := c.Write(sent); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			c.(*net.TCPConn).SetLinger(0) // a reset in place of a FIN
		}
		c.Close()
		if i%10 == 0 {
			value := fmt.Sprint("value:", i)
			harness.Expect(t, stays, array("SET", "stays", value)+array("GET", "stays"), fmt.Sprintf("+OK\r\n$%d\r\n%s\r\n", len(value), value))
		}
	}
	harness.Eventually(t, 10*time.Second, "the proxy to see that all but one client have left", func() error {
		if n := p.Clients(); n != 1 {
			return fmt.Errorf("it has %d", n)
		}
		return nil
	})
}

package protocol

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// announced are requests of which little comes: next to nothing, or none of a large value.
var announced = []string{
	"*2000000000\r\n",
	"*2000000000\r\n$4\r\nPING\r\n",
	"*2147483647\r\n$3\r\nDEL\r\n$1\r\na\r\n",
	"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\nabc",
	"*1\r\n$536870912\r\n",
}

func TestContract_PROTO1_MemoryFollowsWhatIsReceived(t *testing.T) { announcedNotSent(t, 200) }

// TestCase_J05_AnnouncedNotSent: a server waits for what has been announced, and so does
// the proxy. Nobody else notices, and memory follows what has come.
func TestCase_J05_AnnouncedNotSent(t *testing.T) { announcedNotSent(t, 1000) }

func announcedNotSent(t *testing.T, clients int) {
	const (
		silence    = 50 * time.Millisecond // of connections that are to stay open
		clientMost = 8 << 10               // bytes; what each announces is 512 MB and more
		otherwise  = 4 << 20               // bytes that the proxy may grow by all the same
	)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{})
		before, descriptors := p.RSS(), p.Descriptors()
		var waiting []*testbed.Conn
		for i := range clients {
			c := p.Dial(t)
			waiting = append(waiting, c)
			if err := c.Write([]byte(array("PING") + announced[i%len(announced)])); err != nil {
				t.Fatal(err)
			}
			harness.Expect(t, c, "", "+PONG\r\n")
		}
		harness.Expect(t, p.Dial(t), array("SET", "k", "v")+array("GET", "k"), "+OK\r\n$1\r\nv\r\n")
		if growth, most := p.RSS()-before, int64(clients*clientMost+otherwise); growth > most {
			t.Errorf("%d clients that announced much took %d kB, want %d at most", clients, growth>>10, most>>10)
		}
		time.Sleep(silence)
		for i, c := range waiting {
			wantSilence(t, c, announced[i%len(announced)])
			c.Close()
		}
		harness.Eventually(t, harness.Patience, "the descriptors to be given back", func() error {
			if n := p.Descriptors(); n > descriptors+2 { // one is of the client above, one may be to a node
				return fmt.Errorf("it has %d, it had %d", n, descriptors)
			}
			return nil
		})
	})
}

// wantSilence wants a connection to be open with nothing to read.
func wantSilence(t *testing.T, c *testbed.Conn, request string) {
	t.Helper()
	c.SetTimeout(time.Microsecond)
	var timeout net.Error
	if got, err := c.Receive(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%q: got %v (%v) in place of silence", request, got, err)
	}
}

package abuse

import (
	"errors"
	"io"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// A client that comes again and again does not fill the log.
func TestLogIsNotFlooded(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		const visits, linesMax = 1000, 500
		for range visits {
			c, err := testbed.Dial(p.Addr)
			if err != nil {
				t.Fatal(err)
			}
			mustWrite(t, c, []byte("POST / HTTP/1.1\r\n\r\n"))
			io.Copy(io.Discard, c.NetConn())
			c.Close()
		}
		if n := strings.Count(p.Log(), `msg="client closed"`); n == 0 || n > linesMax {
			t.Errorf("%d visits have left %d lines in the log, want at most %d", visits, n, linesMax)
		}
		harness.Eventually(t, patience, "the log to sum up", func() error {
			if !strings.Contains(p.Log(), `msg="more clients closed"`) {
				return errors.New("it does not")
			}
			return nil
		})
	})
}

package abuse

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// forged is what a client wants others to be told.
const forged = "FORGED"

// TestContract_SEC4_ForgedRepliesReachNobodyElse: servers repeat a function's code in an error
// as it is, and Valkey an argument of FUNCTION LIST. With line ends in it that is more
// than one reply. Others on the proxy's connections to the same nodes get their own.
func TestContract_SEC4_ForgedRepliesReachNobodyElse(t *testing.T) {
	const (
		keys   = 20
		rounds = 200
	)
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Workers: 1})
		c := p.Dial(t)
		for i := range keys {
			mustDo(t, c, "SET", fmt.Sprint("key", i), i)
		}
		var stop atomic.Bool
		var running sync.WaitGroup
		other := p.Dial(t)
		running.Go(func() {
			for !stop.Load() {
				for i := range keys {
					other.Send("GET", fmt.Sprint("key", i))
				}
				if err := other.Flush(); err != nil {
					t.Error(err)
					return
				}
				for i := range keys {
					if got, err := other.Receive(); err != nil || got != fmt.Sprint(i) {
						t.Errorf("GET key%d: %v, %v", i, got, err)
						return
					}
				}
			}
		})
		for range rounds {
			forge(t, p)
		}
		stop.Store(true)
		running.Wait()
		if got := mustDo(t, p.Dial(t), "PING"); got != "PONG" {
			t.Errorf("PING: %v", got)
		}
	})
}

// forge makes nodes send lines of the client's own behind an error.
func forge(t *testing.T, p *harness.Proxy) {
	t.Helper()
	lines := `\r\n+` + forged + `\r\n+` + forged
	c, err := testbed.Dial(p.Addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	for _, request := range [][]any{
		{"FUNCTION", "LOAD", "#!lua name=lib\nreturn 1 \"" + lines + "\""}, {"FUNCTION", "LIST", "a\r\n+" + forged},
	} {
		if reply, err := c.Do(request...); err == nil {
			t.Errorf("%q: %v, want an error", request, reply)
		}
	}
}

package abuse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mithril/src/session"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// Replies that wait for an earlier one cost their bytes and not a block each.
func TestEarlyRepliesAreSmall(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		c := p.Dial(t)
		mustDo(t, c, "SET", "slow", "1")
		resume := harness.HoldOwner(t, e.Cluster, "slow")
		const pings = 300_000
		grown(t, p, 64*mb, func() {
			mustWrite(t, c, repeat(1, "GET", "slow"))
			for range 10 {
				mustWrite(t, c, repeat(pings/10, "PING"))
			}
			answered(t, p)
		})
		resume()
		if got, err := c.Receive(); err != nil || got != "1" {
			t.Fatalf("GET: %v, %v", got, err)
		}
		for i := range pings {
			if got, err := c.Receive(); err != nil || got != "PONG" {
				t.Fatalf("PING %d: %v, %v", i, got, err)
			}
		}
	})
}

// answered waits until the proxy has read what was written before, more or less: a
// worker has taken in all that there was when it answers twice.
func answered(t *testing.T, p *harness.Proxy) {
	t.Helper()
	for range 20 {
		mustDo(t, p.Dial(t), "PING")
		time.Sleep(10 * time.Millisecond)
	}
}

// Parts of replies that wait for the last one count as output. The client has had short
// replies only: one that is known for long ones may not ask for so many at a time.
func TestPartsOfRepliesAreLimited(t *testing.T) {
	args := []string{"--client-output-buffer-limit", "normal", "16mb", "8mb", "60"}
	eachEngine(t, args, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		c, other := p.Dial(t), p.Dial(t)
		slow := harness.ShardOf(t, e.Cluster, "slow")
		var fast []any
		for i := 0; len(fast) < 4; i++ {
			if key := fmt.Sprint("fast", i); harness.ShardOf(t, e.Cluster, key) != slow {
				mustDo(t, c, "SET", key, long(mb/4))
				fast = append(fast, key)
			}
		}
		mget := slices.Concat([]any{"MGET", "slow"}, fast)
		mustDo(t, other, mget...)
		harness.HoldOwner(t, e.Cluster, "slow")
		grown(t, p, 64*mb, func() {
			mustWrite(t, c, repeat(100, mget...))
			harness.Eventually(t, patience, "the client to be closed", func() error {
				if n := p.Clients(); n != 1 {
					return fmt.Errorf("%d clients", n)
				}
				return nil
			})
			mustDo(t, other, "GET", fast[0])
		})
		harness.Eventually(t, patience, "the reason in the log", func() error {
			if n := p.LinesWith("client closed", "output limit reached"); n != 1 {
				return fmt.Errorf("it is there %d times", n)
			}
			return nil
		})
		harness.Eventually(t, patience, "memory to be given back", func() error {
			if rss := p.RSS(); rss > 64*mb {
				return fmt.Errorf("%d MB are resident", rss/mb)
			}
			return nil
		})
	})
}

// What a client sends byte by byte while it is held back costs its bytes.
func TestHeldBytesAreSmall(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		const clients, size = 20, 3000
		var held []*testbed.Conn
		for range clients {
			held = append(held, p.Dial(t))
		}
		mustDo(t, held[0], "SET", "slow", "1")
		resume := harness.HoldOwner(t, e.Cluster, "slow")
		request := testbed.AppendCommand(nil, "ECHO", long(size))
		grown(t, p, 16*mb, func() {
			for _, c := range held {
				mustWrite(t, c, testbed.AppendCommand(repeat(1, "GET", "slow"), "SELECT", 0))
			}
			for i := range request {
				for _, c := range held {
					mustWrite(t, c, request[i:i+1])
				}
				time.Sleep(100 * time.Microsecond) // so that the bytes are not received together
			}
		})
		resume()
		for _, c := range held {
			for _, want := range []any{"1", "OK", long(size)} {
				if got, err := c.Receive(); err != nil || got != want {
					t.Fatalf("%.20v, %v, want %.20v", got, err, want)
				}
			}
		}
	})
}

// A reply that the proxy makes itself may be thousands of times its request.
func TestRepliesOfTheProxyAreLimited(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		c := p.Dial(t)
		grown(t, p, 32*mb, func() {
			for _, command := range []string{"COMMAND DOCS", "COMMAND INFO", "CONFIG GET", "INFO"} {
				words := strings.Fields(command)
				args := make([]any, 0, 100_000)
				for _, w := range words {
					args = append(args, w)
				}
				for len(args) < cap(args) {
					args = append(args, "xadd")
				}
				want := testbed.Error(fmt.Sprintf("ERR too many arguments for '%s' command, this proxy takes at most 1024",
					strings.ToLower(strings.Join(words, "|"))))
				if got, err := c.Do(args...); err != want {
					t.Errorf("%s with %d arguments: %.50v, %v", command, len(args), got, err)
				}
				if _, err := c.Do(args[:session.LocalArgsMax]...); err != nil {
					t.Errorf("%s with as many arguments as it may have: %v", command, err)
				}
			}
		})
	})
}

// What large requests and a crowd of slow readers have taken is given back.
func TestMemoryIsGivenBack(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		const size, clients = 30_000, 10
		c := p.Dial(t)
		mustDo(t, c, "SET", "value", long(size))
		before := p.RSS()

		if got := mustDo(t, c, "ECHO", long(40*mb)); len(got.(string)) != 40*mb {
			t.Errorf("ECHO of %d bytes answers %d", 40*mb, len(got.(string)))
		}
		var slow []*testbed.Conn
		for range clients {
			slow = append(slow, p.Dial(t))
			mustWrite(t, slow[len(slow)-1], repeat(15*mb/size, "GET", "value"))
		}
		harness.Eventually(t, patience, "the slow readers' replies to come in", func() error {
			if grown := p.RSS() - before; grown < 50*mb {
				return fmt.Errorf("%d MB more", grown/mb)
			}
			return nil
		})
		for _, c := range slow {
			c.Close()
		}
		harness.Eventually(t, patience, "memory to be given back", func() error {
			if grown := p.RSS() - before; grown > 24*mb {
				return fmt.Errorf("%d MB more", grown/mb)
			}
			return nil
		})
	})
}

package pipes

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// Limits of the tests below.
const (
	outputHard  = 6 << 20
	outputSoft  = 2 << 20
	outputSlack = 20 << 20 // blocks that are not full, receive chunks, and what is not output
)

// greed is a way to ask for far more than the limits allow, and to read nothing. A client that was
// trusted has had enough replies before to have many requests open at once.
type greed struct {
	name    string
	closed  int // clients closed when it is, which is their order
	trusted int // replies before
	times   int
	args    []any
}

var greedy = []greed{
	{"many small", 1, 10_000, 60_000, []any{"GET", "{a}small"}},
	{"some large", 2, 0, 200, []any{"GET", "{a}large"}},
	{"in parts", 3, 0, 500, []any{"MGET", "{a}middle", "{b}middle", "{c}middle"}},
	{"of all nodes", 4, 0, 300, []any{"KEYS", "*"}},
	{"of the proxy itself", 5, 0, 10_000, []any{"COMMAND", "INFO", "get", "set", "mget", "mset", "del", "xadd", "zadd", "eval", "keys", "scan"}},
}

// fillForGreedy makes the values that they ask for.
func fillForGreedy(t *testing.T, c *testbed.Conn) {
	t.Helper()
	for _, tag := range []string{"{a}", "{b}", "{c}"} {
		harness.MustDo(t, c, "MSET", tag+"small", strings.Repeat("s", 500), tag+"middle", strings.Repeat("m", 20_000), tag+"large", strings.Repeat("l", 300_000))
		var keys []string
		for i := range 60 {
			keys = append(keys, fmt.Sprint(tag, i, strings.Repeat("k", 500)))
		}
		harness.SetAll(t, c, keys, "")
	}
}

// outputLimit is client-output-buffer-limit normal, and how it shows that it is reached.
type outputLimit struct {
	name   string
	values []string
	most   int64 // bytes
	await  func(t *testing.T, m *meter, g greed)
}

// TestContract_PIPE5_OutputLimit: a client that does not read cannot make the proxy hold more than its
// output limit, whatever kinds of replies it asks for. At the soft limit it is not read any further, at the
// hard one it is closed; and nobody else is.
func TestContract_PIPE5_OutputLimit(t *testing.T) {
	for _, limit := range []outputLimit{
		{"soft", []string{"1gb", fmt.Sprint(outputSoft), "3600"}, outputSoft, awaitHeld},
		{"hard", []string{fmt.Sprint(outputHard), "0", "0"}, outputHard, awaitClosed},
	} {
		t.Run(limit.name, func(t *testing.T) {
			options := harness.Options{Args: append([]string{"--client-output-buffer-limit", "normal"}, limit.values...)}
			harness.EachProxy(t, options, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
				other := p.Dial(t)
				fillForGreedy(t, other)
				for _, g := range greedy {
					g.ask(t, p, limit, other)
				}
			})
		})
	}
}

// ask asks, waits until the limit is reached and looks at the memory that it has taken.
func (g greed) ask(t *testing.T, p *harness.Proxy, limit outputLimit, other *testbed.Conn) {
	t.Helper()
	c := g.dial(t, p)
	m, before := newMeter(t, p), p.RSS()
	wrote := make(chan error, 1)
	go func() { wrote <- c.Write(bytes.Repeat(testbed.AppendCommand(nil, g.args...), g.times)) }()
	limit.await(t, m, g)
	if got := harness.MustDo(t, other, "EXISTS", "{a}small", "{b}small", "{c}small"); got != int64(3) {
		t.Errorf("%s: another client's EXISTS: %v", g.name, got)
	}
	if grown := p.RSS() - before; grown > limit.most+outputSlack {
		t.Errorf("%s: the proxy has grown by %d KB, the limit is %d KB", g.name, grown>>10, limit.most>>10)
	}
	c.Close()
	<-wrote // it cannot have been taken whole
}

// dial connects as a client that has had the replies it is trusted for, and has little room for others.
func (g greed) dial(t *testing.T, p *harness.Proxy) *testbed.Conn {
	t.Helper()
	const together, room = 1000, 64 << 10
	c := p.Dial(t)
	c.SetTimeout(3 * harness.Patience)
	if err := c.NetConn().(*net.TCPConn).SetReadBuffer(room); err != nil {
		t.Fatal(err)
	}
	for done := 0; done < g.trusted; done += together {
		if _, err := c.DoRaw(bytes.Repeat(testbed.AppendCommand(nil, "EXISTS", "{a}small"), together), together); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// awaitHeld waits until a client is not read any further.
func awaitHeld(t *testing.T, m *meter, g greed) {
	t.Helper()
	if taken := m.settles(t); taken >= g.times {
		t.Errorf("%s: all of %d requests were taken", g.name, taken)
	}
}

// awaitClosed waits until the proxy says that it has closed another client.
func awaitClosed(t *testing.T, m *meter, g greed) {
	t.Helper()
	harness.Eventually(t, 3*harness.Patience, "the client to be closed", func() error {
		if n := infoNumber(t, m.conn, "client_output_buffer_limit_disconnections"); n != g.closed {
			return fmt.Errorf("%s: %d clients are, want %d", g.name, n, g.closed)
		}
		return nil
	})
}

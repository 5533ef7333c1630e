package abuse

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// Limits of the tests with slow readers.
const (
	outputHard = 8 * mb
	outputSoft = 2 * mb
	softSecs   = 2
)

// awaitMemory waits until the proxy has at most some bytes more than before.
func awaitMemory(t *testing.T, p *harness.Proxy, before, most int64) {
	t.Helper()
	harness.Eventually(t, time.Minute, "memory to be given back", func() error {
		if grown := p.RSS() - before; grown > most {
			return fmt.Errorf("%d kB more, want %d at most", grown>>10, most>>10)
		}
		return nil
	})
}

// closedClients counts the clients of which the log says that they were closed, those that
// it sums up included.
func closedClients(p *harness.Proxy) (n int) {
	for line := range strings.Lines(p.Log()) {
		if strings.Contains(line, `msg="client closed"`) {
			n++
		}
		if _, count, found := strings.Cut(line, `msg="more clients closed" `); found {
			_, count, _ = strings.Cut(count, " clients=")
			more, _ := strconv.Atoi(strings.TrimSpace(count))
			n += more
		}
	}
	return n
}

// TestCase_L01_SlowReaders: clients ask for far more than they may have outstanding and
// read nothing, of large values and of such as pass whole. The proxy holds no more for
// each than the soft limit, all in all, and closes every one with a reason. Another client is served
// all the while.
func TestCase_L01_SlowReaders(t *testing.T) {
	const (
		clients = 64
		asked   = 5000
		within  = 60 * time.Second // most wait for their turn to be found slow
	)
	limits := []string{"--client-output-buffer-limit", "normal", fmt.Sprint(outputHard), fmt.Sprint(outputSoft), fmt.Sprint(softSecs)}
	eachEngine(t, limits, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		other := p.Dial(t)
		values := []string{"{slow}large", "{slow}whole"}
		mustDo(t, other, "SET", values[0], long(mb))
		mustDo(t, other, "SET", values[1], long(mb/8))
		before := p.RSS()
		var slow []*testbed.Conn
		for i := range clients {
			c, value := p.Dial(t), values[i%2]
			if i%16 > 1 { // the others are not known for long replies yet
				mustDo(t, c, "GET", value)
			}
			mustWrite(t, c, repeat(asked, "GET", value))
			slow = append(slow, c)
		}
		deadline := time.Now().Add(within)
		for i := 0; closedClients(p) < clients; i++ {
			for _, key := range []string{"{slow}quick", "a", "b", "c"} {
				mustDo(t, other, "SET", key, i)
				if got := mustDo(t, other, "GET", key); got != fmt.Sprint(i) {
					t.Fatalf("another client's GET: %.50v, want %d", got, i)
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d clients are closed", closedClients(p), clients)
			}
			time.Sleep(5 * time.Millisecond)
		}
		const closed, reason = `msg="client closed"`, `reason="output limit reached`
		if n, all := p.LinesWith(closed, reason), p.LinesWith(closed); n != all || n == 0 {
			t.Errorf("%d of %d lines about clients that were closed have %s", n, all, reason)
		}
		grown := p.PeakRSS() - before
		if most := int64(clients*outputSoft + 32*mb); grown > most {
			t.Errorf("the proxy has grown by %d MB, want %d at most", grown/mb, most/mb)
		}
		t.Logf("the proxy has grown by %d MB", grown/mb)
		for _, c := range slow {
			c.Close()
		}
		awaitMemory(t, p, before, 48*mb)
	})
}

// TestCase_L02_MemoryAfterABurst: many clients have a large reply each, and stay. What
// they cost then is what idle clients cost.
func TestCase_L02_MemoryAfterABurst(t *testing.T) {
	const (
		together   = 100 // clients that ask at the same time
		clientMost = 8 << 10
	)
	clients := harness.Size(300, 10_000)
	want := string(bulk(long(mb)))
	harness.EachProxy(t, harness.Options{Args: []string{"--maxclients", fmt.Sprint(clients + 100)}}, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		mustDo(t, p.Dial(t), "SET", "big", long(mb))
		before := p.RSS()
		reply := make([]byte, len(want))
		for range clients / together {
			var burst []*testbed.Conn
			for range together {
				c := p.Dial(t)
				mustWrite(t, c, repeat(1, "GET", "big"))
				burst = append(burst, c)
			}
			for _, c := range burst {
				if err := c.NetConn().SetReadDeadline(time.Now().Add(patience)); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(c.NetConn(), reply); err != nil || string(reply) != want {
					t.Fatalf("%.50q, %v", reply, err)
				}
			}
		}
		t.Logf("the proxy has grown by %d MB", (p.PeakRSS()-before)/mb)
		awaitMemory(t, p, before, int64(24*mb+clients*clientMost))
	})
}

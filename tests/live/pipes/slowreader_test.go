package pipes

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// readers are clients of a proxy whose workers share their connections, one of each worker: slow ones, whose
// sockets take little of what they do not read, and others that wait behind them.
type readers struct {
	env         *harness.Env
	proxy       *harness.Proxy
	large, n    string // keys of one node: a large value, and a counter
	slow, other []*testbed.Conn
}

const (
	// handed is for requests to reach a proxy's connection to a node that is stopped: nothing tells when they have.
	handed = 30 * time.Millisecond
	// aSecond is the second that others wait behind replies that are not read, and time for a slow machine
	// to store them. A second for each worker would be four.
	aSecond = 3 * time.Second
	// pings are more requests than a proxy serves by chance.
	pings = 300
)

// eachReaders runs a test with each I/O engine.
func eachReaders(t *testing.T, workers, size int, test func(t *testing.T, r *readers), args ...string) {
	t.Helper()
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			p := e.Start(t, harness.Options{Workers: workers, Sharding: "yes", Args: args})
			node := tag(slotOfShard[0])
			r := &readers{env: e, proxy: p, large: node + "large", n: node + "n"}
			harness.MustDo(t, p.Dial(t), "SET", r.large, strings.Repeat("x", size))
			r.slow, r.other = dialEach(t, p, workers), dialEach(t, p, workers)
			for i, c := range r.slow {
				if err := c.NetConn().(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
					t.Fatal(err)
				}
				harness.MustDo(t, c, "GET", r.n)
				harness.MustDo(t, r.other[i], "INCR", r.n)
			}
			test(t, r)
		})
	})
}

// dialEach returns a client of each worker.
func dialEach(t *testing.T, p *harness.Proxy, workers int) []*testbed.Conn {
	t.Helper()
	clients := make([]*testbed.Conn, workers)
	for missing := workers; missing > 0; {
		c := p.Dial(t)
		if w := workerOf(t, c); clients[w] == nil {
			clients[w] = c
			missing--
		}
	}
	return clients
}

// workerOf is which worker serves a client, while it is the only one that asks.
func workerOf(t *testing.T, c *testbed.Conn) int {
	t.Helper()
	before := workerCommands(t, c)
	for range pings {
		c.Send("PING")
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for range pings {
		if _, err := c.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range workerCommands(t, c) {
		if n-before[i] >= pings {
			return i
		}
	}
	t.Fatal("no worker has served the client")
	return 0
}

// workerCommands is how many commands each worker has served.
func workerCommands(t *testing.T, c *testbed.Conn) (counts []int) {
	t.Helper()
	text, _ := harness.MustDo(t, c, "INFO").(string)
	_, list, _ := strings.Cut(text, "\r\nworker_commands:")
	list, _, _ = strings.Cut(list, "\r\n")
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("worker_commands:%s", list)
		}
		counts = append(counts, n)
	}
	return counts
}

// send sends a request and returns when it has been handed over.
func send(t *testing.T, c *testbed.Conn, args ...any) {
	t.Helper()
	c.Send(args...)
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(handed)
}

// behind lets the requests of others follow those of slow readers at the node, and returns when it has them.
func (r *readers) behind(t *testing.T, slow, others []*testbed.Conn) {
	t.Helper()
	resume := harness.Hold(t, r.env.Cluster, 0)
	for _, c := range slow {
		send(t, c, "GET", r.large)
	}
	for _, c := range others {
		send(t, c, "INCR", r.n)
	}
	resume()
}

// await wants a reply to an INCR within a time.
func await(t *testing.T, c *testbed.Conn, what string, within time.Duration) {
	t.Helper()
	begin := time.Now()
	reply, err := c.Receive()
	if _, counted := reply.(int64); !counted {
		t.Errorf("%s: %v, %v after %v", what, reply, err, time.Since(begin))
	} else if took := time.Since(begin); took > within {
		t.Errorf("%s: a reply after %v, want about a second at most", what, took)
	}
}

// TestContract_REDIR5_WhatWasAnsweredIsNotCalledUnsent: the node has answered an INCR, and the reply has been handed
// to the client's worker, where it is behind one that is not read; then the connection ends.
func TestContract_REDIR5_WhatWasAnsweredIsNotCalledUnsent(t *testing.T) {
	eachReaders(t, 3, 5_000_000, func(t *testing.T, r *readers) {
		n, err := r.env.Cluster.Primary(0)
		if err != nil {
			t.Fatal(err)
		}
		node := testbed.MustDial(t, n.Addr())
		for i, other := range r.other {
			before := harness.MustDo(t, other, "INCR", r.n).(int64)
			r.behind(t, r.slow[i:i+1], r.other[i:i+1])
			want := fmt.Sprint(before + 1)
			harness.Eventually(t, harness.Patience, "the INCR to be executed", func() error {
				if got := harness.MustDo(t, node, "GET", r.n); got != want {
					return fmt.Errorf("the counter is %v", got)
				}
				return nil
			})
			time.Sleep(unchanged) // the reply reaches the client's worker; it waits there for a second
			harness.MustDo(t, node, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			reply, err := other.Receive()
			if err != nil || strings.Contains(fmt.Sprint(reply), "not sent") {
				t.Errorf("worker %d: an INCR that was executed is answered with %v, %v", i, reply, err)
			}
			r.slow[i].Close()
		}
	})
}

// TestContract_PIPE5_SlowReadersTogetherHoldUpForASecond: one of each worker, all on one connection.
func TestContract_PIPE5_SlowReadersTogetherHoldUpForASecond(t *testing.T) {
	eachReaders(t, 4, 20<<20, func(t *testing.T, r *readers) {
		r.behind(t, r.slow, r.other[:1])
		await(t, r.other[0], "behind a slow reader of each worker", aSecond)
	})
}

// TestContract_PIPE5_AConnectionThatIsHeldUpIsNotLate: the node has answered in time, it is a client that is slow.
func TestContract_PIPE5_AConnectionThatIsHeldUpIsNotLate(t *testing.T) {
	eachReaders(t, 3, 20<<20, func(t *testing.T, r *readers) {
		r.behind(t, r.slow[:1], r.other)
		for i, c := range r.other {
			await(t, c, fmt.Sprint("worker ", i), aSecond)
		}
	}, "--backend-timeout-ms", "400")
}

// TestContract_PIPE5_WhatArrivesWithALargeReplyWaitsASecond: requests that the keeper of a connection finds in the
// very turn in which a reply begins that is not read.
func TestContract_PIPE5_WhatArrivesWithALargeReplyWaitsASecond(t *testing.T) {
	eachReaders(t, 3, 20<<20, func(t *testing.T, r *readers) {
		for i, slow := range r.slow { // one of them is the keeper's
			r.behindAtOnce(t, slow)
			for k, c := range r.other {
				await(t, c, fmt.Sprintf("worker %d, slow reader on %d", k, i), aSecond)
			}
			slow.Close()
		}
	})
}

// behindAtOnce lets the beginning of a reply and requests of all others be there when the proxy looks.
func (r *readers) behindAtOnce(t *testing.T, slow *testbed.Conn) {
	t.Helper()
	resume := harness.Hold(t, r.env.Cluster, 0)
	send(t, slow, "GET", r.large)
	signal(t, r.proxy, syscall.SIGSTOP)
	resume()
	time.Sleep(handed) // the reply is on its way
	for _, c := range r.other {
		send(t, c, "INCR", r.n)
	}
	signal(t, r.proxy, syscall.SIGCONT)
}

func signal(t *testing.T, p *harness.Proxy, sig syscall.Signal) {
	t.Helper()
	if err := p.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

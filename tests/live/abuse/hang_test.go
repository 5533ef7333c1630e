package abuse

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// A node that hangs keeps its connections. When the cluster has replaced it, the requests
// that it owes replies to fail, and its slots are served, long before the next refresh
// that nobody wished for.
func TestHungPrimaryIsLeft(t *testing.T) {
	stuck, _, hang, replaced := beforeAHang(t)
	hang()
	mustWrite(t, stuck, repeat(3, "INCR", "slow"))
	replaced()
	for range 3 {
		got, err := stuck.Receive()
		if text, ok := got.(testbed.Error); !ok || !strings.Contains(string(text), "is not a primary any more") {
			t.Fatalf("INCR at the hung node answers %v, %v", got, err)
		}
	}
	mustDo(t, stuck, "INCR", "slow")
}

// beforeAHang is a client that has set the key slow at a cluster whose map is not refreshed
// by itself, and what becomes of the key's primary: hang stops it for good, and
// replaced waits until it is no more.
func beforeAHang(t *testing.T) (c *testbed.Conn, old *testbed.Node, hang, replaced func()) {
	t.Helper()
	cluster := testbed.RunCluster(t, testbed.Options{})
	p := harness.Start(t, harness.Options{Cluster: cluster, Checked: true, Args: []string{"--topology-refresh-secs", "600"}})
	c = p.Dial(t)
	c.SetTimeout(3 * patience)
	mustDo(t, c, "SET", "slow", "1")
	shard := harness.ShardOf(t, cluster, "slow")
	old, err := cluster.Primary(shard)
	if err != nil {
		t.Fatal(err)
	}
	hang = func() {
		t.Helper()
		if err := old.Pause(); err != nil {
			t.Fatal(err)
		}
	}
	return c, old, hang, func() {
		t.Helper()
		if _, err := cluster.WaitFailover(context.Background(), shard, old.Index); err != nil {
			t.Fatal(err)
		}
	}
}

// A large request of which the hung node has taken a part fails too.
func TestHungPrimaryIsLeftInsideALargeRequest(t *testing.T) {
	stuck, old, hang, replaced := beforeAHang(t)
	request := testbed.AppendCommand(nil, "SET", "slow", long(64*mb))
	mustWrite(t, stuck, request[:4*mb])
	// Before it has begun, the node is only asked for its key, and it goes elsewhere.
	watch := testbed.MustDial(t, old.Addr())
	harness.Eventually(t, patience, "the node to take a part of the request", func() error {
		list, _ := mustDo(t, watch, "CLIENT", "LIST").(string)
		for _, field := range strings.Fields(list) {
			if text, ok := strings.CutPrefix(field, "qbuf="); ok {
				if n, err := strconv.Atoi(text); err == nil && n >= mb {
					return nil
				}
			}
		}
		return errors.New(list)
	})
	hang()
	written := make(chan error, 1)
	go func() { written <- stuck.Write(request[4*mb:]) }()
	replaced()
	got, err := stuck.Receive()
	if text, ok := got.(testbed.Error); !ok || !strings.Contains(string(text), "is not a primary any more") {
		t.Fatalf("SET at the hung node answers %v, %v", got, err)
	}
	if err := <-written; err != nil {
		t.Fatalf("the rest of the request: %v", err)
	}
	if got := mustDo(t, stuck, "GET", "slow"); got != "1" {
		t.Fatalf("a request without its end has written %.20q", got)
	}
}

// A process that is stopped for a while finds late replies in its sockets: they are
// replies all the same.
func TestPauseOfTheProxyIsNoTimeout(t *testing.T) {
	eachEngine(t, []string{"--backend-timeout-ms", "500"}, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		var clients []*testbed.Conn
		for range 20 {
			clients = append(clients, p.Dial(t))
		}
		for range 2 {
			for _, c := range clients {
				mustWrite(t, c, repeat(200, "INCR", "n"))
			}
			for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if err := p.Signal(sig); err != nil {
					t.Fatal(err)
				}
				time.Sleep(700 * time.Millisecond)
			}
			for _, c := range clients {
				for i := range 200 {
					got, err := c.Receive()
					if n, ok := got.(int64); err != nil || !ok || n <= 0 {
						t.Fatalf("reply %d: %v, %v", i, got, err)
					}
				}
			}
		}
	})
}

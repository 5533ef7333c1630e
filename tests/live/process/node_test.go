package process

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const clusterDown = "CLUSTERDOWN Hash slot not served"

// TestBackendAuth logs in at nodes that want a password or a user, and is told clearly
// when that fails.
func TestBackendAuth(t *testing.T) {
	cluster := one(t, testbed.Options{
		Password: "node-password", Config: []string{"user carrier on >carrier-password ~* &* +@all"},
	})
	seed := cluster.Addrs()[0]
	harness.EachEngine(t, func(t *testing.T, engine string) {
		for user, args := range map[string][]string{
			"default": {"--backend-auth-pass", "node-password"},
			"carrier": {"--backend-auth-user", "carrier", "--backend-auth-pass", "carrier-password"},
		} {
			p := harness.StartAt(t, engine, seed, args...)
			c := p.Dial(t)
			awaitServed(t, c)
			if got := harness.MustDo(t, c, "GET", "a"); got != "1" {
				t.Errorf("GET a: %v", got)
			}
			if !connectedAs(t, cluster, user) {
				t.Errorf("no connection of the proxy is logged in as %s", user)
			}
		}
		for reply, args := range map[string][]string{
			"NOAUTH":    nil,
			"WRONGPASS": {"--backend-auth-user", "carrier", "--backend-auth-pass", "node-password"},
		} {
			p := harness.StartAt(t, engine, seed, args...)
			c := p.Dial(t)
			awaitLog(t, p, `msg="no node gives the cluster map"`, "condition=refused", reply)
			harness.WantError(t, c, clusterDown, "GET", "a")
		}
		// Rights that suffice for the map do not make the pipes log in.
		p := harness.StartAt(t, engine, seed, "--topology-pass", "node-password", "--backend-auth-pass", "wrong")
		awaitLog(t, p, `msg="cluster map found"`)
		c := p.Dial(t)
		harness.Eventually(t, harness.Patience, "the login's error", func() error {
			_, err := c.Do("GET", "a")
			if err == nil || !strings.HasPrefix(err.Error(), "TRYAGAIN node "+seed+" cannot be reached (WRONGPASS ") {
				return fmt.Errorf("GET a: %v", err)
			}
			return nil
		})
		awaitLog(t, p, `msg="connection to node lost"`, "WRONGPASS")
	})
}

// awaitServed sets the key a to 1 as soon as its slot is served.
func awaitServed(t *testing.T, c *testbed.Conn) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "a slot to be served", func() error {
		_, err := c.Do("SET", "a", "1")
		return err
	})
}

func connectedAs(t *testing.T, cluster *testbed.Cluster, user string) bool {
	t.Helper()
	c, err := cluster.Nodes()[0].Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for line := range strings.Lines(harness.MustDo(t, c, "CLIENT", "LIST").(string)) {
		if strings.Contains(line, " name=mithril ") && strings.Contains(line, " user="+user+" ") {
			return true
		}
	}
	return false
}

// awaitLog waits for a line of the log with all the words.
func awaitLog(t *testing.T, p *harness.Proxy, words ...string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, fmt.Sprintf("a line with %q", words), func() error {
		if p.LinesWith(words...) == 0 {
			return errors.New("the log has none")
		}
		return nil
	})
}

// TestUnreachableBootstrap begins with a seed that accepts and hangs up, which counts how
// often it is asked, and puts a cluster in its place.
func TestUnreachableBootstrap(t *testing.T) {
	ports, err := testbed.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Release()
	seed, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(ports.Base)))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	go func() {
		for {
			c, err := seed.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			c.Close()
		}
	}()
	p := harness.StartAt(t, harness.Auto, seed.Addr().String())
	c := p.Dial(t)
	began := time.Now()
	harness.Eventually(t, harness.Patience, "the proxy to keep trying", func() error {
		harness.WantError(t, c, clusterDown, "SET", "a", "1")
		harness.WantError(t, c, clusterDown, "MGET", "a", "b")
		if n := asked.Load(); n < 5 {
			return fmt.Errorf("it has tried %d times", n)
		}
		return nil
	})
	if rate := float64(asked.Load()) / time.Since(began).Seconds(); rate > 20 {
		t.Errorf("the seed is asked %.0f times a second although it does not answer", rate)
	}
	if got := harness.MustDo(t, c, "PING"); got != "PONG" {
		t.Errorf("PING without a cluster: %v", got)
	}
	const lost, found = `msg="no node gives the cluster map"`, `msg="cluster map found"`
	if n := p.LinesWith(lost); n != 1 || p.LinesWith(found) != 0 {
		t.Errorf("%d lines say that there is no map, want 1:\n%s", n, p.Log())
	}
	seed.Close()
	one(t, testbed.Options{BasePort: ports.Base})
	awaitServed(t, c)
	if p.LinesWith(lost) != 1 || p.LinesWith(found) != 1 {
		t.Errorf("each change shall be logged once:\n%s", p.Log())
	}
}

// TestBackendTimeout stops a node: its requests fail in time, all others go on, and it is
// used again when it is back.
func TestBackendTimeout(t *testing.T) {
	const limit = 300 * time.Millisecond
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--backend-timeout-ms", fmt.Sprint(limit.Milliseconds())}})
		stuck, other := p.Dial(t), p.Dial(t)
		harness.MustDo(t, stuck, "MSET", "a", "1", "b", "2")
		resume := harness.HoldOwner(t, e.Cluster, "a")
		began := time.Now()
		replies, err := stuck.Pipeline([]any{"GET", "a"}, []any{"GET", "a"}, []any{"PING"})
		took := time.Since(began)
		got := harness.MustDo(t, other, "GET", "b")
		resume()
		if err != nil || took < limit || took > 10*limit {
			t.Errorf("the replies took %v, %v, want %v and little more", took, err, limit)
		}
		if got != "2" {
			t.Errorf("another node's key is %v", got)
		}
		for i, reply := range replies {
			text, _ := reply.(testbed.Error)
			if i < 2 && !strings.HasSuffix(string(text), "lost before the reply (no reply within backend-timeout-ms), the outcome of the command is unknown") || i == 2 && reply != "PONG" {
				t.Errorf("reply %d: %v", i, reply)
			}
		}
		harness.Eventually(t, harness.Patience, "the node to be used again", func() error {
			_, err := stuck.Do("GET", "a")
			return err
		})
		if p.LinesWith(`msg="connection to node lost"`, "backend-timeout-ms") == 0 {
			t.Errorf("the log does not tell of it:\n%s", p.Log())
		}
	})
}

// TestNodeClosesIdleConnections lets a node hang up on a connection that nobody uses. The
// next request does not notice, and the log warns of nothing.
func TestNodeClosesIdleConnections(t *testing.T) {
	cluster := one(t, testbed.Options{Config: []string{"timeout 1"}})
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Checked: true, Args: []string{"--loglevel", "debug"}})
		c := p.Dial(t)
		harness.MustDo(t, c, "SET", "a", "1")
		harness.Eventually(t, harness.Patience, "the node to close the connection", func() error {
			sockets, err := p.Sockets()
			for _, s := range sockets {
				if isNode(cluster, int(s.Remote.Port())) {
					err = errors.New("it is open")
				}
			}
			return err
		})
		if got := harness.MustDo(t, c, "GET", "a"); got != "1" {
			t.Errorf("GET behind it: %v", got)
		}
		if p.LinesWith("level=debug", `msg="connection to node lost"`) == 0 || p.LinesWith("level=warning") != 0 {
			t.Errorf("it shall be logged for debugging alone:\n%s", p.Log())
		}
	})
}

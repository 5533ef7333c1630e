package abuse

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// A script can end in any error, one that looks like a redirect included. It must not lead
// the requests of others, or a connection with our password, to an address of its choice.
func TestScriptCannotRedirectOthers(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		trap, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer trap.Close()
		caught := make(chan net.Addr, 100)
		go func() {
			for {
				c, err := trap.Accept()
				if err != nil {
					return
				}
				c.Close()
				caught <- c.RemoteAddr()
			}
		}()
		attacker, victim := p.Dial(t), p.Dial(t)
		mustDo(t, victim, "SET", "key", "1")
		slot := mustDo(t, e.DialLone(t), "CLUSTER", "KEYSLOT", "key")
		for _, kind := range []string{"MOVED", "ASK"} {
			for _, key := range []string{"key", "other"} {
				script := fmt.Sprintf("return redis.error_reply('%s %d %s')", kind, slot, trap.Addr())
				if got, err := attacker.Do("EVAL", script, 1, key); err == nil {
					t.Errorf("%s for %s answers %v", kind, key, got)
				}
			}
			script := fmt.Sprintf("return redis.error_reply('%s %d %s')", kind, slot, trap.Addr())
			if got, err := attacker.Do("EVAL", script, 0); err == nil {
				t.Errorf("%s without a key answers %v", kind, got)
			}
		}
		if got := mustDo(t, victim, "INCR", "key"); got != int64(2) {
			t.Errorf("INCR answers %v", got)
		}
		if len(caught) > 0 {
			t.Errorf("the proxy has connected to the address that a script named, %d times", len(caught))
		}
	})
}

// Nor may it make the proxy leave its connections: one that names the node itself has done
// so for real redirects.
func TestScriptCannotBreakConnections(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		c := p.Dial(t)
		mustDo(t, c, "SET", "key", "1")
		slot := mustDo(t, e.DialLone(t), "CLUSTER", "KEYSLOT", "key")
		n, err := e.Cluster.Primary(harness.ShardOf(t, e.Cluster, "key"))
		if err != nil {
			t.Fatal(err)
		}
		before := connections(t, n)
		for range 5 {
			script := fmt.Sprintf("return redis.error_reply('MOVED %d %s')", slot, n.Addr())
			if _, err := c.Do("EVAL", script, 1, "key"); err == nil || !strings.HasPrefix(err.Error(), "ERR the script was answered") {
				t.Fatalf("the script answers %v", err)
			}
		}
		if after := connections(t, n); !slices.Equal(after, before) {
			t.Errorf("the proxy's connections to the node were %v and are %v", before, after)
		}
	})
}

// TestScriptRunsOnce: whatever a script says, and wherever it has it from, it has run.
func TestScriptRunsOnce(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		c := p.Dial(t)
		slot := mustDo(t, e.DialLone(t), "CLUSTER", "KEYSLOT", "key")
		for i, kind := range []string{"MOVED", "ASK"} {
			for shard := range e.Cluster.Shards {
				n, err := e.Cluster.Primary(shard)
				if err != nil {
					t.Fatal(err)
				}
				text := fmt.Sprintf("%s %d %s", kind, slot, n.Addr())
				mustDo(t, c, "SET", "{key}text", text)
				mustDo(t, c, "DEL", "key")
				const script = "redis.call('incr', KEYS[1]); return redis.error_reply(redis.call('get', KEYS[2]))"
				if _, err := c.Do("EVAL", script, 2, "key", "{key}text"); err == nil || !strings.HasPrefix(err.Error(), "ERR the script was answered") {
					t.Errorf("%s: %v", text, err)
				}
				if runs := mustDo(t, c, "GET", "key"); runs != "1" {
					t.Errorf("%s: the script has run %v times, %d", text, runs, i)
				}
			}
		}
	})
}

// connections are the ids of the proxies' connections at a node.
func connections(t *testing.T, n *testbed.Node) (ids []string) {
	t.Helper()
	c, err := n.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for line := range strings.Lines(mustDo(t, c, "CLIENT", "LIST").(string)) {
		if strings.Contains(line, " name=mithril ") {
			ids = append(ids, strings.Fields(line)[0])
		}
	}
	slices.Sort(ids) // servers turn their lists around now and then
	return ids
}

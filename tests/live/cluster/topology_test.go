package cluster

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const clusterDown = "CLUSTERDOWN Hash slot not served"

// eachSecond makes the proxy fetch the map every second even if nothing happens.
var eachSecond = []string{"--topology-refresh-secs", "1"}

// awaitFetches waits until a node has told its map several times more, so that what it
// told has been taken or refused.
func awaitFetches(t *testing.T, node *fake) {
	t.Helper()
	goal := node.times("CLUSTER SLOTS") + 2
	harness.Eventually(t, harness.Patience, "the map to be fetched", func() error {
		if n := node.times("CLUSTER SLOTS"); n < goal {
			return fmt.Errorf("it was told %d times, to reach %d", n, goal)
		}
		return nil
	})
}

// Names are looked up, where no name server can be asked for one that is not known.
func TestContract_TOPO1_BootstrapByName(t *testing.T) {
	harness.InNamespace(t, func(t *testing.T) {
		node := newFake(t)
		harness.EachEngine(t, func(t *testing.T, engine string) {
			seeds := fmt.Sprintf("no-such-name.invalid:7000,localhost:%d", node.port)
			c := harness.StartAt(t, engine, seeds, "--topology-timeout-ms", "500").Dial(t)
			await(t, c, nil, "GET", "foo")
		})
	})
}

// The seed is not part of the cluster that it names. When the whole cluster is gone, the
// seed is asked again.
func TestContract_TOPO1_BootstrapIsAskedAgain(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		seed, first, second := newFake(t), newFake(t), newFake(t)
		first.script(func([]any) string { return "+first\r\n" })
		second.script(func([]any) string { return "+second\r\n" })
		first.tell(slotsReply(slotRange{0, 16383, first.port}))
		seed.tell(first.slots)
		p := harness.StartAt(t, engine, fmt.Sprintf("localhost:%d", seed.port))
		c := p.Dial(t)
		await(t, c, "first", "GET", "foo")
		seed.tell(second.slots)
		first.stop()
		await(t, c, "second", "GET", "foo")
		if n := seed.servedConns(); n != 0 {
			t.Errorf("the seed was sent requests of clients on %d connections", n)
		}
	})
}

// A map that cannot be true is refused, the last one is kept, and that is said once.
func TestContract_TOPO1_WrongMapIsKeptOut(t *testing.T) {
	node, other := newFake(t), newFake(t)
	node.script(func([]any) string { return "+node\r\n" })
	other.script(func([]any) string { return "+other\r\n" })
	good := node.slots
	for name, wrong := range map[string]string{
		"overlapping":     slotsReply(slotRange{0, 9000, node.port}, slotRange{9000, 16383, other.port}),
		"beyond the last": slotsReply(slotRange{0, 16384, other.port}),
		"turned around":   slotsReply(slotRange{16383, 0, other.port}),
		"not an array":    "+OK\r\n",
		"not RESP":        "what?\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			node.tell(good)
			p := harness.StartAt(t, harness.Auto, node.addr, eachSecond...)
			c := p.Dial(t)
			await(t, c, "node", "GET", "foo")
			node.tell(wrong)
			awaitFetches(t, node)
			for _, key := range []string{"foo", "bar", "hello"} {
				if got := harness.MustDo(t, c, "GET", key); got != "node" {
					t.Errorf("GET %s: %v", key, got)
				}
			}
			if n := p.LinesWith("level=warning"); n != 1 || p.LinesWith(`msg="no node gives the cluster map"`, "condition=malformed", node.addr) != 1 {
				t.Errorf("the log shall have one warning, about the map:\n%s", p.Log())
			}
			node.tell(other.slots)
			await(t, c, "other", "GET", "foo")
		})
	}
}

// lowKey lies in the slots that the maps below cover, foo does not.
const lowKey = "bar" // slot 5061

func TestContract_TOPO1_RequireFullCoverage(t *testing.T) {
	for _, require := range []string{"no", "yes"} {
		t.Run(require, func(t *testing.T) {
			node := newFake(t)
			full, half := node.slots, slotsReply(slotRange{0, 8191, node.port})
			node.tell(half)
			p := harness.StartAt(t, harness.Auto, node.addr, append([]string{"--require-full-coverage", require}, eachSecond...)...)
			c := p.Dial(t)
			awaitFetches(t, node)
			harness.WantError(t, c, clusterDown, "GET", "foo")
			if require == "no" {
				await(t, c, nil, "GET", lowKey)
				harness.WantError(t, c, clusterDown, "MGET", lowKey, "foo")
			} else {
				harness.WantError(t, c, clusterDown, "GET", lowKey)
			}

			node.tell(full)
			await(t, c, nil, "GET", "foo")
			await(t, c, nil, "GET", lowKey)

			node.tell(half)
			awaitFetches(t, node)
			await(t, c, nil, "GET", lowKey)
			if require == "no" {
				harness.WantError(t, c, clusterDown, "GET", "foo")
			} else {
				await(t, c, nil, "GET", "foo")
			}
			if n := p.LinesWith(`msg="slots without an owner"`, "covered=8192"); n != 2 {
				t.Errorf("%d lines say that slots have no owner, want 2:\n%s", n, p.Log())
			}
		})
	}
}

// A slot that loses its owner answers CLUSTERDOWN, and no other slot does.
func TestContract_TOPO1_SlotWithoutOwner(t *testing.T) {
	const number = 400
	cluster := testbed.RunCluster(t, testbed.Options{
		Primaries: 2, Replicas: testbed.NoReplicas, Config: []string{"cluster-require-full-coverage no"},
	})
	onAll := func(words ...any) {
		for _, n := range cluster.Nodes() {
			c, err := n.Dial()
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Do(words...)
			c.Close()
			if err != nil && !strings.Contains(err.Error(), "already") {
				t.Fatalf("%s: %v: %v", n.Addr(), words, err)
			}
		}
	}
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := harness.StartAt(t, engine, cluster.Addrs()[0], eachSecond...)
		c := p.Dial(t)
		await(t, c, "OK", "SET", tag(number), "1")
		onAll("CLUSTER", "DELSLOTS", number)
		defer onAll("PING")
		harness.Eventually(t, harness.Patience, "the slot to be down", func() error {
			if reply, err := c.Do("GET", tag(number)); err != testbed.Error(clusterDown) {
				return fmt.Errorf("GET: %v, %v", reply, err)
			}
			return nil
		})
		for range 50 {
			harness.MustDo(t, c, "MSET", tag(number-1), "1", tag(number+1), "1", tag(16000), "1")
			harness.WantError(t, c, clusterDown, "SET", tag(number), "2")
			harness.WantError(t, c, clusterDown, "MGET", tag(number-1), tag(number))
		}
		owner, err := cluster.Nodes()[0].Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer owner.Close()
		harness.MustDo(t, owner, "CLUSTER", "ADDSLOTS", number)
		await(t, c, "OK", "SET", tag(number), "3")
	})
}

// A node that is not up yet is no reason not to use the others.
func TestContract_TOPO1_OneNodeIsMissing(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	missing := gone.Addr().(*net.TCPAddr).Port
	gone.Close()
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node := newFake(t)
		node.tell(slotsReply(slotRange{0, 8191, node.port}, slotRange{8192, 16383, missing}))
		p := harness.StartAt(t, engine, fmt.Sprintf("127.0.0.1:%d,%s", missing, node.addr))
		c := p.Dial(t)
		await(t, c, nil, "GET", lowKey)
		reply, err := c.Do("GET", "foo")
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("TRYAGAIN node 127.0.0.1:%d cannot be reached (", missing)) {
			t.Errorf("GET at the missing node: %v, %v", reply, err)
		}
		if reply, err := c.Do("MGET", lowKey, "foo"); err == nil || !strings.HasPrefix(err.Error(), "TRYAGAIN ") {
			t.Errorf("MGET over both nodes: %v, %v", reply, err)
		}
		await(t, c, nil, "GET", lowKey)
	})
}

package cluster

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestEndpoints runs clusters whose nodes name each other in every way there is: group H
// of the field cases. However a node is named, it is one node, with one connection for
// one client.
func TestEndpoints(t *testing.T) {
	kinds := map[string]testbed.Options{
		"unknown endpoint":        {Config: []string{"cluster-preferred-endpoint-type unknown-endpoint"}},
		"hostname":                {Hostname: "localhost", Config: []string{"cluster-preferred-endpoint-type hostname"}},
		"hostname beside address": {Hostname: "localhost"},
	}
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		l.Close()
		kinds["IPv6"] = testbed.Options{Config: []string{"bind 127.0.0.1 ::1", "cluster-announce-ip ::1"}}
	}
	for name, options := range kinds {
		t.Run(name, func(t *testing.T) {
			options.Primaries, options.Replicas = 2, testbed.NoReplicas
			cluster := testbed.RunCluster(t, options)
			harness.EachEngine(t, func(t *testing.T, engine string) { testEndpoints(t, cluster, engine) })
		})
	}
}

func testEndpoints(t *testing.T, cluster *testbed.Cluster, engine string) {
	const number = 300
	p := harness.StartAt(t, engine, cluster.Addrs()[0])
	c := p.Dial(t)
	key, far := tag(number), tag(16000)
	await(t, c, "OK", "MSET", key, "1", far, "2")
	for _, ends := range [][2]int{{0, 1}, {1, 0}} {
		move := testbed.Move{Slot: number, From: ends[0], To: ends[1]}
		move.Hook = func(testbed.MoveStep) error {
			if got := harness.MustDo(t, c, "MGET", key, far); fmt.Sprint(got) != "[1 2]" {
				t.Errorf("MGET: %v", got)
			}
			if got := harness.MustDo(t, c, "GET", key); got != "1" {
				t.Errorf("GET: %v", got)
			}
			return nil
		}
		if err := cluster.MoveSlotLegacy(t.Context(), move); err != nil {
			t.Fatal(err)
		}
	}
	if infoNumber(t, c, "redirections") == 0 {
		t.Error("there was no redirect: this has tested nothing")
	}
	for _, node := range cluster.Nodes() {
		if n := pipesAt(t, node); n != 1 {
			t.Errorf("node %s has %d connections of one client, want 1", node.Addr(), n)
		}
	}
	if n := p.LinesWith("level=warning"); n != 0 {
		t.Errorf("%d warnings are logged:\n%s", n, p.Log())
	}
}

// pipesAt counts the proxy's connections for clients at a node.
func pipesAt(t *testing.T, node *testbed.Node) int {
	t.Helper()
	c, err := node.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return strings.Count(harness.MustDo(t, c, "CLIENT", "LIST").(string), " name=mithril ")
}

// An announced address can be one that is meant for others: address-map turns it into one
// that can be dialed from here, in maps and in redirects.
func TestAddressMap(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node, other := newFake(t), newFake(t)
		node.tell(strings.ReplaceAll(node.slots, "$9\r\n127.0.0.1\r\n", "$12\r\nnode.invalid\r\n"))
		other.script(func([]any) string { return "+other\r\n" })
		p := harness.StartAt(t, engine, node.addr,
			"--address-map", "node.invalid=127.0.0.1", "--address-map", fmt.Sprintf("other.invalid:1=127.0.0.1:%d", other.port))
		c := p.Dial(t)
		await(t, c, nil, "GET", "foo")
		node.script(func([]any) string { return fmt.Sprintf("-ASK %d other.invalid:1\r\n", fooSlot) })
		if got := harness.MustDo(t, c, "GET", "foo"); got != "other" {
			t.Errorf("GET after a redirect: %v", got)
		}
	})
}

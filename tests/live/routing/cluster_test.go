package routing

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_ROUTE9_OneNodeWithEverySlot compares what the proxy says of its cluster with
// what a cluster of one node says of itself. Ids and ports apart, they are the same.
func TestContract_ROUTE9_OneNodeWithEverySlot(t *testing.T) {
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		one, err := testbed.Start(context.Background(), testbed.Options{
			Engine: e.Server, Primaries: 1, Replicas: testbed.NoReplicas, Config: []string{"cluster-announce-ip 127.0.0.1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { one.Stop() })
		for _, proto := range []int{2, 3} {
			proxy := harness.Hello(t, e.Proxy.Dial(t), proto)
			node := harness.Hello(t, testbed.MustDial(t, one.Addrs()[0]), proto)
			for _, request := range [][]any{
				{"CLUSTER", "SLOTS"}, {"CLUSTER", "SHARDS"}, {"CLUSTER", "NODES"}, {"CLUSTER", "MYID"}, {"CLUSTER", "LINKS"},
			} {
				got := anonymous(t, do(t, proxy, request...), e.Proxy.Addr)
				want := anonymous(t, do(t, node, request...), one.Addrs()[0])
				if got != want {
					t.Errorf("%v in RESP%d:\n got %s\nwant %s", request, proto, got, want)
				}
			}
			clusterInfo(t, proxy, node)
		}
	})
}

var (
	hexID    = regexp.MustCompile(`[0-9a-f]{40}`)
	infoLine = regexp.MustCompile(`(?m)^(\w+):(.*?)\r?$`)
)

// anonymous prints a reply with its types, ids and ports replaced by words.
func anonymous(t *testing.T, reply any, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := reply.(testbed.Verbatim); ok {
		reply = v.Format + ":" + v.Text
	}
	bus := fmt.Sprint(number(t, port) + testbed.BusOffset)
	text := hexID.ReplaceAllString(fmt.Sprintf("%#v", reply), "ID")
	return strings.NewReplacer(bus, "BUS", port, "PORT", fmt.Sprintf("%#x", number(t, port)), "PORT").Replace(text)
}

// clusterInfo compares the fields of CLUSTER INFO, and the values of those that clients
// read.
func clusterInfo(t *testing.T, proxy, node *testbed.Conn) {
	t.Helper()
	got, want := infoFields(do(t, proxy, "CLUSTER", "INFO")), infoFields(do(t, node, "CLUSTER", "INFO"))
	for _, field := range []string{"cluster_state", "cluster_slots_assigned", "cluster_slots_ok", "cluster_slots_pfail", "cluster_slots_fail",
		"cluster_known_nodes", "cluster_size"} {
		if got[field] != want[field] || got[field] == "" {
			t.Errorf("CLUSTER INFO: %s is %q, want %q", field, got[field], want[field])
		}
	}
	for field := range got {
		if _, known := want[field]; !known {
			t.Errorf("CLUSTER INFO has %s, which no node has", field)
		}
	}
}

func infoFields(reply any) map[string]string {
	if v, ok := reply.(testbed.Verbatim); ok {
		reply = v.Text
	}
	fields := map[string]string{}
	for _, match := range infoLine.FindAllStringSubmatch(reply.(string), -1) {
		fields[match[1]] = match[2]
	}
	return fields
}

// TestContract_ROUTE9_IDIsStable: the id is the same for every client, in every reply, and
// after a restart at the same address.
func TestContract_ROUTE9_IDIsStable(t *testing.T) {
	harness.One(t, testbed.Valkey91, harness.IOUring, func(t *testing.T, e *harness.Env) {
		const announced = "192.0.2.7:4711"
		var ids []string
		for range 2 {
			p := e.Start(t, harness.Options{Args: []string{"--announce-addr", announced}})
			for range 2 {
				c, err := testbed.Dial(p.Addr)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, do(t, c, "CLUSTER", "MYID").(string), hexID.FindString(do(t, c, "CLUSTER", "NODES").(string)),
					hexID.FindString(fmt.Sprint(do(t, c, "CLUSTER", "SLOTS"))), hexID.FindString(fmt.Sprint(do(t, c, "CLUSTER", "SHARDS"))))
				if slots := fmt.Sprint(do(t, c, "CLUSTER", "SLOTS")); !strings.Contains(slots, "[0 16383 [192.0.2.7 4711 ") {
					t.Errorf("CLUSTER SLOTS does not announce %s: %s", announced, slots)
				}
				c.Close()
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
		}
		if !hexID.MatchString(ids[0]) || len(slices.Compact(ids)) != 1 {
			t.Errorf("the ids are %v, want one of 40 hexadecimal digits", ids)
		}
	})
}

// TestContract_ROUTE9_NoNodeShowsThrough: no address of a node is in what a client learns.
func TestContract_ROUTE9_NoNodeShowsThrough(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for _, request := range [][]any{
			{"CLUSTER", "NODES"}, {"CLUSTER", "SLOTS"}, {"CLUSTER", "SHARDS"}, {"CLUSTER", "INFO"}, {"CLUSTER", "LINKS"}, {"ROLE"}, {"INFO"}, {"HELLO"},
		} {
			text := fmt.Sprint(do(t, c, request...))
			for _, n := range e.Cluster.Nodes() {
				if strings.Contains(text, n.Addr()) || strings.Contains(text, n.ID) {
					t.Errorf("%v names node %s: %s", request, n.Addr(), text)
				}
			}
		}
	})
}

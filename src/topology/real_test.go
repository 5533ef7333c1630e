package topology

import (
	"strings"
	"testing"
)

var engines = []string{"redis7.0", "redis8.0", "valkey9.1"}

// Replies of six-node clusters after one replica and one primary were killed: the dead replica has left CLUSTER SLOTS, and
// the dead primary is still in CLUSTER SHARDS, in a shard of its own without slots (redis7.0) or beside its successor.
func TestContract_TOPO1_MapsOfRealServersAfterAFailover(t *testing.T) {
	want := map[string]string{
		"redis7.0": `0-5460 shard 0
5461-10922 shard 1
10923-16383 shard 2
0d89 127.0.0.1:17200 [127.0.0.1:17200] shard 0 primary online
4c04 127.0.0.1:17203 [127.0.0.1:17203] shard 2 primary online
dd52 127.0.0.1:17204 [127.0.0.1:17204] shard 0 replica online
feb3 127.0.0.1:17201 [127.0.0.1:17201] shard 1 primary online
`,
		"redis8.0": `0-5460 shard 0
5461-10922 shard 1
10923-16383 shard 2
3e55 127.0.0.1:17300 [127.0.0.1:17300] shard 0 primary online
629f 127.0.0.1:17304 [127.0.0.1:17304] shard 1 primary online
98c6 127.0.0.1:17302 [127.0.0.1:17302] shard 2 primary online
f1c3 127.0.0.1:17303 [127.0.0.1:17303] shard 0 replica online
`,
		"valkey9.1": `0-5460 shard 0
5461-10922 shard 1
10923-16383 shard 2
26a9 127.0.0.1:17103 [127.0.0.1:17103] shard 1 primary online
7f78 127.0.0.1:17104 [127.0.0.1:17104] shard 2 replica online
92de 127.0.0.1:17100 [127.0.0.1:17100 h1.example:17100] shard 0 primary online
fbc6 127.0.0.1:17102 [127.0.0.1:17102] shard 2 primary online
`,
	}
	for _, engine := range engines {
		for _, proto := range []string{"resp2", "resp3"} {
			slots := readFile(t, engine+"-failover.slots."+proto)
			shards := readFile(t, engine+"-failover.shards."+proto)
			both := mustParse(t, slots, shards, Source{Host: "127.0.0.1"})
			if got := dump(both); got != want[engine] {
				t.Errorf("%s %s:\n%swant:\n%s", engine, proto, got, want[engine])
			}
			if alone := mustParse(t, []byte("-NOPERM no\r\n"), shards, Source{Host: "127.0.0.1"}); !alone.Equal(both) {
				t.Errorf("%s %s: CLUSTER SHARDS alone says\n%swant\n%s", engine, proto, dump(alone), dump(both))
			}
		}
	}
}

// The same clusters whose answering node has no host names to prefer ("?"), or leaves the endpoint open.
func TestContract_TOPO2_EndpointsThatRealServersLeaveOpen(t *testing.T) {
	for _, engine := range engines {
		slots := readFile(t, engine+"-hostname.slots.resp2")
		if !strings.Contains(string(slots), "$1\r\n?\r\n") {
			t.Fatalf("%s: no ? in the reply", engine)
		}
		for _, n := range mustParse(t, slots, readFile(t, engine+"-hostname.shards.resp2"), Source{Host: "10.1.1.1"}).Nodes {
			host, _, _ := strings.Cut(n.Addr, ":")
			if host != "127.0.0.1" && host != "h1.example" {
				t.Errorf("%s: node is dialled at %s, want the address beside the ?", engine, n.Addr)
			}
		}
		slots = readFile(t, engine+"-unknown-endpoint.slots.resp3")
		shards := readFile(t, engine+"-unknown-endpoint.shards.resp3")
		both := mustParse(t, slots, shards, Source{Host: "10.1.1.1"})
		for _, n := range both.Nodes {
			if !strings.HasPrefix(n.Addr, "10.1.1.1:17") {
				t.Errorf("%s: node is dialled at %s, want the host that was asked", engine, n.Addr)
			}
		}
		if alone := mustParse(t, nil, shards, Source{Host: "10.1.1.1"}); !alone.Equal(both) {
			t.Errorf("%s: CLUSTER SHARDS alone says\n%swant\n%s", engine, dump(alone), dump(both))
		}
	}
}

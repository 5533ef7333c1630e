package routing

import (
	"fmt"
	"slices"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// placement says which shards have keys.
type placement struct {
	name   string
	keys   []string
	shards int // that have keys
}

// slotOfEveryShard has a slot of each shard of a cluster as the test bed makes it.
var slotOfEveryShard = []uint16{100, 8000, 16000}

// placements have keys on every shard, on one alone, and nowhere.
var placements = []placement{
	{"every shard", spread(60), 3},
	{"one shard", tagged("one", 20), 1},
	{"no shard", nil, 0},
}

// tagged returns n keys of one slot.
func tagged(tag string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("{%s}:%d", tag, i))
	}
	return keys
}

// numbered returns n keys, which lie on every shard if they are many.
func numbered(prefix string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint(prefix, i))
	}
	return keys
}

// fill sets keys to any value.
func fill(t *testing.T, c *testbed.Conn, keys []string) {
	t.Helper()
	harness.SetAll(t, c, keys, "v")
}

// place fills the empty servers of a cell.
func (p placement) place(t *testing.T, e *harness.Env, pair *harness.Pair) {
	t.Helper()
	e.Flush(t)
	fill(t, pair.Proxy, p.keys)
	fill(t, pair.Lone, p.keys)
	filled := 0
	for _, c := range primaries(t, e) {
		if do(t, c, "DBSIZE") != int64(0) {
			filled++
		}
	}
	if filled != p.shards {
		t.Fatalf("%d shards have keys, want %d", filled, p.shards)
	}
}

// eachPlacement runs a test for every placement, with servers that are filled so before
// each protocol.
func eachPlacement(t *testing.T, e *harness.Env, test func(t *testing.T, pair *harness.Pair, p placement)) {
	t.Helper()
	for _, p := range placements {
		for _, proto := range []int{2, 3} {
			t.Run(fmt.Sprintf("keys on %s, RESP%d", p.name, proto), func(t *testing.T) {
				pair := e.Pair(t, proto)
				p.place(t, e, pair)
				test(t, pair, p)
			})
		}
	}
}

// words turns an array of strings into a sorted list.
func words(t *testing.T, reply any) []string {
	t.Helper()
	list, isArray := reply.([]any)
	if !isArray {
		t.Fatalf("%v is no array", reply)
	}
	var words []string
	for _, item := range list {
		word, isString := item.(string)
		if !isString {
			t.Fatalf("%v is no string", item)
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// sameWords compares lists whatever their order, and shows the first difference of long ones.
func sameWords(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s: %d words, want %d; they differ from %q and %q on", what, len(got), len(want), got[min(i, len(got)):min(i+3, len(got))],
				want[min(i, len(want)):min(i+3, len(want))])
			return
		}
	}
}

// callsByNode counts how often each node has run a command since resetStats.
func callsByNode(t *testing.T, nodes []*testbed.Conn, command string) (counts []int) {
	t.Helper()
	for _, c := range nodes {
		counts = append(counts, calls(t, []*testbed.Conn{c}, command))
	}
	return counts
}

// replicas connects to every replica of the cell's cluster.
func replicas(t *testing.T, e *harness.Env) []*testbed.Conn {
	t.Helper()
	var conns []*testbed.Conn
	for _, n := range e.Cluster.Nodes() {
		c := testbed.MustDial(t, n.Addr())
		if role := do(t, c, "ROLE").([]any)[0]; role == "slave" {
			conns = append(conns, c)
		}
	}
	return conns
}

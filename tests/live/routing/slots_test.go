package routing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mithril/tests/harness"
)

// taggedKeys are keys with the slots that a server gives them.
var taggedKeys = []struct {
	key  string
	slot int64
}{
	{"{}", 15257}, {"foo{}{bar}", 8363}, {"foo{{bar}}zap", 4015}, {"foo{bar}{zap}", 5061}, {"{", 4092}, {"{}a", 10875}, {"a{b", 13340},
	{"", 0}, {"foo", 12182}, {"{foo}", 12182}, {"x{foo}y", 12182}, {"}foo{", 8453}, {"a}b{foo}", 12182},
}

// TestCase_A06_HashTags: only the first brace counts, and an empty pair means the whole key.
func TestCase_A06_HashTags(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c, node := e.Proxy.Dial(t), primaries(t, e)[0]
		for _, k := range taggedKeys {
			if want := do(t, node, "CLUSTER", "KEYSLOT", k.key); want != k.slot {
				t.Errorf("slot of %q is %v to the node, not %d", k.key, want, k.slot)
			}
			if got := do(t, c, "CLUSTER", "KEYSLOT", k.key); got != k.slot {
				t.Errorf("CLUSTER KEYSLOT %q: got %v, want %d", k.key, got, k.slot)
			}
		}
	})
}

// TestCase_A06_BracesAtRandom compares the slots of keys made of little but braces with
// those of a node.
func TestCase_A06_BracesAtRandom(t *testing.T) {
	fuzzSlots(t, 10_000, func(random *rand.Rand) string { return randomKey(random, "{}{}{}ab") })
}

// TestCase_A07_BinaryKeysAtRandom does the same with any bytes.
func TestCase_A07_BinaryKeysAtRandom(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	fuzzSlots(t, 5_000, func(random *rand.Rand) string { return randomKey(random, string(all)+"{}\r\n\x00") })
}

func randomKey(random *rand.Rand, alphabet string) string {
	key := make([]byte, random.IntN(40))
	for i := range key {
		key[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(key)
}

func fuzzSlots(t *testing.T, keys int, make func(*rand.Rand) string) {
	random := rand.New(rand.NewPCG(6, 7))
	var commands [][]any
	for range keys {
		commands = append(commands, []any{"CLUSTER", "KEYSLOT", make(random)})
	}
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		want, err := primaries(t, e)[0].Pipeline(commands...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Proxy.Dial(t).Pipeline(commands...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range commands {
			if got[i] != want[i] {
				t.Errorf("CLUSTER KEYSLOT %q: got %v, want %v", commands[i][2], got[i], want[i])
			}
		}
	})
}

// TestContract_ROUTE1_EveryKeyAtItsOwner writes keys of every kind and looks at each node
// for those that belong there. No request may have met a redirect.
func TestContract_ROUTE1_EveryKeyAtItsOwner(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		resetStats(t, nodes)
		random := rand.New(rand.NewPCG(1, 1))
		keys := map[string]bool{"": true, "\x00\xff": true, "a\r\nb": true, "\xc3\x28": true, "{}": true, "{": true}
		for i := range 1000 {
			keys[fmt.Sprint("key:", i)] = true
			keys[randomKey(random, "{}ab\x00\r\n\xff")] = true
		}
		var commands [][]any
		for key := range keys {
			commands = append(commands, []any{"SET", key, key}, []any{"GET", key})
		}
		replies, err := e.Proxy.Dial(t).Pipeline(commands...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range commands {
			if want := []any{"OK", commands[i][1]}[i%2]; replies[i] != want {
				t.Errorf("%q: got %v, want %q", commands[i], replies[i], want)
			}
		}
		found := 0
		for _, node := range nodes {
			for _, key := range do(t, node, "KEYS", "*").([]any) {
				if !keys[key.(string)] {
					t.Errorf("a node holds the key %q, which was never written", key)
				}
				found++
			}
		}
		if found != len(keys) {
			t.Errorf("the nodes hold %d keys, want %d", found, len(keys))
		}
		if moved := infoSum(t, nodes, "errorstats", "errorstat_MOVED", "count"); moved != 0 {
			t.Errorf("%d requests went to a node that does not own the slot", moved)
		}
	})
}

// TestCase_A07_BinaryKeys has bytes that text handling would trip over.
func TestCase_A07_BinaryKeys(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		if got := do(t, pair.Proxy, "CLUSTER", "KEYSLOT", "\x00\xff"); got != int64(7920) {
			t.Errorf("slot of 00 FF: got %v, want 7920", got)
		}
		for _, key := range []string{"\x00\xff", "a\r\nb", "\r\n", "$3\r\nabc\r\n", "\xc3\x28\xa0", "{\x00}x", "\x00"} {
			pair.Same(t, "SET", key, "v"+key)
			pair.Same(t, "GET", key)
			pair.Same(t, "MGET", key, "other", key)
			pair.Same(t, "EVAL", "return KEYS[1]", 1, key)
			pair.Same(t, "DEL", key, "other")
		}
	})
}

// TestContract_ROUTE1_KeylessArgumentsAreNotHashed: what looks like a key and is none.
func TestContract_ROUTE1_KeylessArgumentsAreNotHashed(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for i := range 30 {
			pair.Same(t, "ECHO", fmt.Sprint("{", i, "}"))
			pair.Same(t, "EVAL", "return ARGV[1]", 0, fmt.Sprint("{", i, "}"))
		}
		for _, request := range [][]any{{"CLUSTER", "COUNTKEYSINSLOT", 5061}, {"CLUSTER", "GETKEYSINSLOT", 5061, 10}} {
			do(t, pair.Proxy, "SET", "foo{bar}{zap}", "x")
			got := do(t, pair.Proxy, request...)
			if want := do(t, e.Owner(t, "foo{bar}{zap}"), request...); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v: got %v, want %v", request, got, want)
			}
		}
	})
}

// TestContract_ROUTE2_KeysBehindOptions has commands whose first argument is no key. Sent
// to the wrong node, each would meet a redirect or another answer.
func TestContract_ROUTE2_KeysBehindOptions(t *testing.T) {
	requests := func(tag string) [][]any {
		k := func(name string) string { return "{" + tag + "}" + name }
		return [][]any{
			{"XADD", k("s"), "1-1", "f", "v"}, {"XREAD", "COUNT", 2, "STREAMS", k("s"), "0"}, {"XREAD", "STREAMS", k("s"), k("t"), "0", "0"},
			{"XGROUP", "CREATE", k("s"), "g", "0"}, {"XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "STREAMS", k("s"), ">"},
			{"XREADGROUP", "GROUP", "STREAMS", "STREAMS", "COUNT", 1, "STREAMS", k("s"), ">"}, {"XINFO", "STREAM", k("s")},
			{"OBJECT", "ENCODING", k("s")}, {"ZADD", k("a"), 1, "x"}, {"ZADD", k("b"), 2, "x"}, {"ZUNIONSTORE", k("d"), 2, k("a"), k("b")},
			{"ZINTER", 2, k("a"), k("b"), "WITHSCORES"}, {"SADD", k("p"), "x"}, {"SADD", k("q"), "x"}, {"SINTERCARD", 2, k("p"), k("q")},
			{"RPUSH", k("l"), 1, 2, 3}, {"LMPOP", 2, k("none"), k("l"), "LEFT"}, {"EVAL", "return {KEYS[1], ARGV[1]}", 1, k("e"), "STREAMS"},
			{"BITOP", "AND", k("and"), k("none"), k("none")}, {"SORT", k("l"), "LIMIT", 0, -1, "STORE", k("sorted")}, {"LRANGE", k("sorted"), 0, -1},
			{"GEOADD", k("geo"), 13, 38, "P"}, {"GEORADIUS", k("geo"), 13, 38, 1, "km", "STORE", k("near")}, {"ZCARD", k("near")},
			{"ZMPOP", 1, k("a"), "MIN"}, {"COPY", k("l"), k("copy")}, {"SMOVE", k("p"), k("q"), "x"},
		}
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		resetStats(t, nodes)
		pair := e.Pair(t, 2)
		for _, tag := range spread(12) {
			for _, request := range requests(tag) {
				pair.Same(t, request...)
			}
		}
		if moved := infoSum(t, nodes, "errorstats", "errorstat_MOVED", "count"); moved != 0 {
			t.Errorf("%d requests went to a node that does not own the slot", moved)
		}
	})
}

// TestCase_A08_SlotArguments: an argument that is a slot number and not a key.
func TestCase_A08_SlotArguments(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for i := range 50 {
			do(t, c, "SET", fmt.Sprintf("k%d{bar}", i), "x")
		}
		owner := e.Owner(t, "{bar}")
		for _, request := range [][]any{
			{"CLUSTER", "COUNTKEYSINSLOT", 5061}, {"CLUSTER", "GETKEYSINSLOT", 5061, 3}, {"CLUSTER", "KEYSLOT", "5061"},
			{"CLUSTER", "COUNTKEYSINSLOT", 16384}, {"CLUSTER", "COUNTKEYSINSLOT", -1}, {"CLUSTER", "COUNTKEYSINSLOT", "x"},
			{"CLUSTER", "GETKEYSINSLOT", 5061, -1}, {"CLUSTER", "GETKEYSINSLOT", 5061, "x"}, {"CLUSTER", "GETKEYSINSLOT", "x", 1},
			{"CLUSTER", "COUNTKEYSINSLOT"}, {"CLUSTER", "KEYSLOT"},
		} {
			pair := harness.Pair{Proxy: c, Lone: owner}
			pair.Same(t, request...)
		}
	})
}

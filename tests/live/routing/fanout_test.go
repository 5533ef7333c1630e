package routing

import (
	"fmt"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestContract_ROUTE4_MGETOrderAndRepeats(t *testing.T) { orderAndRepeats(t) }

func TestCase_B03_OrderAndRepeats(t *testing.T) { orderAndRepeats(t) }

// orderAndRepeats has keys of several slots, several keys of one slot, repeated, missing
// and of the wrong type, in requests that are merged in every way.
func orderAndRepeats(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			e.Flush(t)
			pair := e.Pair(t, proto)
			for _, request := range [][]any{
				{"MSET", "{a}1", 1, "{a}2", 2, "{b}1", 3, "{c}2", 4}, {"RPUSH", "list", "x"},
				{"MGET", "{a}1", "{a}2", "{b}1", "{a}1", "{c}1"}, {"MGET", "list", "{a}1", "none", "list", "none", "{c}2", "{b}1"},
				{"EXISTS", "{a}1", "{a}1", "{b}1", "none", "list"}, {"TOUCH", "{a}1", "{b}1", "{a}1", "none"},
				{"DEL", "{a}1", "{a}1"}, {"DEL", "{a}1", "{b}1", "{b}1", "list", "none"}, {"MGET", "{a}1", "{a}2", "{b}1", "list"},
				{"MSET", "a", 1, "b", 2, "a", 3, "b", 4, "c", 5}, {"MGET", "a", "b", "c"}, {"UNLINK", "a", "b", "a", "none"},
				{"EXISTS", "a", "b", "c"}, {"MGET", "c"}, {"MSET", "", "empty key", "e", ""}, {"MGET", "e", "", "e"},
			} {
				pair.Same(t, request...)
			}
		}
	})
}

// TestContract_ROUTE4_OneRequestPerSlot counts at the nodes what a request becomes.
func TestContract_ROUTE4_OneRequestPerSlot(t *testing.T) {
	keys := spread(40)
	withValues := func(keys []string) (args []any) {
		for _, key := range keys {
			args = append(args, key, "v")
		}
		return args
	}
	repeated := append(append([]string{}, keys...), keys...)
	oneSlot := []string{"{x}1", "{x}2", "{x}3"}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		c := e.Proxy.Dial(t)
		for _, tc := range []struct {
			command string
			args    []any
			parts   int
		}{
			{"mset", withValues(keys), len(keys)},
			{"mget", anys(keys...), len(keys)},
			{"mget", anys(repeated...), len(keys)},
			{"exists", anys(keys...), len(keys)},
			{"touch", anys(keys...), len(keys)},
			{"pfcount", anys("{p}1", "{q}1", "{p}2"), 2},
			{"unlink", anys(keys[:10]...), 10},
			{"del", anys(keys...), len(keys)},
			{"mset", withValues(oneSlot), 1},
			{"mget", anys(oneSlot...), 1},
			{"exists", anys(oneSlot...), 1},
			{"pfcount", anys("{p}1", "{p}2"), 1},
			{"del", anys(oneSlot...), 1},
			{"mget", anys(keys[0]), 1},
		} {
			resetStats(t, nodes)
			do(t, c, append([]any{tc.command}, tc.args...)...)
			if got := calls(t, nodes, tc.command); got != tc.parts {
				t.Errorf("%s with %d arguments became %d requests, want %d", tc.command, len(tc.args), got, tc.parts)
			}
		}
	})
}

// TestContract_ROUTE4_WideRequests has more keys than there are nodes, chunks or slots to
// hold them.
func TestContract_ROUTE4_WideRequests(t *testing.T) {
	const keys = 10_000
	mset, mget, want := []any{"MSET"}, []any{"MGET"}, fmt.Appendf(nil, "*%d\r\n", keys)
	for i := range keys {
		key, value := fmt.Sprint("key:", i), strings.Repeat(fmt.Sprint(i, ";"), i%23)
		mset, mget = append(mset, key, value), append(mget, key)
		want = fmt.Appendf(want, "$%d\r\n%s\r\n", len(value), value)
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		harness.Expect(t, c, array(mset...), "+OK\r\n")
		harness.Expect(t, c, array(mget...), string(want))
		mget[0] = "EXISTS"
		harness.Expect(t, c, array(mget...), fmt.Sprintf(":%d\r\n", keys))
		mget[0] = "DEL"
		harness.Expect(t, c, array(mget...)+array(mget...), fmt.Sprintf(":%d\r\n:0\r\n", keys))
		mget[0] = "MGET"
	})
}

// TestContract_ROUTE4_FirstErrorInKeyOrder: the first error is the whole reply, and what
// comes behind it is in its place.
func TestContract_ROUTE4_FirstErrorInKeyOrder(t *testing.T) {
	const wrongType = "-WRONGTYPE Key is not a valid HyperLogLog string value.\r\n"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		do(t, c, "SET", "word", "no counter")
		do(t, c, "RPUSH", "list", "x")
		do(t, c, "PFADD", "{h}1", "a", "b")
		do(t, c, "PFADD", "other", "a")
		asked := "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
		for range 20 {
			harness.Expect(t, c,
				array("PFCOUNT", "{h}1", "word", "list", "other")+array("PFCOUNT", "{h}1", "list", "word")+array("PFCOUNT", "{h}1", "other", "none")+
					array("ECHO", "aligned"),
				wrongType+asked+":3\r\n$7\r\naligned\r\n")
		}
	})
}

// TestContract_ROUTE4_PFCOUNTSums: across slots the counts are added; in one slot the node
// counts what the keys hold together.
func TestContract_ROUTE4_PFCOUNTSums(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for _, key := range []string{"{h}1", "{h}2", "elsewhere"} {
			do(t, c, "PFADD", key, "a", "b", "c")
		}
		harness.Expect(t, c, array("PFCOUNT", "{h}1", "{h}2")+array("PFCOUNT", "{h}1", "elsewhere")+array("PFCOUNT", "{h}1", "{h}2", "elsewhere"),
			":3\r\n:6\r\n:6\r\n")
	})
}

// TestContract_ROUTE4_PartsKeepTheOrderOfASession has split requests between others for
// the same keys, all in one write.
func TestContract_ROUTE4_PartsKeepTheOrderOfASession(t *testing.T) {
	keys := spread(9)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		var request, want strings.Builder
		for round := range 200 {
			mset, mget := []any{"MSET"}, []any{"MGET"}
			fmt.Fprintf(&want, "+OK\r\n*%d\r\n", len(keys))
			for i, key := range keys {
				value := fmt.Sprint(round*100 + i)
				mset, mget = append(mset, key, value), append(mget, key)
				fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(value), value)
			}
			request.WriteString(array(mset...) + array(mget...) + array("INCR", keys[4]) + array("GET", keys[4]))
			next := fmt.Sprint(round*100 + 5)
			fmt.Fprintf(&want, ":%s\r\n$%d\r\n%s\r\n", next, len(next), next)
		}
		written := make(chan error, 1)
		go func() { written <- c.Write([]byte(request.String())) }()
		harness.Expect(t, c, "", want.String())
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// TestCase_B01_MGETWithoutKeys: an error, and service goes on.
func TestCase_B01_MGETWithoutKeys(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, name := range []string{"MGET", "MSET", "DEL", "UNLINK", "EXISTS", "TOUCH", "PFCOUNT"} {
			got := pair.SameRaw(t, array(name)+array("PING"), 2)
			want := fmt.Sprintf("-ERR wrong number of arguments for '%s' command\r\n+PONG\r\n", strings.ToLower(name))
			if got != want {
				t.Errorf("%s: the lone node answered %q, want %q", name, got, want)
			}
		}
	})
}

// TestCase_B02_MSETWithAnOddCount writes nothing.
func TestCase_B02_MSETWithAnOddCount(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, request := range [][]any{
			{"MSET", "k1"}, {"MSET", "k1", "v1", "k2"}, {"MSET", "{t}1", "v1", "{t}2"}, {"MSETNX", "{t}1", "v1", "{t}2"},
		} {
			pair.Same(t, request...)
		}
		pair.Same(t, "PING")
		pair.Same(t, "EXISTS", "k1", "k2", "{t}1", "{t}2")
		for _, node := range primaries(t, e) {
			if n := do(t, node, "DBSIZE"); n != int64(0) {
				t.Errorf("a node holds %v keys", n)
			}
		}
	})
}

// TestContract_ROUTE5_CrossSlot: what a node cannot do alone is refused by the proxy, in
// the nodes' words, and nothing is written.
func TestContract_ROUTE5_CrossSlot(t *testing.T) {
	requests := [][]any{
		{"RENAME", "a", "b"}, {"RENAMENX", "a", "b"}, {"COPY", "a", "b"}, {"SMOVE", "a", "b", "m"}, {"MSETNX", "a", 1, "b", 2},
		{"BITOP", "AND", "a", "b", "c"}, {"BITOP", "NOT", "a", "b"}, {"SINTER", "a", "b"}, {"SUNION", "a", "b"}, {"SDIFF", "a", "b"},
		{"SINTERSTORE", "a", "b"}, {"SUNIONSTORE", "a", "b"}, {"SDIFFSTORE", "a", "b"}, {"SINTERCARD", 2, "a", "b"},
		{"LMOVE", "a", "b", "LEFT", "RIGHT"}, {"RPOPLPUSH", "a", "b"}, {"LCS", "a", "b"}, {"PFMERGE", "a", "b"}, {"LMPOP", 2, "a", "b", "LEFT"},
		{"ZMPOP", 2, "a", "b", "MIN"}, {"ZUNION", 2, "a", "b"}, {"ZINTER", 2, "a", "b"}, {"ZDIFF", 2, "a", "b"}, {"ZINTERCARD", 2, "a", "b"},
		{"ZUNIONSTORE", "a", 1, "b"}, {"ZINTERSTORE", "{a}", 2, "{a}1", "b"}, {"ZDIFFSTORE", "a", 1, "b"}, {"ZRANGESTORE", "a", "b", 0, -1},
		{"GEOSEARCHSTORE", "a", "b", "FROMLONLAT", 1, 1, "BYRADIUS", 1, "km"}, {"SORT", "a", "STORE", "b"},
		{"GEORADIUS", "a", 1, 1, 1, "km", "STORE", "b"}, {"XREAD", "STREAMS", "a", "b", "0", "0"}, {"EVAL", "return 1", 2, "a", "b"},
		{"EVAL_RO", "return 1", 2, "a", "b"}, {"EVALSHA", strings.Repeat("f", 40), 2, "a", "b"}, {"FCALL", "f", 2, "a", "b"},
		{"XREADGROUP", "GROUP", "g", "c", "STREAMS", "a", "b", ">", ">"},
	}
	const refusal = "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		c := e.Proxy.Dial(t)
		do(t, c, "SET", "a", "v")
		owner := e.Owner(t, "a")
		resetStats(t, nodes)
		for _, request := range requests {
			if got, _ := owner.DoRaw(testbed.AppendCommand(nil, request...), 1); strings.HasPrefix(string(got), "-ERR unknown command") {
				continue
			} else if string(got) != refusal {
				t.Errorf("%v: the owner of the first key answers %q", request, got)
			}
			resetStats(t, nodes)
			harness.Expect(t, c, array(request...)+array("GET", "a"), refusal+"$1\r\nv\r\n")
			if n := infoSum(t, nodes, "errorstats", "errorstat_CROSSSLOT", "count"); n != 0 {
				t.Errorf("%v: a node was asked", request)
			}
		}
		if e.Server == testbed.Valkey91 { // whose nodes do not look at the second key
			harness.Expect(t, c, array("MSETEX", 2, "a", 1, "b", 2)+array("GET", "a"), refusal+"$1\r\nv\r\n")
		}
		for _, key := range []string{"b", "c", "{a}"} {
			harness.Expect(t, c, array("EXISTS", key), ":0\r\n")
		}
	})
}

// TestContract_ROUTE5_WithinASlot runs such commands with keys that share a slot, on every
// shard.
func TestContract_ROUTE5_WithinASlot(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, tag := range spread(12) {
			k := func(name string) string { return "{" + tag + "}" + name }
			for _, request := range [][]any{
				{"MSETNX", k("a"), 1, k("b"), 2}, {"RENAME", k("a"), k("c")}, {"COPY", k("c"), k("d")}, {"BITOP", "OR", k("e"), k("c"), k("d")},
				{"MGET", k("a"), k("b"), k("c"), k("d"), k("e")}, {"RPUSH", k("l"), 1, 2}, {"LMOVE", k("l"), k("m"), "LEFT", "RIGHT"},
				{"LRANGE", k("m"), 0, -1}, {"LCS", k("b"), k("c")}, {"PFADD", k("p"), "x"}, {"PFMERGE", k("q"), k("p")}, {"PFCOUNT", k("q"), k("p")},
				{"SADD", k("s"), 1, 2}, {"SMOVE", k("s"), k("t"), 1}, {"SUNIONSTORE", k("u"), k("s"), k("t")}, {"SCARD", k("u")},
			} {
				pair.Same(t, request...)
			}
		}
	})
}

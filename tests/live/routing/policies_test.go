package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/tests/harness"
)

// TestContract_ROUTE3_RepliesOfSeveralShards has a command for every way in which the
// servers want the replies of several shards joined. With keys on all shards, on one and on
// none, they must be those of a lone node.
func TestContract_ROUTE3_RepliesOfSeveralShards(t *testing.T) {
	unknown := strings.Repeat("f", 40)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		eachPlacement(t, e, func(t *testing.T, pair *harness.Pair, p placement) {
			pair.Same(t, "DBSIZE")                          // agg_sum
			pair.SameAs(t, harness.Unordered, "KEYS", "*")  // default-keyless
			pair.Same(t, "MEMORY", "PURGE")                 // all_succeeded
			pair.SameAs(t, harness.Shape, "LASTSAVE")       // agg_min
			pair.Same(t, "SCRIPT", "EXISTS", unknown)       // agg_logical_and
			pair.Same(t, "SCRIPT", "LOAD", "return 'here'") // all_nodes, all_succeeded
			pair.Same(t, "SCRIPT", "EXISTS", "7fba52160bee681dd4b040757f6b9775a08c3966", unknown)
			pair.Same(t, "SCRIPT", "FLUSH")
			pair.Same(t, "SCRIPT", "KILL") // one_succeeded
			if len(p.keys) > 0 {
				pair.Same(t, append([]any{"MGET"}, anys(p.keys...)...)...) // multi_shard, default-hashslot
				pair.Same(t, append([]any{"TOUCH"}, anys(p.keys...)...)...)
			}
			pair.Same(t, "FLUSHDB")
			pair.Same(t, "DBSIZE")
		})
	})
}

// TestContract_ROUTE3_ErrorsOfOneNode has requests that every node refuses: the reply is what
// one of them says, and nothing has happened.
func TestContract_ROUTE3_ErrorsOfOneNode(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			placements[0].place(t, e, pair)
			for _, request := range [][]any{
				{"FLUSHALL", "NOW"}, {"FLUSHALL", "ASYNC", "SYNC"}, {"FLUSHALL", ""}, {"FLUSHDB", "x"}, {"FLUSHDB", "SYNC", "SYNC"},
				{"KEYS"}, {"KEYS", "*", "*"}, {"DBSIZE", "x"}, {"RANDOMKEY", "x"}, {"LASTSAVE", "x"}, {"MEMORY", "PURGE", "x"},
				{"SCRIPT", "FLUSH", "NOW"}, {"SCRIPT", "FLUSH", "SYNC", "x"}, {"SCRIPT", "EXISTS"}, {"SCRIPT", "LOAD", "return +"}, {"SCRIPT", "LOAD"},
				{"SCAN", "0", "COUNT", "0"}, {"SCAN", "0", "COUNT", "-1"}, {"SCAN", "0", "COUNT", "x"}, {"SCAN", "0", "COUNT"}, {"SCAN", "0", "MATCH"},
				{"SCAN", "0", "NONESUCH", "x"}, {"SCAN", "0", "TYPE"}, {"SCAN", "0", "NOVALUES"}, {"SCAN"}, {"SCAN", "0", "x"},
			} {
				if reply := pair.Same(t, request...); !strings.HasPrefix(reply, "-") {
					t.Errorf("%v: the lone node answers %s", request, harness.Clip(reply))
				}
			}
			pair.Same(t, "DBSIZE")
		}
	})
}

// TestContract_ROUTE3_WhoIsAsked counts at the nodes who has been asked how often.
func TestContract_ROUTE3_WhoIsAsked(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes, followers := primaries(t, e), replicas(t, e)
		c := e.Start(t, harness.Options{}).Dial(t) // the other one may yet take a replica for dead
		once, never, twice := []int{1, 1, 1}, []int{0, 0, 0}, []int{2, 2, 2}
		for _, tc := range []struct {
			request               []any
			name                  string
			primaries, byReplicas []int
		}{
			{[]any{"KEYS", "*"}, "keys", once, never},
			{[]any{"DBSIZE"}, "dbsize", once, never},
			{[]any{"LASTSAVE"}, "lastsave", once, never},
			{[]any{"MEMORY", "PURGE"}, "memory|purge", once, never},
			{[]any{"RANDOMKEY"}, "randomkey", once, never},
			{[]any{"RANDOMKEY"}, "dbsize", once, never},
			{[]any{"SCRIPT", "EXISTS", "x"}, "script|exists", once, never},
			{[]any{"SCRIPT", "LOAD", "return 1"}, "script|load", once, once},
			{[]any{"SCRIPT", "FLUSH"}, "script|flush", once, once},
		} {
			resetStats(t, append(slices.Clone(nodes), followers...))
			do(t, c, tc.request...)
			if got := callsByNode(t, nodes, tc.name); !slices.Equal(got, tc.primaries) {
				t.Errorf("%v: the primaries have run %s %v times, want %v", tc.request, tc.name, got, tc.primaries)
			}
			// A replica may be asked later than the primaries.
			harness.Eventually(t, harness.Patience, "the replicas to be asked", func() error {
				if got := callsByNode(t, followers, tc.name); !slices.Equal(got, tc.byReplicas) {
					return fmt.Errorf("%v: the replicas have run %s %v times, want %v", tc.request, tc.name, got, tc.byReplicas)
				}
				return nil
			})
		}
		// A flush comes to a replica from its primary.
		for _, request := range [][]any{{"FLUSHALL"}, {"FLUSHDB", "ASYNC"}} {
			resetStats(t, nodes)
			do(t, c, request...)
			do(t, c, request...)
			if got := callsByNode(t, nodes, strings.ToLower(request[0].(string))); !slices.Equal(got, twice) {
				t.Errorf("%v twice: the primaries have run it %v times", request, got)
			}
		}
	})
}

// TestContract_ROUTE3_ShardWithoutAKey: where a request has no key it is not sent.
func TestContract_ROUTE3_ShardWithoutAKey(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		c := e.Proxy.Dial(t)
		owner := e.Owner(t, "a")
		keys := slices.DeleteFunc(spread(40), func(key string) bool { _, err := owner.Do("EXISTS", key); return err != nil })
		resetStats(t, nodes)
		do(t, c, append([]any{"MGET"}, anys(keys...)...)...)
		got := callsByNode(t, nodes, "mget")
		if slices.Sort(got); !slices.Equal(got, []int{0, 0, len(keys)}) {
			t.Errorf("MGET with %d keys of one shard became %v requests at the nodes", len(keys), got)
		}
	})
}

// TestContract_ROUTE3_TheEarliestSave: of the shards' LASTSAVE the lowest is the reply.
func TestContract_ROUTE3_TheEarliestSave(t *testing.T) {
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		var saves []int64
		harness.Eventually(t, harness.Patience, "the shards to differ", func() error {
			do(t, nodes[1], "SAVE")
			saves = saves[:0]
			for _, c := range nodes {
				saves = append(saves, do(t, c, "LASTSAVE").(int64))
			}
			if saves[1] == saves[0] || saves[1] == saves[2] {
				return fmt.Errorf("their LASTSAVE is %v", saves)
			}
			return nil
		})
		if got := do(t, e.Proxy.Dial(t), "LASTSAVE"); got != slices.Min(saves) {
			t.Errorf("LASTSAVE: got %v, want the lowest of %v", got, saves)
		}
	})
}

// TestContract_ROUTE6_KeylessPicker tells by the number of keys that a script finds on which
// shard it has run.
func TestContract_ROUTE6_KeylessPicker(t *testing.T) {
	const requests = 300
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for i, node := range primaries(t, e) { // 1, 2 and 3 keys
			keys := slices.DeleteFunc(numbered("picker:", 30), func(key string) bool { _, err := node.Do("EXISTS", key); return err != nil })
			fill(t, c, keys[:i+1])
		}
		for picker, check := range map[string]func(shards []int64) bool{
			"round-robin": func(shards []int64) bool {
				return shards[0]+shards[1]+shards[2] == 6 && slices.Equal(shards[3:], shards[:requests-3])
			},
			"static": func(shards []int64) bool { return len(slices.Compact(shards)) == 1 },
			"random": func(shards []int64) bool {
				times := map[int64]int{}
				for _, shard := range shards {
					times[shard]++
				}
				return min(times[1], times[2], times[3]) > requests/6 && !slices.Equal(shards[3:], shards[:requests-3])
			},
		} {
			p := e.Start(t, harness.Options{Args: []string{"--keyless-picker", picker}})
			c := p.Dial(t)
			var shards []int64
			for range requests {
				shards = append(shards, do(t, c, "EVAL", "return redis.call('dbsize')", 0).(int64))
			}
			if !check(slices.Clone(shards)) {
				t.Errorf("%s: the shards, by their number of keys, were %v", picker, shards)
			}
		}
		// Without the key the primaries take turns.
		var shards []int64
		for range 6 {
			shards = append(shards, do(t, c, "EVAL", "return redis.call('dbsize')", 0).(int64))
		}
		if shards[0]+shards[1]+shards[2] != 6 || !slices.Equal(shards[3:], shards[:3]) {
			t.Errorf("by default: the shards, by their number of keys, were %v", shards)
		}
	})
}

package routing

import (
	"fmt"
	"slices"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestContract_ROUTE8_KeysOfTheWholeCluster(t *testing.T) { wholeKeyspace(t) }

func TestCase_A13_WholeKeyspace(t *testing.T) { wholeKeyspace(t) }

// wholeKeyspace has the commands that concern every key, whichever shards have some.
func wholeKeyspace(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		eachPlacement(t, e, func(t *testing.T, pair *harness.Pair, p placement) {
			pair.Same(t, "DBSIZE")
			for _, pattern := range []string{"*", "key:*", "key:[0-4]", "k?y:1?", "{one}:*", "{one}:1[0-9]", "one", "none*", "", "key:1\\*", "[", "*:1*"} {
				pair.SameAs(t, harness.Unordered, "KEYS", pattern)
			}
			pair.SameAs(t, harness.Kind, "RANDOMKEY")
			if reply, err := pair.Proxy.Do("RANDOMKEY"); err != nil || (reply == nil) != (len(p.keys) == 0) {
				t.Errorf("RANDOMKEY: %v, %v", reply, err)
			}
			pair.SameAs(t, harness.Shape, "LASTSAVE")
			pair.Same(t, "FLUSHDB")
			pair.SameAs(t, harness.Unordered, "KEYS", "*")
			pair.Same(t, "RANDOMKEY")
			pair.Same(t, "DBSIZE")
		})
	})
}

// TestContract_ROUTE8_FlushReachesEveryPrimary empties a filled cluster in every way that
// there is.
func TestContract_ROUTE8_FlushReachesEveryPrimary(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		nodes, followers := primaries(t, e), replicas(t, e)
		for _, request := range [][]any{
			{"FLUSHALL"}, {"FLUSHALL", "SYNC"}, {"flushall", "async"}, {"FLUSHDB"}, {"FLUSHDB", "SYNC"}, {"FlushDB", "ASYNC"},
		} {
			placements[0].place(t, e, pair)
			pair.Same(t, request...)
			for _, c := range nodes {
				if n := do(t, c, "DBSIZE"); n != int64(0) {
					t.Errorf("%v: a primary holds %v keys", request, n)
				}
			}
			for _, c := range followers {
				harness.Eventually(t, harness.Patience, "a replica to be empty", func() error {
					if n := do(t, c, "DBSIZE"); n != int64(0) {
						return fmt.Errorf("%v: it holds %v keys", request, n)
					}
					return nil
				})
			}
		}
	})
}

// TestContract_ROUTE8_RandomKeyFindsEveryKey asks until each key has come.
func TestContract_ROUTE8_RandomKeyFindsEveryKey(t *testing.T) {
	const keys, triesMax = 20, 5000
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		missing := map[any]bool{}
		for _, key := range numbered("random:", keys) {
			do(t, c, "SET", key, "v")
			missing[key] = true
		}
		for tries := 0; len(missing) > 0; tries++ {
			if tries == triesMax {
				t.Fatalf("after %d tries %v have not come", tries, missing)
			}
			delete(missing, do(t, c, "RANDOMKEY"))
		}
	})
}

// TestContract_ROUTE8_RandomKeyInProportion: a shard that has nine times as many keys as
// another is chosen nine times as often, and one without any never.
func TestContract_ROUTE8_RandomKeyInProportion(t *testing.T) {
	const requests, few, many = 1000, 10, 90
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		first, second := spreadOverShards(t, e)
		fill(t, c, append(tagged(first, few), tagged(second, many)...))
		var commands [][]any
		for range requests {
			commands = append(commands, []any{"RANDOMKEY"})
		}
		replies, err := c.Pipeline(commands...)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for _, reply := range replies {
			key, _ := reply.(string)
			for _, tag := range []string{first, second} {
				if len(key) > len(tag)+2 && key[1:1+len(tag)] == tag {
					times[tag]++
				}
			}
		}
		// The mean is a tenth and the standard deviation about 9.5.
		if n := times[first]; n+times[second] != requests || n < requests/10-60 || n > requests/10+60 {
			t.Errorf("of %d random keys %d are of the shard with %d, %d of that with %d", requests, n, few, times[second], many)
		}
	})
}

// spreadOverShards returns two tags of different shards.
func spreadOverShards(t *testing.T, e *harness.Env) (first, second string) {
	t.Helper()
	tags := numbered("tag", 20)
	owner := e.Owner(t, tags[0])
	i := slices.IndexFunc(tags, func(tag string) bool { _, err := owner.Do("EXISTS", tag); return err != nil })
	if i < 0 {
		t.Fatal("twenty tags are all of one shard")
	}
	return tags[0], tags[i]
}

// inOrder are requests whose replies tell whether each has seen what those before it did,
// wherever that was, and nothing of those behind it. They leave no key.
func inOrder(keys []string) (commands [][]any, want []any) {
	add := func(reply any, args ...any) { commands, want = append(commands, args), append(want, reply) }
	add("OK", "FLUSHALL")
	for round := range 3 {
		for i, key := range keys {
			add("OK", "SET", key, round)
			if i%7 == 0 {
				add(int64(i+1), "DBSIZE")
			}
		}
		add(anys(slices.Sorted(slices.Values(keys))...), "KEYS", "*")
		add("OK", []string{"FLUSHALL", "FLUSHDB", "FLUSHALL"}[round])
		add(nil, "RANDOMKEY")
		add([]any{"0", []any{}}, "SCAN", 0)
		add("OK", "SET", keys[round], "again")
		add([]any{keys[round]}, "KEYS", "*")
		add(keys[round], "RANDOMKEY")
		add(int64(1), "DEL", keys[round], keys[round+1])
		add(int64(0), "DBSIZE")
		add([]any{}, "KEYS", "*")
	}
	return commands, want
}

// playInOrder sends all commands at once and compares every reply. The elements of KEYS come
// in any order. Where a SCAN of all shards goes on with another cursor, its keys are compared.
func playInOrder(t *testing.T, c *testbed.Conn, commands [][]any, want []any) {
	t.Helper()
	replies, err := c.Pipeline(commands...)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range replies {
		switch commands[i][0] {
		case "KEYS":
			got = anysOrNone(words(t, got))
		case "SCAN":
			got = []any{"0", got.([]any)[1]}
		}
		if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want[i]) {
			t.Errorf("request %d, %v: got %v, want %v", i, commands[i], got, want[i])
		}
	}
}

func anysOrNone(list []string) []any {
	if len(list) == 0 {
		return []any{}
	}
	return anys(list...)
}

// TestContract_ROUTE8_SeesTheSessionsOwnWrites sends writes to all shards and questions about
// all of them in one go.
func TestContract_ROUTE8_SeesTheSessionsOwnWrites(t *testing.T) {
	commands, want := inOrder(spread(30))
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			playInOrder(t, e.Proxy.DialProto(t, proto), commands, want)
		}
	})
}

// TestContract_ROUTE8_SeesTheSessionsOwnWritesWhileASlotMoves asks at every step of a migration
// by SETSLOT, first with the slot's keys on both sides of it, then with keys that come and go.
func TestContract_ROUTE8_SeesTheSessionsOwnWritesWhileASlotMoves(t *testing.T) {
	const moving = 100
	keys := append(spread(12), tagged(tagOfSlot(moving), 12)...)
	commands, want := inOrder(keys)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		fill(t, c, keys)
		steps := 0
		move := testbed.Move{Slot: moving, From: 0, To: 1, Batch: 4}
		move.Hook = func(step testbed.MoveStep) error {
			steps++
			sameWords(t, fmt.Sprintf("KEYS at the step %v", step), words(t, do(t, c, "KEYS", "*")), keys)
			if n := do(t, c, "DBSIZE"); n != int64(len(keys)) {
				t.Errorf("DBSIZE at the step %v: %v, want %d", step, n, len(keys))
			}
			if step >= testbed.MoveEmptied {
				playInOrder(t, c, commands, want)
				fill(t, c, keys)
			}
			return nil
		}
		if err := e.Cluster.MoveSlotLegacy(t.Context(), move); err != nil {
			t.Error(err)
		}
		if steps < 9 {
			t.Errorf("%d steps, want 9: the slot had no keys to move", steps)
		}
		move.Hook, move.From, move.To = nil, 1, 0
		if err := e.Cluster.MoveSlotLegacy(t.Context(), move); err != nil {
			t.Error(err)
		}
		playInOrder(t, c, commands, want)
	})
}

// tagOfSlot returns a tag whose keys lie in a slot.
func tagOfSlot(slot uint16) string {
	for i := 0; ; i++ {
		if tag := fmt.Sprint(i); slotOf(tag) == slot {
			return tag
		}
	}
}

// TestContract_ROUTE8_SeesTheSessionsOwnWritesAfterAnAtomicMove moves a slot with its keys by
// CLUSTER MIGRATESLOTS, and back.
func TestContract_ROUTE8_SeesTheSessionsOwnWritesAfterAnAtomicMove(t *testing.T) {
	const moving = 200
	keys := append(spread(12), tagged(tagOfSlot(moving), 12)...)
	commands, want := inOrder(keys)
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			c := e.Proxy.Dial(t)
			for _, ends := range [][2]int{{0, 1}, {1, 0}} {
				fill(t, c, keys)
				if err := e.Cluster.MoveSlotsAtomic(t.Context(), moving, moving, ends[0], ends[1]); err != nil {
					t.Fatal(err)
				}
				sameWords(t, "KEYS after the move", words(t, do(t, c, "KEYS", "*")), keys)
				playInOrder(t, c, commands, want)
			}
		})
	})
}

// TestContract_ROUTE8_KeysByTheHundredThousand: a reply of which each node's part is so large
// that it comes in pieces.
func TestContract_ROUTE8_KeysByTheHundredThousand(t *testing.T) {
	const size, prefix = 100_000, "a key of some length, so that each node's reply comes in many pieces:"
	keys := numbered(prefix, size)
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			fill(t, e.Proxy.Dial(t), keys)
			for _, proto := range []int{2, 3} {
				c := e.Proxy.DialProto(t, proto)
				replies, err := c.Pipeline([]any{"DBSIZE"}, []any{"KEYS", "*"}, []any{"KEYS", "*:7777?"}, []any{"PING"})
				if err != nil {
					t.Fatal(err)
				}
				sameWords(t, "KEYS *", words(t, replies[1]), keys)
				sameWords(t, "KEYS *:7777?", words(t, replies[2]), numbered(prefix+"7777", 10))
				if replies[0] != int64(size) || replies[3] != "PONG" {
					t.Errorf("DBSIZE %v, PING %v", replies[0], replies[3])
				}
			}
		})
	})
}

package routing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// callsMax ends a SCAN loop that does not end.
const callsMax = 100_000

// scanAll runs a client's loop: SCAN from cursor 0 until it is 0 again. The connections take
// turns. It returns the keys, each as often as it came.
func scanAll(t *testing.T, conns []*testbed.Conn, options ...any) (keys []string) {
	t.Helper()
	cursor := "0"
	for n := range callsMax {
		var found []string
		cursor, found = scanStep(t, conns[n%len(conns)], cursor, options...)
		if keys = append(keys, found...); cursor == "0" {
			return keys
		}
	}
	t.Fatalf("SCAN %v does not end: after %d calls the cursor is %s", options, callsMax, cursor)
	return nil
}

// scanStep is one call. The reply must be a cursor, as clients read it, and an array.
func scanStep(t *testing.T, c *testbed.Conn, cursor string, options ...any) (next string, keys []string) {
	t.Helper()
	reply := do(t, c, append([]any{"SCAN", cursor}, options...)...)
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		t.Fatalf("SCAN %s %v: %v, want two elements", cursor, options, reply)
	}
	next, _ = pair[0].(string)
	if n, err := strconv.ParseInt(next, 10, 64); err != nil || n < 0 || strconv.FormatInt(n, 10) != next {
		t.Fatalf("SCAN %s %v: cursor %q is no plain number below 2^63", cursor, options, next)
	}
	return next, words(t, pair[1])
}

// unique leaves each word once.
func unique(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// TestCase_B06_ScanFindsEveryKey has many keys on every shard, of two types, and asks for them
// in large and small portions.
func TestCase_B06_ScanFindsEveryKey(t *testing.T) {
	const size = 3000
	texts, lists := numbered("string:", size), numbered("list:", size/10)
	all := append(slices.Clone(texts), lists...)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		fill(t, e.Proxy.Dial(t), texts)
		var commands [][]any
		for _, key := range lists {
			commands = append(commands, []any{"RPUSH", key, "x"})
		}
		if _, err := e.Proxy.Dial(t).Pipeline(commands...); err != nil {
			t.Fatal(err)
		}
		for _, proto := range []int{2, 3} {
			conns := []*testbed.Conn{e.Proxy.DialProto(t, proto)}
			for _, tc := range []struct {
				options []any
				want    []string
			}{
				{nil, all}, {[]any{"COUNT", 1}, all}, {[]any{"COUNT", 100_000}, all}, {[]any{"count", 17}, all},
				{[]any{"MATCH", "*"}, all}, {[]any{"MATCH", "list:*", "COUNT", 1000}, lists},
				{[]any{"MATCH", "string:1?", "COUNT", 500}, numbered("string:1", 10)}, {[]any{"MATCH", "none*", "COUNT", 1000}, nil},
				{[]any{"TYPE", "list"}, lists}, {[]any{"TYPE", "string", "COUNT", 1000}, texts}, {[]any{"TYPE", "zset", "COUNT", 1000}, nil},
				{[]any{"COUNT", 1000, "TYPE", "list", "MATCH", "list:?"}, numbered("list:", 10)},
				{[]any{"TYPE", "list", "MATCH", "string:*", "COUNT", 1000}, nil},
			} {
				sameWords(t, fmt.Sprintf("SCAN %v in RESP%d", tc.options, proto), unique(scanAll(t, conns, tc.options...)), tc.want)
			}
		}
	})
}

// TestCase_B06_ScanOfFewShards has primaries without keys, and a single key on each one in
// turn.
func TestCase_B06_ScanOfFewShards(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		conns := []*testbed.Conn{e.Proxy.Dial(t)}
		if keys := scanAll(t, conns); len(keys) > 0 {
			t.Errorf("SCAN of nothing finds %v", keys)
		}
		for _, key := range spread(12) {
			do(t, conns[0], "SET", key, "v")
			for _, options := range [][]any{nil, {"COUNT", 1}, {"MATCH", key}, {"TYPE", "string"}} {
				sameWords(t, fmt.Sprintf("SCAN %v", options), scanAll(t, conns, options...), []string{key})
			}
			do(t, conns[0], "DEL", key)
		}
		oneSlot := tagged("slot", 500)
		fill(t, conns[0], oneSlot)
		for _, options := range [][]any{nil, {"COUNT", 1}, {"MATCH", "{slot}*"}, {"MATCH", "*", "COUNT", 1000}} {
			sameWords(t, fmt.Sprintf("SCAN %v", options), unique(scanAll(t, conns, options...)), oneSlot)
		}
	})
}

// TestContract_ROUTE8_ScanFromAnyConnection goes on with a cursor on the connections of other
// workers, in another protocol, and through another proxy.
func TestContract_ROUTE8_ScanFromAnyConnection(t *testing.T) {
	keys := numbered("any:", 2000)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		fill(t, e.Proxy.Dial(t), keys)
		other := e.Start(t, harness.Options{Workers: 1})
		var conns []*testbed.Conn
		for i := range 8 {
			conns = append(conns, e.Proxy.DialProto(t, 2+i%2))
		}
		conns = append(conns, other.DialProto(t, 2), other.DialProto(t, 3))
		sameWords(t, "SCAN from any connection", unique(scanAll(t, conns)), keys)
	})
}

// TestContract_ROUTE8_ScanWhileKeysComeAndGo: a key that is there all the time is found.
func TestContract_ROUTE8_ScanWhileKeysComeAndGo(t *testing.T) {
	steady := numbered("steady:", 1000)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c, writer := e.Proxy.Dial(t), e.Proxy.Dial(t)
		fill(t, c, steady)
		cursor, seen, calls := "0", map[string]bool{}, 0
		for ; calls < callsMax && (calls == 0 || cursor != "0"); calls++ {
			if calls%2 == 0 { // the nodes' tables grow and shrink
				fill(t, writer, numbered(fmt.Sprint("passing:", calls%4, ":"), 500))
			} else {
				do(t, writer, append([]any{"UNLINK"}, anys(numbered(fmt.Sprint("passing:", (calls-1)%4, ":"), 500)...)...)...)
			}
			var found []string
			cursor, found = scanStep(t, c, cursor, "COUNT", 20)
			for _, key := range found {
				seen[key] = true
			}
		}
		if cursor != "0" {
			t.Fatalf("SCAN has not ended after %d calls", calls)
		}
		for _, key := range steady {
			if !seen[key] {
				t.Errorf("%s was there all the time and has not been found", key)
			}
		}
	})
}

// otherCursor is what the proxy says to a cursor that it cannot have given.
const otherCursor = "-ERR invalid cursor: the cluster has other primaries now than when it was given, begin again with 0\r\n"

func TestContract_ROUTE8_MalformedCursors(t *testing.T) { malformedCursors(t) }

func TestCase_B07_CursorText(t *testing.T) { malformedCursors(t) }

// malformedCursors has cursors that are no numbers, and numbers that the proxy has not given.
// The releases read some of the former as numbers, each of them others, and no client sends
// such; here they are errors.
func malformedCursors(t *testing.T) {
	const invalid = "-ERR invalid cursor\r\n"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for _, cursor := range []string{"abc", "1x", "x1", "1 ", "0x10", "1.5", "1e3", "--1", "99999999999999999999", "18446744073709551616", "\n"} {
				if reply := pair.Same(t, "SCAN", cursor); reply != invalid {
					t.Errorf("SCAN %q: the lone node answers %q", cursor, reply)
				}
				pair.Same(t, "SCAN", cursor, "COUNT", 10, "MATCH", "*")
			}
			for _, cursor := range []string{"", " 1", "-1", "+1", "-0", "+0", "0\x00", "-9223372036854775808"} {
				harness.Expect(t, pair.Proxy, array("SCAN", cursor), invalid)
			}
			for _, cursor := range []string{"00", "000000000000000000000000000000"} {
				pair.SameAs(t, harness.Shape, "SCAN", cursor)
			}
			for _, cursor := range []string{"1", "007", "42", "9223372036854775807", "9223372036854775808", "18446744073709551615"} {
				harness.Expect(t, pair.Proxy, array("SCAN", cursor)+array("PING"), otherCursor+"+PONG\r\n")
			}
		}
	})
}

// TestContract_ROUTE8_CursorsOfAnotherMembership changes a primary: a cursor from before
// answers an error as often as it is used, one from 0 on finds every key, and when the old
// primary is back the old cursor is good again.
func TestContract_ROUTE8_CursorsOfAnotherMembership(t *testing.T) {
	keys := numbered("member:", 1000)
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		fill(t, c, keys)
		cursor, _ := scanStep(t, c, "0", "COUNT", 5)
		if _, err := e.Cluster.Failover(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		// A redirect names the new primary before a map does. Each key is there once.
		replies, err := c.Pipeline([]any{"UNLINK", "{" + tagOfSlot(slotOfEveryShard[1]) + "}none"}, []any{"KEYS", "*"}, []any{"DBSIZE"})
		if err != nil || replies[2] != int64(len(keys)) {
			t.Fatalf("behind a redirect: DBSIZE %v, %v", replies[len(replies)-1], err)
		}
		sameWords(t, "KEYS behind a redirect", words(t, replies[1]), keys)
		awaitScan(t, c, cursor, otherCursor)
		for range 20 {
			harness.Expect(t, c, array("SCAN", cursor), otherCursor)
		}
		sameWords(t, "SCAN of the new primaries", unique(scanAll(t, []*testbed.Conn{c})), keys)
		if _, err := e.Cluster.Failover(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		awaitDo(t, c, "FLUSHALL") // which no redirect leads anywhere: a replica only says that it is one
		awaitScan(t, c, cursor, "*2\r\n")
	})
}

// awaitScan waits until SCAN with a cursor answers what begins so: until the proxy has a new
// map. That it needs one it learns from the redirects of writes.
func awaitScan(t *testing.T, c *testbed.Conn, cursor, begin string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, fmt.Sprintf("SCAN %s to answer %q", cursor, begin), func() error {
		for _, slot := range slotOfEveryShard {
			c.Do("UNLINK", "{"+tagOfSlot(slot)+"}none")
		}
		got, err := c.DoRaw([]byte(array("SCAN", cursor)), 1)
		if err == nil && !strings.HasPrefix(string(got), begin) {
			err = fmt.Errorf("it answers %s", harness.Clip(got))
		}
		return err
	})
}

// TestContract_ROUTE8_CursorsWhenShardsComeAndGo takes all slots from a primary and gives them
// back.
func TestContract_ROUTE8_CursorsWhenShardsComeAndGo(t *testing.T) {
	keys := numbered("shard:", 300)
	harness.EachEngine(t, func(t *testing.T, engine string) {
		cluster := testbed.RunCluster(t, testbed.Options{Replicas: testbed.NoReplicas})
		p := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Checked: true})
		c := p.Dial(t)
		fill(t, c, keys)
		const first, last = 10922, 16383 // of the third shard
		for _, ends := range [][2]int{{2, 0}, {0, 2}} {
			cursor, _ := scanStep(t, c, "0", "COUNT", 5)
			if err := cluster.MoveSlotsAtomic(t.Context(), first, last, ends[0], ends[1]); err != nil {
				t.Fatal(err)
			}
			awaitScan(t, c, cursor, otherCursor)
			sameWords(t, "SCAN of the shards that are left", unique(scanAll(t, []*testbed.Conn{c})), keys)
			sameWords(t, "KEYS of the shards that are left", words(t, do(t, c, "KEYS", "*")), keys)
		}
	})
}

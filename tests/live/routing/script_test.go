package routing

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// noScript is what the cell's servers answer without a script.
func noScript(e *harness.Env) string {
	if e.Server == testbed.Valkey91 {
		return "-NOSCRIPT No matching script.\r\n"
	}
	return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
}

// increments counts its own runs in its key.
const increments = "return redis.call('incr', KEYS[1])"

func shaOf(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// onNodes sends a command to every node of the cell's cluster, not through the proxy.
func onNodes(t *testing.T, e *harness.Env, args ...any) (replies []any) {
	t.Helper()
	for _, n := range e.Cluster.Nodes() {
		replies = append(replies, do(t, testbed.MustDial(t, n.Addr()), args...))
	}
	return replies
}

// withoutScripts empties the servers' script caches, and the proxy's.
func withoutScripts(t *testing.T, e *harness.Env) {
	t.Helper()
	do(t, e.Proxy.Dial(t), "SCRIPT", "FLUSH")
	onNodes(t, e, "SCRIPT", "FLUSH")
	do(t, e.DialLone(t), "SCRIPT", "FLUSH")
}

func TestContract_SCRIPT1_LoadReachesEveryNode(t *testing.T) { loadReachesEveryNode(t) }

func TestCase_B08_LoadReachesEveryNode(t *testing.T) { loadReachesEveryNode(t) }

// loadReachesEveryNode runs a loaded script with keys of every primary: no node lacks it, so
// it is not for want of it that it is found.
func loadReachesEveryNode(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		withoutScripts(t, e)
		nodes := primaries(t, e)
		resetStats(t, nodes)
		pair := e.Pair(t, 2)
		pair.Same(t, "SCRIPT", "LOAD", increments)
		for _, key := range spread(30) {
			pair.Same(t, "EVALSHA", shaOf(increments), 1, key)
		}
		if n := infoSum(t, nodes, "errorstats", "errorstat_NOSCRIPT", "count"); n != 0 {
			t.Errorf("a node has lacked the script %d times", n)
		}
		for i, reply := range onNodes(t, e, "SCRIPT", "EXISTS", shaOf(increments)) {
			if fmt.Sprint(reply) != "[1]" {
				t.Errorf("node %d answers SCRIPT EXISTS with %v; the nodes:\n%v\nthe proxy:\n%v", i, reply,
					do(t, nodes[0], "CLUSTER", "NODES"), do(t, e.Proxy.Dial(t), "INFO", "stats"))
			}
		}
	})
}

// TestContract_SCRIPT1_ExistsWhereEveryPrimaryHasIt has one script everywhere, one nowhere
// and one at all primaries but one.
func TestContract_SCRIPT1_ExistsWhereEveryPrimaryHasIt(t *testing.T) {
	const most, all = "return 'most'", "return 'all'"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		withoutScripts(t, e)
		c := e.Proxy.Dial(t)
		for _, node := range primaries(t, e)[1:] {
			do(t, node, "SCRIPT", "LOAD", most)
		}
		do(t, c, "SCRIPT", "LOAD", all)
		harness.Expect(t, c, array("SCRIPT", "EXISTS", shaOf(most), strings.ToUpper(shaOf(all)), strings.Repeat("f", 40), shaOf(all)), "*4\r\n:0\r\n:1\r\n:0\r\n:1\r\n")
	})
}

// TestContract_SCRIPT1_FlushForgets: whatever worker has seen a script, after a SCRIPT FLUSH
// it is gone from everywhere.
func TestContract_SCRIPT1_FlushForgets(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		withoutScripts(t, e)
		keys := spread(6)
		var clients []*testbed.Conn
		for range 8 { // enough for both workers
			clients = append(clients, e.Proxy.Dial(t))
		}
		for _, how := range []string{"", "ASYNC", "sync"} {
			for i, c := range clients {
				harness.Expect(t, c, array("EVAL", "return 7", 1, keys[i%len(keys)]), ":7\r\n")
			}
			words := strings.Fields("SCRIPT FLUSH " + how)
			harness.Expect(t, clients[0], array(anys(words...)...), "+OK\r\n")
			for i, c := range clients {
				harness.Expect(t, c, array("EVALSHA", shaOf("return 7"), 1, keys[i%len(keys)]), noScript(e))
			}
		}
		for i, reply := range onNodes(t, e, "SCRIPT", "EXISTS", shaOf("return 7")) {
			if fmt.Sprint(reply) != "[0]" {
				t.Errorf("node %d answers SCRIPT EXISTS with %v", i, reply)
			}
		}
	})
}

// TestContract_SCRIPT1_ALostScriptIsLoadedAgain takes a script from its node and runs it, each
// time once.
func TestContract_SCRIPT1_ALostScriptIsLoadedAgain(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			withoutScripts(t, e)
			e.Flush(t)
			c := e.Proxy.DialProto(t, proto)
			keys := spread(9)
			do(t, c, "EVAL", increments, 1, keys[0])
			do(t, c, "SCRIPT", "LOAD", "return {ARGV[1], redis.call('get', KEYS[1])}")
			for i, key := range keys {
				e.Flush(t)
				onNodes(t, e, "SCRIPT", "FLUSH")
				sha := shaOf(increments)
				if i%2 == 0 {
					sha = strings.ToUpper(sha)
				}
				harness.Expect(t, c, array("EVALSHA", sha, 1, key)+array("PING"), noScript(e)+"+PONG\r\n")
				harness.Expect(t, c, array("EVALSHA", sha, 1, key), ":1\r\n")
				harness.Expect(t, c, array("GET", key), "$1\r\n1\r\n")
				harness.Expect(t, c, array("EVALSHA", sha, 1, key), ":2\r\n")
				harness.Expect(t, c, array("EVALSHA_RO", shaOf("return {ARGV[1], redis.call('get', KEYS[1])}"), 1, key, "a"), "*2\r\n$1\r\na\r\n$1\r\n2\r\n")
			}
			onNodes(t, e, "SCRIPT", "FLUSH")
			harness.Expect(t, c, array("EVALSHA", shaOf("return 'unknown'"), 0), noScript(e))
			do(t, c, "EVAL", "return 'keyless'", 0)
			onNodes(t, e, "SCRIPT", "FLUSH")
			for range 3 {
				harness.Expect(t, c, array("EVALSHA", shaOf("return 'keyless'"), 0), "$7\r\nkeyless\r\n")
			}
		}
	})
}

// TestContract_SCRIPT1_ManyMissAScript has many clients, on all workers, run a script that one
// of them has loaded and that all nodes lose again and again: no client hears of it, and each
// run is one.
func TestContract_SCRIPT1_ManyMissAScript(t *testing.T) {
	const clients, rounds = 24, 5
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		keys := spread(4)
		var conns []*testbed.Conn
		for i := range clients {
			conns = append(conns, e.Proxy.Dial(t))
			do(t, conns[i], "PING")
		}
		do(t, conns[0], "SCRIPT", "LOAD", increments)
		for range rounds {
			onNodes(t, e, "SCRIPT", "FLUSH")
			for i, c := range conns {
				if err := c.Write([]byte(array("EVALSHA", shaOf(increments), 1, keys[i%len(keys)]))); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range conns {
				if got, err := c.Receive(); err != nil {
					t.Fatalf("EVALSHA answers %v, %v", got, err)
				} else if _, ok := got.(int64); !ok {
					t.Fatalf("EVALSHA answers %v", got)
				}
			}
		}
		for _, key := range keys {
			if got, want := do(t, conns[0], "GET", key), fmt.Sprint(clients/len(keys)*rounds); got != want {
				t.Errorf("the scripts have run %v times with %s, want %s", got, key, want)
			}
		}
	})
}

// TestContract_SCRIPT1_LaterRequestsAreNotOvertaken has another request behind the one whose
// script is missing: then its reply is what the node has said.
func TestContract_SCRIPT1_LaterRequestsAreNotOvertaken(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		do(t, c, "EVAL", increments, 1, "a")
		onNodes(t, e, "SCRIPT", "FLUSH")
		run := array("EVALSHA", shaOf(increments), 1, "a")
		harness.Expect(t, c, run+array("GET", "a"), noScript(e)+"$1\r\n1\r\n")
		harness.Expect(t, c, run+run+run, noScript(e)+noScript(e)+":2\r\n")
		harness.Expect(t, c, run+run+array("GET", "a"), ":3\r\n:4\r\n$1\r\n4\r\n")
	})
}

// TestContract_SCRIPT1_WhatAScriptSaysIsNotAskedAgain: scripts that answer like a node that
// lacks them run once.
func TestContract_SCRIPT1_WhatAScriptSaysIsNotAskedAgain(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		text := strings.TrimSuffix(strings.TrimPrefix(noScript(e), "-"), "\r\n")
		pair := e.Pair(t, 2)
		for _, end := range []string{
			"return redis.error_reply('" + text + "')", "return {err = ARGV[1]}", "error({err = '" + text + "'})", "error(ARGV[1])",
		} {
			body, argument := "redis.call('incr', KEYS[1]) "+end, "none"
			if strings.Contains(end, "ARGV") {
				argument = text
			}
			for _, request := range [][]any{{"EVAL", body, 1, "a", argument}, {"EVALSHA", shaOf(body), 1, "a", argument}, {"GET", "a"}} {
				if reply := pair.Same(t, request...); request[0] == "EVAL" && !strings.HasPrefix(reply, "-") {
					t.Errorf("%s: the lone node answers %s", end, reply)
				}
			}
		}
	})
}

func TestContract_ROUTE7_CountsOfKeys(t *testing.T) { countsOfKeys(t) }

func TestCase_A04_CountsOfKeys(t *testing.T) { countsOfKeys(t) }

// countsOfKeys has scripts and functions without keys, and counts that are none.
func countsOfKeys(t *testing.T) {
	const lib = "#!lua name=counts\nredis.register_function{function_name='f', callback=function(k, a) return {#k, #a} end, flags={'no-writes'}}"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			pair.Same(t, "FUNCTION", "LOAD", "REPLACE", lib)
			pair.Same(t, "SCRIPT", "LOAD", "return {#KEYS, #ARGV}")
			for command, what := range map[string]string{
				"EVAL": "return {#KEYS, #ARGV}", "EVAL_RO": "return {#KEYS, #ARGV}", "EVALSHA": shaOf("return {#KEYS, #ARGV}"),
				"EVALSHA_RO": shaOf("return {#KEYS, #ARGV}"), "FCALL": "f", "FCALL_RO": "f",
			} {
				for _, rest := range []string{
					"0", "0 a", "1 a", "2 {a}1 {a}2 b", "-1", "-1 a", "3 a", "1", "x", "x a", "1.5 a", "+1 a", "01 a", "99999999999999999999 a",
					"9223372036854775807 a", "-9223372036854775808 a", "2147483648 a", "4294967297 a", "-4294967295 a", "8589934593 a b", "9223372036854775800 a",
				} {
					pair.Same(t, append([]any{command, what}, anys(strings.Fields(rest)...)...)...)
				}
				pair.Same(t, command)
				pair.Same(t, command, what)
				pair.Same(t, command, what, "")
				pair.Same(t, "PING")
			}
		}
	})
}

// TestContract_ROUTE7_WhereScriptsRun: with keys where these are, without at any primary.
func TestContract_ROUTE7_WhereScriptsRun(t *testing.T) {
	const lib = "#!lua name=where\nredis.register_function('w', function(k) return redis.call('set', k[1], 'f') end)\n" +
		"redis.register_function{function_name='r', callback=function(k, a) return k[1] or 'none' end, flags={'no-writes'}}"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		c := e.Proxy.Dial(t)
		do(t, c, "FUNCTION", "LOAD", "REPLACE", lib)
		resetStats(t, nodes)
		for _, key := range spread(12) {
			for _, request := range [][]any{
				{"EVAL", "return redis.call('set', KEYS[1], 'e')", 1, key}, {"EVAL_RO", "return redis.call('get', KEYS[1])", 1, key},
				{"FCALL", "w", 1, key}, {"FCALL_RO", "r", 1, key},
			} {
				do(t, c, request...)
			}
		}
		if n := infoSum(t, nodes, "errorstats", "errorstat_MOVED", "count"); n != 0 {
			t.Errorf("%d requests came to a node that has not their key", n)
		}
		for _, request := range [][]any{
			{"EVAL", "return 1", 0}, {"EVAL_RO", "return 1", 0, "a", "b"}, {"FCALL", "r", 0}, {"FCALL_RO", "r", 0, "a"},
		} {
			resetStats(t, nodes)
			for range 2 * len(nodes) {
				do(t, c, request...)
			}
			for i, node := range nodes {
				if n := calls(t, []*testbed.Conn{node}, strings.ToLower(request[0].(string))); n != 2 {
					t.Errorf("%v: primary %d was asked %d times, want 2", request, i, n)
				}
			}
		}
		do(t, c, "FUNCTION", "FLUSH")
	})
}

// TestContract_SCRIPT2_FunctionsAreEverywhere changes the libraries, and looks at each primary
// what they are then.
func TestContract_SCRIPT2_FunctionsAreEverywhere(t *testing.T) {
	lib := func(name, function string) string {
		return "#!lua name=" + name + "\nredis.register_function('" + function + "', function(k, a) return {k[1], '" + name + "'} end)"
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			var nodes []*testbed.Conn
			for _, node := range primaries(t, e) {
				nodes = append(nodes, harness.Hello(t, node, proto))
			}
			pair.Same(t, "FUNCTION", "FLUSH", "SYNC")
			for _, request := range [][]any{
				{"FUNCTION", "LOAD", lib("one", "f")}, {"FUNCTION", "LOAD", lib("one", "f")}, {"FUNCTION", "LOAD", lib("two", "f")},
				{"FUNCTION", "LOAD", "REPLACE", lib("one", "g")}, {"FUNCTION", "LOAD", "replace", lib("two", "f")}, {"FUNCTION", "LOAD", "x", lib("two", "f")},
				{"FUNCTION", "LOAD", "no library"}, {"FUNCTION", "LOAD"}, {"FUNCTION", "DELETE", "none"}, {"FUNCTION", "DELETE", "one"}, {"FUNCTION", "DELETE"},
				{"FUNCTION", "STATS"}, {"FUNCTION", "LIST", "LIBRARYNAME", "t*", "WITHCODE"}, {"FUNCTION", "LIST", "x"},
				{"FUNCTION", "RESTORE", "no dump"}, {"FUNCTION", "FLUSH", "x"}, {"FUNCTION", "RESTORE"}, {"FUNCTION", "KILL"},
			} {
				pair.Same(t, request...)
				pair.SameAs(t, harness.Unordered, "FUNCTION", "LIST")
				for _, node := range nodes {
					node := &harness.Pair{Proxy: node, Lone: pair.Lone}
					node.SameAs(t, harness.Unordered, "FUNCTION", "LIST")
				}
			}
			for _, key := range spread(12) {
				pair.Same(t, "FCALL", "f", 1, key)
			}
			dump := do(t, pair.Proxy, "FUNCTION", "DUMP").(string)
			pair.Same(t, "FUNCTION", "RESTORE", dump)
			pair.Same(t, "FUNCTION", "FLUSH")
			pair.Same(t, "FCALL", "f", 0)
			pair.Same(t, "FUNCTION", "RESTORE", dump, "APPEND")
			pair.Same(t, "FUNCTION", "RESTORE", dump, "REPLACE")
			pair.Same(t, "FUNCTION", "RESTORE", dump, "x")
			for _, key := range spread(12) {
				pair.Same(t, "FCALL", "f", 1, key)
			}
			pair.Same(t, "FUNCTION", "FLUSH", "ASYNC")
		}
	})
}

// busyForAWhile is the end of a script that takes some tenths of a second.
const busyForAWhile = "for i = 1, 3e7 do end return 'done'"

// TestContract_SCRIPT2_KillSucceedsWhereSomethingRuns: one shard runs a script, or a function,
// the others have nothing to kill.
func TestContract_SCRIPT2_KillSucceedsWhereSomethingRuns(t *testing.T) {
	const lib = "#!lua name=busy\nredis.register_function('busy', function() while true do end end)"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		setBusyAfter(t, e, 20)
		pair := e.Pair(t, 2)
		pair.Same(t, "SCRIPT", "KILL")
		pair.Same(t, "FUNCTION", "KILL")
		do(t, pair.Proxy, "FUNCTION", "LOAD", "REPLACE", lib)
		for _, tc := range []struct {
			run  []any
			kill string
		}{{[]any{"EVAL", "while true do end", 1, "a"}, "SCRIPT"}, {[]any{"FCALL", "busy", 1, "a"}, "FUNCTION"}} {
			c := e.Proxy.Dial(t)
			if err := c.Write([]byte(array(tc.run...))); err != nil {
				t.Fatal(err)
			}
			awaitKill(t, pair.Proxy, tc.kill, "OK")
			if reply, err := c.Receive(); err != nil || !strings.Contains(fmt.Sprint(reply), "killed by user") {
				t.Errorf("%v was killed and answers %v, %v", tc.run, reply, err)
			}
			pair.Same(t, tc.kill, "KILL")
		}
		do(t, pair.Proxy, "FUNCTION", "FLUSH")
	})
}

// TestContract_SCRIPT2_KillTellsWhatCannotBeKilled: a script that has written, at one shard, is
// what the client hears of, and not that the others are idle. Meanwhile what concerns all
// shards is answered as the busy one says, or waits for it.
func TestContract_SCRIPT2_KillTellsWhatCannotBeKilled(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		setBusyAfter(t, e, 20)
		behind, apart, killer := e.Proxy.Dial(t), e.Proxy.DialProto(t, 3), e.Proxy.Dial(t)
		do(t, apart, "SET", "b", "before") // its connections to the nodes are there
		script := "redis.call('set', KEYS[1], 'x') " + busyForAWhile
		if err := behind.Write([]byte(array("EVAL", script, 1, "a") + array("DBSIZE"))); err != nil {
			t.Fatal(err)
		}
		awaitKill(t, killer, "SCRIPT", "UNKILLABLE Sorry the script already executed write commands against the dataset. "+
			"You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.")
		busy := "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n"
		if e.Server == testbed.Valkey91 {
			busy = strings.Replace(busy, "Redis", "Valkey", 1)
		}
		harness.Expect(t, apart, array("DBSIZE")+array("SCRIPT", "LOAD", "return 1")+array("KEYS", "*")+array("SCRIPT", "EXISTS", "x"), busy+busy+busy+busy)
		harness.Expect(t, behind, "", "$4\r\ndone\r\n:2\r\n")
		harness.Expect(t, apart, array("DBSIZE"), ":2\r\n")
		harness.Expect(t, killer, array("SCRIPT", "KILL"), "-NOTBUSY No scripts in execution right now.\r\n")
	})
}

// setBusyAfter sets how many milliseconds a script may run before its server says so.
func setBusyAfter(t *testing.T, e *harness.Env, ms int) {
	t.Helper()
	onNodes(t, e, "CONFIG", "SET", "busy-reply-threshold", ms)
	t.Cleanup(func() { onNodes(t, e, "CONFIG", "SET", "busy-reply-threshold", 5000) })
}

// awaitKill kills until there is something to kill, and expects an answer then.
func awaitKill(t *testing.T, c *testbed.Conn, what, want string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "the script to run", func() error {
		reply, err := c.Do(what, "KILL")
		if text := fmt.Sprint(reply, err); strings.Contains(text, "NOTBUSY") {
			return errors.New(text)
		}
		if reply != want && fmt.Sprint(err) != want {
			t.Errorf("%s KILL answers %v, %v; want %s", what, reply, err, want)
		}
		return nil
	})
}

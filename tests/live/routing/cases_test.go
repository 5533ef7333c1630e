package routing

import (
	"strings"
	"testing"

	"mithril/tests/harness"
)

const crossSlot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n"

// sameOnEveryShard sends requests to the proxy and to the lone node, with %t in them replaced by hash tags of all
// shards. No request may have met a redirect.
func sameOnEveryShard(t *testing.T, lines string) {
	t.Helper()
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		resetStats(t, nodes)
		pair := e.Pair(t, 2)
		for _, tag := range spread(12) {
			for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
				pair.Same(t, anys(strings.Fields(strings.ReplaceAll(line, "%t", "{"+tag+"}"))...)...)
			}
		}
		if moved := infoSum(t, nodes, "errorstats", "errorstat_MOVED", "count"); moved != 0 {
			t.Errorf("%d requests went to a node that does not own the slot", moved)
		}
	})
}

// crossSlotOnEveryEngine wants requests refused in a node's words, without asking one.
func crossSlotOnEveryEngine(t *testing.T, lines string) {
	t.Helper()
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		resetStats(t, nodes)
		c := e.Proxy.Dial(t)
		for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
			harness.Expect(t, c, array(anys(strings.Fields(line)...)...)+array("PING"), crossSlot+"+PONG\r\n")
		}
		if n := infoSum(t, nodes, "errorstats", "errorstat_CROSSSLOT", "count"); n != 0 {
			t.Errorf("the nodes were asked %d times", n)
		}
	})
}

// TestCase_A01_OptionsBeforeStreams: the slot is that of the stream, whatever the options are and the stream is called.
func TestCase_A01_OptionsBeforeStreams(t *testing.T) {
	sameOnEveryShard(t, `
XADD %ts 1-1 f v
XADD %tCOUNT 1-1 f v
XREAD COUNT 2 STREAMS %ts 0
XREAD count 2 streams %ts 1-1
XREAD COUNT 2 STREAMS %ts %tCOUNT 0 0
XREAD STREAMS %tCOUNT %ts 0 0
XADD COUNT * f v MAXLEN
XADD COUNT 1-1 f v
XADD BLOCK 1-1 f v
XADD STREAMS 1-1 f v
XREAD STREAMS COUNT 0
XREAD COUNT 1 STREAMS BLOCK 0
XREAD STREAMS STREAMS 0
XREAD COUNT 1 STREAMS STREAMS 1-1`)
}

// TestCase_A02_GroupsAreNoKeys: only streams count as keys, and a list that does not divide is the server's error.
func TestCase_A02_GroupsAreNoKeys(t *testing.T) {
	sameOnEveryShard(t, `
XADD %ts 1-1 f v
XADD %tt 1-1 f v
XGROUP CREATE %ts g 0
XGROUP CREATE %tt g 0
XGROUP CREATE %ts STREAMS 0
XREADGROUP GROUP g c COUNT 1 STREAMS %ts >
XREADGROUP GROUP g COUNT COUNT 1 STREAMS %ts %tt > >
XREADGROUP GROUP STREAMS STREAMS COUNT 1 NOACK STREAMS %ts >
XREADGROUP GROUP g c COUNT 1 STREAMS %ts t 0
XREADGROUP GROUP g c COUNT 1 STREAMS s
XREADGROUP GROUP g c STREAMS s t u 0 0
XREAD STREAMS s t 0
XREAD COUNT 1 STREAMS s`)
}

// TestCase_A03_KeyBehindTheSubcommand: the slot is that of argument 2.
func TestCase_A03_KeyBehindTheSubcommand(t *testing.T) {
	sameOnEveryShard(t, `
XGROUP CREATE %ts g $ MKSTREAM
XGROUP CREATECONSUMER %ts g c
XINFO STREAM %ts
XINFO GROUPS %ts
XGROUP DESTROY %ts g
SET %tk v
OBJECT ENCODING %tk
OBJECT REFCOUNT %tk
OBJECT ENCODING %tnone
MEMORY USAGE %tnone`)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		if help := pair.Same(t, "OBJECT", "HELP"); !strings.HasPrefix(help, "*") {
			t.Errorf("the lone node answers OBJECT HELP with %q", help)
		}
		harness.Expect(t, pair.Proxy, array("DEBUG", "OBJECT", "k"), "-ERR unknown command 'DEBUG', with args beginning with: 'OBJECT' 'k' \r\n")
		do(t, pair.Proxy, "SET", "k", "v")
		node := &harness.Pair{Proxy: pair.Proxy, Lone: e.Owner(t, "k")} // whose entries have another size than a lone node's
		node.Same(t, "MEMORY", "USAGE", "k")
		node.Same(t, "MEMORY", "USAGE", "k", "SAMPLES", 0)
	})
}

// TestCase_A05_MovableKeys: the destination and all keys that are counted belong to the request.
func TestCase_A05_MovableKeys(t *testing.T) {
	sameOnEveryShard(t, `
ZADD %ta 1 x 2 y
ZADD %tb 3 x
ZUNIONSTORE %td 2 %ta %tb
ZINTER 2 %ta %tb WITHSCORES
ZDIFF 2 %ta %tb
ZINTERCARD 2 %ta %tb LIMIT 1
ZMPOP 2 %tnone %td MIN COUNT 1
SADD %tp 1 2
SADD %tq 2
SINTERCARD 2 %tp %tq
RPUSH %tk 1 2 3
LMPOP 1 %tk LEFT
LMPOP 2 %tnone %tk RIGHT COUNT 2
EVALSHA ffffffffffffffffffffffffffffffffffffffff 2 %ta %tb
GEOADD %tg 13 38 P
GEORADIUS %tg 13 38 1 km STORE %tnear
GEORADIUSBYMEMBER %tg P 1 km STOREDIST %tnear
ZCARD %tnear
ZUNIONSTORE d 0
ZUNIONSTORE d 0 a
ZUNIONSTORE d 2 a
ZUNIONSTORE d x a
LMPOP 3 a LEFT
SINTERCARD 0 a
ZINTER -1 a`)
	crossSlotOnEveryEngine(t, `
ZUNIONSTORE a 1 b
ZUNIONSTORE {t}d 2 {t}a b
ZINTER 2 a b
ZINTERCARD 2 a b
ZMPOP 2 a b MIN
SINTERCARD 2 a b
LMPOP 2 a b LEFT
EVALSHA ffffffffffffffffffffffffffffffffffffffff 2 a b
GEORADIUS a 1 1 1 km STORE b
GEORADIUSBYMEMBER a m 1 km STOREDIST b`)
}

// TestCase_A09_KeylessInAPipeline: each reply is in its place.
func TestCase_A09_KeylessInAPipeline(t *testing.T) {
	keys := spread(12)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		count := do(t, c, "COMMAND", "COUNT")
		var commands [][]any
		for _, key := range keys {
			commands = append(commands, []any{"SET", key, key}, []any{"TIME"}, []any{"GET", key}, []any{"PING"}, []any{"ECHO", key}, []any{"COMMAND", "COUNT"},
				[]any{"EXISTS", key, "none"}, []any{"CLUSTER", "KEYSLOT", key}, []any{"DBSIZE"}, []any{"STRLEN", key})
		}
		replies, err := c.Pipeline(commands...)
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			got := replies[10*i : 10*i+10]
			if now, ok := got[1].([]any); !ok || len(now) != 2 {
				t.Errorf("TIME: got %v", got[1])
			}
			want := []any{"OK", got[1], key, "PONG", key, count, int64(1), int64(slotOf(key)), int64(i + 1), int64(len(key))}
			for j := range want {
				if j != 1 && got[j] != want[j] {
					t.Errorf("%v: got %v, want %v", commands[10*i+j], got[j], want[j])
				}
			}
		}
	})
}

// TestCase_A10_Sort: a destination is a key, and what would read keys of other slots is refused as by a node.
func TestCase_A10_Sort(t *testing.T) {
	sameOnEveryShard(t, `
RPUSH %tl 3 1 2
SORT %tl
SORT %tl BY nosort
SORT %tl LIMIT 0 2 DESC STORE %td
LRANGE %td 0 -1
SORT %tl STORE %tSTORE
SORT_RO %tl ALPHA
SORT %tl STORE
SORT %tl BOGUS`)
	crossSlotOnEveryEngine(t, `
SORT a STORE b
SORT a BY store GET # LIMIT 0 1 STORE b
SORT {t}a STORE {t}b STORE c`)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := &harness.Pair{Proxy: e.Proxy.Dial(t), Lone: e.Owner(t, "l")}
		do(t, pair.Proxy, "RPUSH", "l", 2, 1)
		for _, request := range [][]any{
			{"SORT", "l", "BY", "w_*"}, {"SORT", "l", "GET", "w_*"}, {"SORT", "l", "BY", "w_*", "GET", "#", "STORE", "{l}d"}, {"SORT_RO", "l", "BY", "w_*"},
			{"SORT", "l", "BY", "nosort", "GET", "#"}, {"SORT", "l", "BY", "{l}w_*"}, {"SORT", "l", "GET", "{l}w_*"},
		} {
			pair.Same(t, request...)
		}
		if got, _ := pair.Proxy.Do("SORT", "l", "BY", "w_*"); got != nil {
			t.Errorf("SORT BY w_*: got %v, which can be of one node only", got)
		}
	})
}

// TestCase_A12_MSETNXIsNotSplit: all or nothing, so it is refused when the keys span slots.
func TestCase_A12_MSETNXIsNotSplit(t *testing.T) {
	crossSlotOnEveryEngine(t, "MSETNX a 1 b 2\nMSETNX {t}a 1 {t}b 2 c 3")
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		harness.Expect(t, pair.Proxy, array("MSETNX", "a", 1, "b", 2)+array("EXISTS", "a", "b"), crossSlot+":0\r\n")
		for _, request := range [][]any{{"MSETNX", "{t}a", 1, "{t}b", 2}, {"MSETNX", "{t}b", 3, "{t}c", 4}, {"MGET", "{t}a", "{t}b", "{t}c"}} {
			pair.Same(t, request...)
		}
	})
}

// TestCase_A14_EveryKeyCounts: of commands with two keys and more.
func TestCase_A14_EveryKeyCounts(t *testing.T) {
	sameOnEveryShard(t, `
SET %ta foobar
SET %tb abcdef
BITOP AND %td %ta %tb
GET %td
BITOP NOT %td %ta
COPY %ta %tc DB 0
COPY %ta %tc
COPY %ta %tc REPLACE
RENAME %tc %te
RENAMENX %te %tb
RPUSH %tl 1 2
LMOVE %tl %tm LEFT RIGHT
RPOPLPUSH %tl %tm
LRANGE %tm 0 -1
SADD %ts x y
SMOVE %ts %tt x
SMEMBERS %tt
PFADD %tp x
PFADD %tq y
PFMERGE %tr %tp %tq
PFMERGE %tr
PFCOUNT %tr`)
	crossSlotOnEveryEngine(t, `
RENAME a b
RENAMENX a b
COPY a b
COPY a b DB 0
LMOVE a b LEFT RIGHT
RPOPLPUSH a b
SMOVE a b m
BITOP AND a b c
BITOP AND {t}d {t}a b
BITOP NOT {t}d a
PFMERGE a b
PFMERGE {t}d {t}a b`)
}

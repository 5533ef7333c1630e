package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/resp"
	"mithril/tools/testbed"
)

// keyRequests have their keys where a walker may miss them. One that a version does not have is left out for it.
var keyRequests = strings.Split(strings.TrimSpace(`
GET k
SET k v
SET k v GET
HSET k f v g w
MGET a b c a
MSET a 1 b 2 c 3
MSETNX a 1 b 2
DEL a b
EXISTS a a
PFCOUNT a b
PFMERGE d a b
OBJECT ENCODING k
OBJECT FREQ k
MEMORY USAGE k
MEMORY USAGE k SAMPLES 5
XADD s * f v
XGROUP CREATE s g $ MKSTREAM
XGROUP DELCONSUMER s g c
XINFO STREAM s FULL
XINFO CONSUMERS s g
XREAD STREAMS s 0
XREAD COUNT 2 BLOCK 50 STREAMS s $
XREAD BLOCK 0 STREAMS s t u 0 0 0
xread streams streams 0
XREADGROUP GROUP g c STREAMS s >
XREADGROUP GROUP g c COUNT 1 NOACK STREAMS s t > >
XREADGROUP GROUP g c BLOCK 10 STREAMS s >
XCLAIM s g c 0 1-1
XAUTOCLAIM s g c 0 0
XPENDING s g
EVAL return 1 a b
EVAL return 2 a b c d
EVALSHA sha 2 a b
EVAL_RO return 1 a
EVALSHA_RO sha 1 a x
FCALL f 2 a b x
FCALL_RO f 1 a
ZUNIONSTORE d 2 a b WEIGHTS 1 2
ZINTERSTORE d 1 a
ZDIFFSTORE d 2 a b
ZUNION 2 a b WITHSCORES
ZINTER 3 a b c
ZDIFF 1 a
ZINTERCARD 2 a b LIMIT 3
SINTERCARD 2 a b LIMIT 1
LMPOP 1 k LEFT
LMPOP 2 a b RIGHT COUNT 3
ZMPOP 2 a b MIN
BLMPOP 0 2 a b LEFT
BZMPOP 0.5 1 k MAX
BLPOP a b c 0
BRPOP a 1
BZPOPMIN a b 0
BLMOVE a b LEFT RIGHT 0
BRPOPLPUSH a b 0
LMOVE a b LEFT RIGHT
RPOPLPUSH a b
RENAME a b
RENAMENX a b
COPY a b
COPY a b DB 0 REPLACE
SMOVE a b m
BITOP AND d a b
BITOP NOT d a
BITFIELD k GET u8 0
SDIFFSTORE d a b
SINTERSTORE d a
SUNION a b
SUNIONSTORE d a b
LCS a b
LCS a b IDX
GEOSEARCHSTORE d k FROMMEMBER m BYRADIUS 1 m ASC
ZRANGESTORE d k 0 -1
GEORADIUS k 1 2 3 m
GEORADIUS k 1 2 3 m STORE d
GEORADIUS k 1 2 3 m COUNT 1 ANY ASC STOREDIST d
GEORADIUSBYMEMBER k m 3 m STORE d
GEORADIUSBYMEMBER k store 3 m
GEORADIUSBYMEMBER k store 3 m COUNT 1 STOREDIST d
GEORADIUS_RO k 1 2 3 m
SORT k
SORT k BY nosort
SORT k STORE d
SORT k BY nosort LIMIT 0 1 GET # ASC ALPHA STORE d
SORT k BY store GET store STORE d
SORT k STORE d STORE e
SORT_RO k BY nosort
RESTORE k 0 v
SPUBLISH c m
MOVE k 1
TOUCH a b
WATCH a b
SSUBSCRIBE a b
GETEX k EX 1
LPOS k e
HRANDFIELD k 2
ZRANDMEMBER k
HGETEX k EX 1 FIELDS 1 f
HEXPIRE k 1 FIELDS 1 f
MSETEX 2 a 1 b 2 EX 1
DELIFEQ k v
VADD k VALUES 1 1 e
VSIM k ELE e`), "\n")

// walk returns the keys that the walker finds, with the arguments behind their positions.
func walk(c *Command, frame []byte, args []resp.Arg) (keys []string, refs []KeyRef, problem Problem) {
	refs, problem = c.Keys(frame, args, nil)
	for _, ref := range refs {
		keys = append(keys, string(args[ref.Arg].Of(frame)))
	}
	return keys, refs, problem
}

func TestContract_ROUTE2_keysAsTheServerFindsThem(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		conn := dialLive(t, table, resp.RESP2)
		for _, line := range keyRequests {
			words := strings.Fields(line)
			frame, args := request(words...)
			c, problem := table.Find(frame, args)
			if problem == UnknownCommand {
				continue
			}
			if problem != OK {
				t.Errorf("%s: problem %d", line, problem)
				continue
			}
			keys, refs, problem := walk(c, frame, args)
			if problem != OK {
				t.Errorf("%s: keys %q, problem %d", line, keys, problem)
			}
			if c.KeySpecs[0].Flags&KeyNotKey != 0 {
				checkChannels(t, line, refs, words)
				continue
			}
			checkKeys(t, conn, line, keys, refs)
		}
	})
}

// checkChannels wants every argument behind the name, up to a message, to be found and marked.
func checkChannels(t *testing.T, line string, refs []KeyRef, words []string) {
	if len(refs) == 0 || refs[0].Arg != 1 || strings.EqualFold(words[0], "ssubscribe") && len(refs) != len(words)-1 {
		t.Errorf("%s: channels %v", line, refs)
	}
	for _, ref := range refs {
		if ref.Flags&KeyNotKey == 0 {
			t.Errorf("%s: argument %d is not marked as no key", line, ref.Arg)
		}
	}
}

// checkKeys compares with COMMAND GETKEYSANDFLAGS. The flags of a spec with variable flags depend on other arguments and are not compared.
func checkKeys(t *testing.T, conn *testbed.Conn, line string, keys []string, refs []KeyRef) {
	reply, err := conn.Do(append([]any{"COMMAND", "GETKEYSANDFLAGS"}, anySlice(strings.Fields(line))...)...)
	if err != nil {
		t.Errorf("%s: keys %q, the server says %v", line, keys, err)
		return
	}
	var want []string
	for i, pair := range reply.([]any) {
		pair := pair.([]any)
		want = append(want, pair[0].(string))
		if i < len(refs) && refs[i].Flags&KeyVariableFlags == 0 {
			if flags := keyFlags(pair[1]); flags != refs[i].Flags&^KeyIncomplete {
				t.Errorf("%s: key %d has flags %b, the server says %b", line, i, refs[i].Flags, flags)
			}
		}
	}
	if !slices.Equal(keys, want) {
		t.Errorf("%s: keys %q, the server says %q", line, keys, want)
	}
}

func anySlice(words []string) (list []any) {
	for _, w := range words {
		list = append(list, w)
	}
	return list
}

func keyFlags(names any) (flags KeyFlags) {
	for _, name := range names.([]any) {
		flags |= keyFlagBits[name.(string)]
	}
	return flags &^ KeyIncomplete
}

// Requests for every row, with all arguments alike: as numbers of keys they are right, too many, or zero.
func TestContract_ROUTE2_keysOfEveryRow(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		conn := dialLive(t, table, resp.RESP2)
		checked := 0
		for id := range table.Len() {
			c := table.Row(uint16(id))
			name := strings.Split(c.Name, "|")
			if c.Route == RouteRefused || !c.HasKeys() || c.KeySpecs[0].Flags&KeyNotKey != 0 {
				continue
			}
			for _, filler := range []string{"1", "2", "3", "0", "x"} {
				for n := len(name); n < 10; n++ {
					words := append(slices.Clone(name), slices.Repeat([]string{filler}, n-len(name))...)
					frame, args := request(words...)
					if _, problem := table.Find(frame, args); problem != OK {
						continue
					}
					keys, _, problem := walk(c, frame, args)
					checked++
					if diff := compareWithGetKeys(conn, words, keys, problem); diff != "" {
						t.Errorf("%q: %s", words, diff)
					}
				}
			}
		}
		if checked < 4000 {
			t.Errorf("only %d requests were compared", checked)
		}
	})
}

// compareWithGetKeys returns what differs between the walker's keys and the server's. Where the server finds no keys at all because the
// request is malformed, the walker must say so or find some that are certain, such as a destination.
func compareWithGetKeys(conn *testbed.Conn, words, keys []string, problem Problem) string {
	reply, err := conn.Do(append([]any{"COMMAND", "GETKEYS"}, anySlice(words)...)...)
	if err != nil {
		if problem == BadKeys || len(keys) == 0 {
			return ""
		}
		if len(words) == 2 && words[0] == "pfmerge" {
			return "" // a lone destination is a key, and is executed as one; COMMAND GETKEYS alone fails on it
		}
		return fmt.Sprintf("keys %q, problem %d; the server says %v", keys, problem, err)
	}
	var want []string
	for _, key := range reply.([]any) {
		want = append(want, key.(string))
	}
	if len(want) == 0 && len(keys) == 0 {
		return "" // EVAL and its like, whose count of keys may be zero or wrong
	}
	if problem != OK || !slices.Equal(keys, want) {
		return fmt.Sprintf("keys %q, problem %d; the server says %q", keys, problem, want)
	}
	return ""
}

// Where the published specs find the wrong keys, and malformed requests.
func TestContract_ROUTE2_keysThatSpecsMiss(t *testing.T) {
	for _, test := range []struct {
		line    string
		keys    string
		problem Problem
	}{
		{"XREADGROUP GROUP streams c STREAMS s >", "s", OK},
		{"XREADGROUP GROUP g streams COUNT 1 STREAMS s >", "s", OK},
		{"XREADGROUP COUNT 1 GROUP g streams STREAMS s t > >", "s t", OK},
		{"XREADGROUP NOACK GROUP block streams STREAMS streams >", "streams", OK},
		{"XREADGROUP GROUP g c CLAIM 10 STREAMS s >", "s", OK},
		{"XREAD NEWOPTION COUNT 1 STREAMS s 0", "s", OK},
		{"XREAD STREAMS s t 0", "s", OK}, // the owner of s says that it is unbalanced
		{"XREAD COUNT 1 BLOCK 5", "", BadKeys},
		{"XREAD COUNT 1 STREAMS", "", BadKeys},
		{"XREAD COUNT streams s", "", BadKeys},
		{"SORT k GET store BY STORE", "k", OK},
		{"SORT k LIMIT store STORE STORE d", "k d", OK},
		{"SORT k STORE", "k", OK},
		{"GEORADIUS k 1 2 3 m STORE a STOREDIST b", "k b", OK},
		{"GEORADIUS k 1 2 3 m STORE store STOREDIST b STORE c", "k c", OK},
		{"GEORADIUS k 1 2 3 m COUNT store", "k", OK},
		{"EVAL s 0", "", OK},
		{"EVAL s 0 a b", "", OK},
		{"EVAL s -1 a", "", BadKeys},
		{"EVAL s 3 a b", "", BadKeys},
		{"EVAL s x a", "", BadKeys},
		{"EVAL s 01 a", "", BadKeys},
		{"EVAL s +1 a", "", BadKeys},
		{"EVAL s 1.0 a", "", BadKeys},
		{"EVAL s 18446744073709551617 a", "", BadKeys},
		{"ZUNIONSTORE d 0 a", "d", BadKeys},
		{"ZUNIONSTORE d 3 a b", "d", BadKeys},
		{"LMPOP 0 a LEFT", "", BadKeys},
		{"SINTERCARD 5 a b", "", BadKeys},
		{"MSETEX 2 a 1 b 2", "a b", OK},
		{"MSETEX 3 a 1 b 2", "", BadKeys},
	} {
		table := ForEngine("valkey", 9, 1)
		frame, args := request(strings.Fields(test.line)...)
		c, problem := table.Find(frame, args)
		if problem != OK {
			t.Errorf("%s: problem %d", test.line, problem)
			continue
		}
		keys, _, problem := walk(c, frame, args)
		if got := strings.Join(keys, " "); got != test.keys || problem != test.problem {
			t.Errorf("%s: keys %q, problem %d; want %q, %d", test.line, got, problem, test.keys, test.problem)
		}
	}
}

// MIGRATE is refused, so its row is not reachable through Find; it is the only one with a keyword searched from the end.
func TestKeys_keywordFromTheEnd(t *testing.T) {
	k := KeySpec{Begin: BeginKeyword, Count: CountRange, Index: -2, Keyword: "keys", LastKey: -1, Step: 1}
	c := Command{KeySpecs: []KeySpec{k}}
	for line, want := range map[string]string{
		"migrate h 1 x 0 5 KEYS a b c":  "a b c",
		"migrate h 1 x 0 5 KEYS keys b": "b",
		"migrate h 1 keys 0 5 COPY":     "0 5 COPY",
		"migrate h 1 k 0 5 KEYS":        "",
		"migrate h 1 k 0 5":             "",
	} {
		frame, args := request(strings.Fields(line)...)
		keys, _, _ := walk(&c, frame, args)
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: keys %q, want %q", line, got, want)
		}
	}
}

func TestBlocks(t *testing.T) {
	for line, want := range map[string]bool{
		"BLPOP a 0":                                      true,
		"WAIT 0 0":                                       true,
		"GET k":                                          false,
		"XREAD STREAMS block 0":                          false,
		"XREAD BLOCK 0 STREAMS s $":                      true,
		"XREAD COUNT 1 block 5 STREAMS s $":              true,
		"XREAD COUNT 1 STREAMS s block":                  false,
		"XREADGROUP GROUP block block STREAMS s >":       false,
		"XREADGROUP GROUP g c BLOCK 1 STREAMS s >":       true,
		"XREADGROUP BLOCK 1 GROUP g streams STREAMS s >": true,
		"XREADGROUP GROUP g streams BLOCK 1 STREAMS s >": true,
	} {
		frame, args := request(strings.Fields(line)...)
		c, problem := ForEngine("valkey", 9, 1).Find(frame, args)
		if problem != OK {
			t.Fatalf("%s: problem %d", line, problem)
		}
		if got := c.Blocks(frame, args); got != want {
			t.Errorf("%s: blocks %v, want %v", line, got, want)
		}
	}
}

// Nothing on the data path may allocate.
func TestAllocations(t *testing.T) {
	table := ForEngine("valkey", 9, 1)
	dst := make([]KeyRef, 0, 16)
	errorLine := make([]byte, 0, 1024)
	for _, line := range []string{
		"GET k", "SET k v", "HSET k f v", "MGET a b c", "OBJECT ENCODING k", "XREADGROUP GROUP g c BLOCK 1 STREAMS s t > >",
		"ZUNIONSTORE d 2 a b", "EVAL s 1 a", "SORT k BY x STORE d", "GEORADIUS k 1 2 3 m STORE d", "BITOP AND d a b",
	} {
		frame, args := request(strings.Fields(line)...)
		if n := testing.AllocsPerRun(100, func() {
			c, problem := table.Find(frame, args)
			if problem != OK {
				t.Fatalf("%s: problem %d", line, problem)
			}
			dst, _ = c.Keys(frame, args, dst[:0])
			c.Blocks(frame, args)
		}); n != 0 {
			t.Errorf("%s: %v allocations", line, n)
		}
	}
	frame, args := request("NoSuch", "a", "b")
	if n := testing.AllocsPerRun(100, func() {
		c, problem := table.Find(frame, args)
		errorLine = AppendProblem(errorLine[:0], problem, c, frame, args)
	}); n != 0 {
		t.Errorf("unknown command: %v allocations", n)
	}
}

func BenchmarkKeys(b *testing.B) {
	table := ForEngine("valkey", 9, 1)
	for _, line := range []string{"GET k", "SET k v", "HSET k f v", "MGET a b c d e f g h", "ZUNIONSTORE d 2 a b", "XREAD COUNT 1 STREAMS s 0"} {
		frame, args := request(strings.Fields(line)...)
		c, _ := table.Find(frame, args)
		dst := make([]KeyRef, 0, 16)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = c.Keys(frame, args, dst[:0])
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	table := ForEngine("valkey", 9, 1)
	for _, line := range []string{"GET k", "OBJECT ENCODING k", "CLIENT SETNAME n"} {
		frame, args := request(strings.Fields(line)...)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Find(frame, args)
			}
		})
	}
}

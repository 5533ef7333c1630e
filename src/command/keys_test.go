package command

import (
	"strings"
	"testing"

	"mithril/src/resp"
)

// keyLines are requests that have their keys where a walker may miss them. Not every version knows all of them.
var keyLines = strings.Split(strings.TrimSpace(`
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
BITFIELD k OVERFLOW SAT GET u8 0
BITFIELD k OVERFLOW WRAP
BITFIELD k GET u8 0 SET u8 0 1
BITFIELD k GET u8
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
SORT k STORE store ALPHA
SORT {store}k STORE store ALPHA
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
func walk(c *Command, frame []byte, args []resp.Arg) (keys []string, refs []KeyRef) {
	refs = c.Keys(frame, args, nil)
	for _, ref := range refs {
		keys = append(keys, string(args[ref.Arg].Of(frame)))
	}
	return keys, refs
}

// Channels are found like keys, and marked.
func TestContract_ROUTE2_channelsAreMarked(t *testing.T) {
	for line, want := range map[string]string{"SPUBLISH c m": "c", "SSUBSCRIBE a b": "a b", "SUNSUBSCRIBE": "", "SUNSUBSCRIBE a": "a"} {
		frame, args := request(strings.Fields(line)...)
		c, _ := ForEngine("valkey", 9, 1).Find(frame, args)
		channels, refs := walk(c, frame, args)
		if got := strings.Join(channels, " "); got != want {
			t.Errorf("%s: channels %q, want %q", line, got, want)
		}
		for _, ref := range refs {
			if ref.Flags&KeyNotKey == 0 {
				t.Errorf("%s: argument %d is not marked as no key", line, ref.Arg)
			}
		}
	}
}

// Where the published specs find the wrong keys, and malformed requests, which have none.
func TestContract_ROUTE2_keysThatSpecsMiss(t *testing.T) {
	for line, want := range map[string]string{
		"XREADGROUP GROUP streams c STREAMS s >":                 "s",
		"XREADGROUP GROUP g streams COUNT 1 STREAMS s >":         "s",
		"XREADGROUP COUNT 1 GROUP g streams STREAMS s t > >":     "s t",
		"XREADGROUP NOACK GROUP block streams STREAMS streams >": "streams",
		"XREADGROUP GROUP g c CLAIM 10 STREAMS s >":              "s",
		"XREAD NEWOPTION COUNT 1 STREAMS s 0":                    "",
		"XREAD STREAMS s t 0":                                    "",
		"XREAD COUNT 1 BLOCK 5":                                  "",
		"XREAD COUNT 1 STREAMS":                                  "",
		"XREAD COUNT streams s":                                  "",
		"SORT k GET store BY STORE":                              "k",
		"SORT k LIMIT store STORE STORE d":                       "k d",
		"SORT k STORE STORE d":                                   "k STORE",
		"SORT k STORE store ALPHA":                               "k store",
		"SORT k STORE":                                           "k",
		"GEORADIUS k 1 2 3 m STORE a STOREDIST b":                "k b",
		"GEORADIUS k 1 2 3 m STORE store STOREDIST b STORE c":    "k c",
		"GEORADIUS k 1 2 3 m COUNT store":                        "k",
		"EVAL s 0":                                               "",
		"EVAL s 0 a b":                                           "",
		"EVAL s -1 a":                                            "",
		"EVAL s 3 a b":                                           "",
		"EVAL s x a":                                             "",
		"EVAL s 01 a":                                            "a",
		"EVAL s +1 a":                                            "a",
		"EVAL s 1.0 a":                                           "a",
		"EVAL s 99999999999999999999 a":                          "",
		"PFMERGE d":                                              "d",
		"ZUNIONSTORE d 0 a":                                      "",
		"ZUNIONSTORE d 3 a b":                                    "",
		"LMPOP 0 a LEFT":                                         "",
		"SINTERCARD 5 a b":                                       "",
		"MSETEX 2 a 1 b 2":                                       "a b",
		"MSETEX 3 a 1 b 2":                                       "",
	} {
		frame, args := request(strings.Fields(line)...)
		c, problem := ForEngine("valkey", 9, 1).Find(frame, args)
		if problem != OK {
			t.Errorf("%s: problem %d", line, problem)
			continue
		}
		keys, _ := walk(c, frame, args)
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: keys %q, want %q", line, got, want)
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
		keys, _ := walk(&c, frame, args)
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
func TestContract_ROUTE2_LookupAndWalkAllocateNothing(t *testing.T) {
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
			dst = c.Keys(frame, args, dst[:0])
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

// BenchmarkRoute is what of a request's way depends on its command: the row is looked up and the keys are found.
func BenchmarkRoute(b *testing.B) {
	table := ForEngine("valkey", 9, 1)
	for _, line := range []string{
		"GET k", "SET k v", "HSET k f v", "SET k v EX 100 NX", "OBJECT ENCODING k", "MGET a b c d e f g h", "ZUNIONSTORE d 2 a b",
		"XREAD COUNT 1 STREAMS s 0",
	} {
		frame, args := request(strings.Fields(line)...)
		dst := make([]KeyRef, 0, 16)
		b.Run(line, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, problem := table.Find(frame, args)
				if problem != OK {
					b.Fatal(problem)
				}
				dst = c.Keys(frame, args, dst[:0])
			}
		})
	}
}

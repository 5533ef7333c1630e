package routing

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// array is one request as an array of bulk strings.
func array(args ...any) string { return string(testbed.AppendCommand(nil, args...)) }

// primaries connects to every primary of the cell's cluster.
func primaries(t *testing.T, e *harness.Env) []*testbed.Conn {
	t.Helper()
	var conns []*testbed.Conn
	for _, n := range e.Cluster.Nodes() {
		c := testbed.MustDial(t, n.Addr())
		role, err := c.Do("ROLE")
		if err != nil {
			t.Fatalf("node %s: ROLE: %v", n.Addr(), err)
		}
		if role.([]any)[0] == "master" {
			conns = append(conns, c)
		}
	}
	return conns
}

// resetStats makes the nodes count from zero.
func resetStats(t *testing.T, nodes []*testbed.Conn) {
	t.Helper()
	for _, c := range nodes {
		if _, err := c.Do("CONFIG", "RESETSTAT"); err != nil {
			t.Fatal(err)
		}
	}
}

// infoSum adds a field of INFO commandstats or errorstats over the nodes: part is its name
// in a line such as cmdstat_get:calls=1,usec=2,... of the command or error name.
func infoSum(t *testing.T, nodes []*testbed.Conn, section, name, part string) int {
	t.Helper()
	sum := 0
	for _, c := range nodes {
		reply, err := c.Do("INFO", section)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(reply.(string), "\r\n") {
			rest, found := strings.CutPrefix(line, name+":")
			if !found {
				continue
			}
			for field := range strings.SplitSeq(rest, ",") {
				if value, ok := strings.CutPrefix(field, part+"="); ok {
					n, err := strconv.Atoi(value)
					if err != nil {
						t.Fatalf("INFO %s: %s", section, line)
					}
					sum += n
				}
			}
		}
	}
	return sum
}

// calls counts how often the nodes have run a command since resetStats.
func calls(t *testing.T, nodes []*testbed.Conn, command string) int {
	t.Helper()
	return infoSum(t, nodes, "commandstats", "cmdstat_"+command, "calls")
}

// spread returns n keys of which no two lie in one slot, in the order in which their
// names count up.
func spread(n int) []string {
	var keys []string
	seen := map[uint16]bool{}
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprint("key:", i)
		if s := slotOf(key); !seen[s] {
			seen[s] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// slotOf is the cluster specification read again, slowly: CRC16/XMODEM of the hash tag.
func slotOf(key string) uint16 {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if end := strings.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % testbed.SlotCount
}

// do sends a command that must not fail.
func do(t *testing.T, c *testbed.Conn, args ...any) any {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// anys makes arguments of words.
func anys(words ...string) []any {
	var args []any
	for _, word := range words {
		args = append(args, word)
	}
	return args
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

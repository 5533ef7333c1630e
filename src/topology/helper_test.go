package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Values that encode turns into RESP; string, int and nil stand for themselves.
type (
	list  []any
	pairs []any // a map: key, value, key, value
	raw   string
)

// encode writes value as a RESP3 reply, or as a RESP2 one.
func encode(resp3 bool, value any) []byte {
	switch value := value.(type) {
	case raw:
		return []byte(value)
	case string:
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(value), value)
	case int:
		return fmt.Appendf(nil, ":%d\r\n", value)
	case list:
		return encodeAll(resp3, fmt.Appendf(nil, "*%d\r\n", len(value)), value)
	case pairs:
		if resp3 {
			return encodeAll(resp3, fmt.Appendf(nil, "%%%d\r\n", len(value)/2), value)
		}
		return encodeAll(resp3, fmt.Appendf(nil, "*%d\r\n", len(value)), value)
	case nil:
		if resp3 {
			return []byte("_\r\n")
		}
		return []byte("$-1\r\n")
	}
	panic(fmt.Sprintf("encode %T", value))
}

func encodeAll(resp3 bool, header []byte, values []any) []byte {
	for _, value := range values {
		header = append(header, encode(resp3, value)...)
	}
	return header
}

// id answers a node id of 40 digits that begins with name.
func id(name string) string { return name + strings.Repeat("0", 40-len(name)) }

// node is a node of CLUSTER SLOTS without other names.
func node(host any, port int, name string) list { return list{host, port, id(name), pairs{}} }

// dump writes a map as text: one line for each run of slots, then one for each node.
func dump(s *Snapshot) string {
	var text strings.Builder
	for slot := 0; slot < SlotCount; {
		first, shard := slot, s.Slots[slot]
		for slot < SlotCount && s.Slots[slot] == shard {
			slot++
		}
		if shard == NoShard {
			fmt.Fprintf(&text, "%d-%d nobody\n", first, slot-1)
		} else {
			fmt.Fprintf(&text, "%d-%d shard %d\n", first, slot-1, shard)
		}
	}
	for _, n := range s.Nodes {
		fmt.Fprintf(&text, "%.4s %s %v shard %d %s %s\n", n.ID, n.Addr, n.Names, n.Shard, n.Role, n.Health)
	}
	return text.String()
}

// check fails the test when a snapshot breaks what Snapshot promises.
func check(t testing.TB, s *Snapshot) {
	t.Helper()
	covered, owned := 0, make([]bool, len(s.Shards))
	next := 0 // shards are numbered in the order of their lowest slots
	for slot, shard := range s.Slots {
		if shard == NoShard {
			continue
		}
		covered++
		if int(shard) >= len(s.Shards) {
			t.Fatalf("slot %d belongs to shard %d of %d", slot, shard, len(s.Shards))
		}
		if !owned[shard] {
			if int(shard) != next {
				t.Fatalf("shard %d has a lower slot than shard %d", shard, next)
			}
			next, owned[shard] = next+1, true
		}
	}
	if covered != s.Covered || next != len(s.Shards) {
		t.Fatalf("covered %d, counted %d; %d shards, %d own slots", s.Covered, covered, len(s.Shards), next)
	}
	members := 0
	for i, shard := range s.Shards {
		for _, member := range append([]int{shard.Primary}, shard.Replicas...) {
			role := Replica
			if member == shard.Primary {
				role = Primary
			}
			if n := s.Nodes[member]; n.Shard != i || n.Role != role {
				t.Fatalf("node %d is %s of shard %d, listed as %s of shard %d", member, n.Role, n.Shard, role, i)
			}
			members++
		}
	}
	if members != len(s.Nodes) {
		t.Fatalf("shards list %d nodes of %d", members, len(s.Nodes))
	}
	for i, n := range s.Nodes {
		if n.Addr == "" || len(n.Names) == 0 {
			t.Fatalf("node %d has no address or no name: %+v", i, n)
		}
		if i > 0 && n.ID != "" && s.Nodes[i-1].ID >= n.ID {
			t.Fatalf("node %d comes before node %d by id", i, i-1)
		}
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	reply, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func mustParse(t testing.TB, slots, shards []byte, source Source) *Snapshot {
	t.Helper()
	s, err := Parse(slots, shards, source)
	if err != nil {
		t.Fatalf("Parse: %v\n%q", err, slots)
	}
	check(t, s)
	return s
}

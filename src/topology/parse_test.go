package topology

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var refused = []byte("-ERR unknown command\r\n")

func TestContract_TOPO1_MalformedMapIsRefused(t *testing.T) {
	good := list{0, 100, node("10.0.0.1", 7000, "a")}
	cases := []struct {
		name  string
		reply any
		want  string
	}{
		{"overlap", list{good, list{100, 200, node("10.0.0.2", 7000, "b")}}, "byte 94: slots 100-200 overlap: slot 100 was told before"},
		{"same range twice", list{good, good}, "byte 94: slots 0-100 overlap: slot 0 was told before"},
		{"backwards", list{list{7, 3, node("10.0.0.1", 7000, "a")}}, "byte 4: slots 7-3 run backwards"},
		{"slot too high", list{list{0, 16384, node("10.0.0.1", 7000, "a")}}, `byte 12: the last slot is "16384", want 0 to 16383`},
		{"negative slot", list{list{raw(":-1\r\n"), 3, node("10.0.0.1", 7000, "a")}}, `byte 8: the first slot is "-1", want 0 to 16383`},
		{"slot is text", list{list{"0", 3, node("10.0.0.1", 7000, "a")}}, "byte 8: the first slot is a string, want an integer"},
		{"no node", list{list{0, 3}}, "byte 4: a range lacks its primary, want first slot, last slot, primary and replicas"},
		{"node without port", list{list{0, 3, list{"10.0.0.1"}}}, "byte 4: a node lacks its port, want endpoint, port, id and metadata"},
		{"port too high", list{list{0, 3, node("10.0.0.1", 65536, "a")}}, `byte 34: the port of a node is "65536", want 0 to 65535`},
		{"endpoint is a number", list{list{0, 3, node(5, 7000, "a")}}, "byte 20: the endpoint of a node is an integer, want a string"},
		{"host with a space", list{list{0, 3, node("a b", 7000, "a")}}, `byte 4: node "` + id("a") + `" has the host "a b", want 1 to 255 printable characters`},
		{"host with a line", list{list{0, 3, node("a\r\n", 7000, "a")}}, `has the host "a\r\n", want`},
		{"long host", list{list{0, 3, node(strings.Repeat("h", 256), 7000, "a")}}, "want 1 to 255 printable characters"},
		{"long id", list{list{0, 3, list{"h", 7000, strings.Repeat("i", 65)}}}, "want 1 to 64 printable characters"},
		{"node in two places", list{good, list{101, 200, node("10.0.0.2", 7000, "a")}},
			"byte 94: node " + id("a") + " is both at 10.0.0.1:7000 and at 10.0.0.2:7000"},
		{"odd metadata", list{list{0, 3, list{"h", 7000, id("a"), list{"ip"}}}}, "byte 81: the metadata of a node has 1 elements, want pairs"},
		{"map of maps", pairs{"a", "b"}, "byte 0: the map is a map, want an array"},
		{"status", raw("+OK\r\n"), "byte 0: the map is a string, want an array"},
		{"null", raw("*-1\r\n"), "byte 0: the map is null, want an array"},
		{"range is an error", list{raw("-ERR x\r\n")}, `byte 4: a range is the error "ERR x", want an array`},
		{"bad count", raw("*x\r\n"), `byte 0: bad length "x"`},
		{"count without end", raw("*999999999999\r\n"), "byte 0: length 999999999999 is beyond the end of the reply"},
		{"count of twenty digits", raw("*99999999999999999999\r\n"), `byte 0: bad length "99999999999999999999"`},
		{"string too long", raw("*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$9\r\nabc\r\n:1\r\n"), "byte 20: the endpoint of a node does not end where its length says"},
		{"cut short", raw("*2\r\n*3\r\n:0\r\n"), "byte 12: the reply ends or breaks inside a line"},
		{"no carriage return", raw("*0\n"), "byte 0: the reply ends or breaks inside a line"},
		{"more after the end", raw("*0\r\n:1\r\n"), "byte 4: 4 bytes follow the reply"},
		{"unknown type", list{list{0, 3, list{"h", 1, id("a"), pairs{}, raw("@\r\n")}}}, "unknown type byte '@'"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse(encode(true, c.reply), refused, Source{Host: "10.9.9.9"})
			if err == nil {
				t.Fatalf("accepted as\n%s", dump(s))
			}
			if text, ours := strings.CutPrefix(err.Error(), "CLUSTER SLOTS: "); !ours || !strings.Contains(text, c.want) {
				t.Errorf("error %q\nwant %q", text, c.want)
			}
		})
	}
}

func TestContract_TOPO1_MalformedShardsAreRefused(t *testing.T) {
	member := func(name, role, health string) pairs {
		return pairs{"id", id(name), "port", 7000, "ip", "10.0.0.1", "endpoint", "10.0.0.1", "role", role, "health", health}
	}
	shard := func(first, last int, nodes ...any) pairs {
		return pairs{"slots", list{first, last}, "nodes", list(nodes)}
	}
	cases := []struct {
		name  string
		reply any
		want  string
	}{
		{"overlap", list{shard(0, 9, member("a", "master", "online")), shard(9, 10, member("b", "master", "online"))},
			"slots 9-10 overlap: slot 9 was told before"},
		{"no primary", list{shard(0, 9, member("a", "replica", "online"))}, "the shard of slots 0-9 has 0 primaries, want one"},
		{"two primaries", list{shard(0, 9, member("a", "master", "online"), member("b", "master", "online"))},
			"the shard of slots 0-9 has 2 primaries, want one"},
		{"odd slots", list{pairs{"slots", list{1}, "nodes", list{}}}, "the slots of a shard has 1 elements, want pairs"},
		{"no id", list{pairs{"nodes", list{pairs{"port", 1}}}}, "a node has no id"},
		{"shard is no map", list{"x"}, "byte 4: a shard is a string, want an array"},
	}
	for _, c := range cases {
		for _, resp3 := range []bool{false, true} {
			_, err := Parse(refused, encode(resp3, c.reply), Source{Host: "10.9.9.9"})
			if err == nil || !strings.HasPrefix(err.Error(), "CLUSTER SHARDS: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v\nwant %q", c.name, err, c.want)
			}
		}
	}
}

func TestNodeThatRefusesBothCommands(t *testing.T) {
	_, err := Parse([]byte("-NOPERM no slots\r\n"), nil, Source{Host: "h"})
	if !errors.Is(err, ErrRefused) || err.Error() != `the node gives no map: CLUSTER SLOTS answers "NOPERM no slots", CLUSTER SHARDS answers ""` {
		t.Errorf("error %v", err)
	}
}

// A CLUSTER SHARDS reply that is no good takes nothing from the map but the health.
func TestHealthIsUnknownWithoutShards(t *testing.T) {
	slots := encode(false, list{list{0, 9, node("10.0.0.1", 7000, "a")}})
	for _, shards := range []string{"", "-ERR no\r\n", "*1\r\n+what\r\n", "*0\r\n"} {
		if s := mustParse(t, slots, []byte(shards), Source{}); s.Nodes[0].Health != HealthUnknown || s.Covered != 10 {
			t.Errorf("after %q: %s", shards, dump(s))
		}
	}
}

func TestContract_TOPO1_UncoveredSlots(t *testing.T) {
	s := mustParse(t, encode(false, list{list{5, 9, node("10.0.0.1", 7000, "a")}}), nil, Source{})
	if s.Complete() || s.Covered != 5 || s.Owner(4) != nil || s.Owner(5) == nil || s.Owner(5).Primary != 0 {
		t.Errorf("covered %d, owner of 4 %v, owner of 5 %v", s.Covered, s.Owner(4), s.Owner(5))
	}
	s = mustParse(t, encode(false, list{list{0, 16383, node("10.0.0.1", 7000, "a")}}), nil, Source{})
	if !s.Complete() {
		t.Error("16384 slots are not complete")
	}
	if got, want := s.String(), "epoch 0: 1 nodes, 1 shards, 16384 slots covered, redis 0.0.0"; got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
	if s := mustParse(t, []byte("*0\r\n"), nil, Source{}); s.Covered != 0 || len(s.Nodes) != 0 {
		t.Errorf("an empty map: %s", dump(s))
	}
}

// randomMap draws a cluster and writes it as both replies, in an order of its own.
func randomMap(r *rand.Rand, resp3 bool) (slots, shards []byte, want [SlotCount]string) {
	names := r.IntN(8) + 1
	ranges := make([][][2]int, names)
	for first := r.IntN(3); first < SlotCount; {
		last := min(first+r.IntN(2000), SlotCount-1)
		owner := r.IntN(names)
		ranges[owner] = append(ranges[owner], [2]int{first, last})
		addr := fmt.Sprintf("10.0.0.%d:7000", owner)
		for slot := first; slot <= last; slot++ {
			want[slot] = addr
		}
		first = last + 1 + r.IntN(3)*r.IntN(50)
	}
	var slotList, shardList list
	for owner, owned := range ranges {
		primary := list{fmt.Sprintf("10.0.0.%d", owner), 7000, id(fmt.Sprint("p", owner)), pairs{}}
		replica := list{fmt.Sprintf("10.0.0.%d", owner), 7001, id(fmt.Sprint("r", owner)), pairs{}}
		bounds := list{}
		for _, slots := range owned {
			bounds = append(bounds, slots[0], slots[1])
			slotList = append(slotList, list{slots[0], slots[1], primary, replica})
		}
		member := func(node list, role string) pairs {
			return pairs{"id", node[2], "port", node[1], "ip", node[0], "endpoint", node[0], "role", role,
				"replication-offset", 5, "health", "online"}
		}
		shardList = append(shardList, pairs{"nodes", list{member(replica, "replica"), member(primary, "master")}, "slots", bounds})
	}
	r.Shuffle(len(slotList), func(i, j int) { slotList[i], slotList[j] = slotList[j], slotList[i] })
	r.Shuffle(len(shardList), func(i, j int) { shardList[i], shardList[j] = shardList[j], shardList[i] })
	return encode(resp3, slotList), encode(resp3, shardList), want
}

// Any map is read back as it was drawn, from either reply, and is the same snapshot whatever the order of the reply.
func TestRandomMaps(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		slots, shards, want := randomMap(r, seed%2 == 0)
		s := mustParse(t, slots, shards, Source{})
		for slot := range SlotCount {
			got := ""
			if owner := s.Owner(uint16(slot)); owner != nil {
				got = s.Nodes[owner.Primary].Addr
			}
			if got != want[slot] {
				t.Fatalf("seed %d: slot %d belongs to %q, want %q", seed, slot, got, want[slot])
			}
		}
		if alone := mustParse(t, nil, shards, Source{}); !alone.Equal(s) {
			t.Fatalf("seed %d: CLUSTER SHARDS alone says\n%s\nwant\n%s", seed, dump(alone), dump(s))
		}
		slots, shards, _ = randomMap(rand.New(rand.NewPCG(seed, 1)), seed%2 != 0)
		if again := mustParse(t, slots, shards, Source{}); !again.Equal(s) {
			t.Fatalf("seed %d: the map in the other protocol is another map", seed)
		}
	}
}

func TestEqualSeesEveryDifference(t *testing.T) {
	parse := func() *Snapshot {
		slots, shards, _ := randomMap(rand.New(rand.NewPCG(1, 1)), true)
		return mustParse(t, slots, shards, Source{})
	}
	same := parse()
	same.Epoch, same.FetchedAt = 9, same.FetchedAt.Add(1)
	if !same.Equal(parse()) {
		t.Error("epoch or time makes a difference")
	}
	for name, change := range map[string]func(*Snapshot){
		"slot":          func(s *Snapshot) { s.Slots[77] ^= 1 },
		"covered":       func(s *Snapshot) { s.Covered++ },
		"engine":        func(s *Snapshot) { s.Engine = EngineValkey },
		"version":       func(s *Snapshot) { s.Version.Patch++ },
		"redis version": func(s *Snapshot) { s.RedisVersion.Patch++ },
		"address":       func(s *Snapshot) { s.Nodes[0].Addr = "x:1" },
		"dial address":  func(s *Snapshot) { s.Nodes[0].Dial = netip.AddrPort{} },
		"id":            func(s *Snapshot) { s.Nodes[0].ID = "x" },
		"health":        func(s *Snapshot) { s.Nodes[0].Health = Failed },
		"role":          func(s *Snapshot) { s.Nodes[0].Role ^= 1 },
		"node's shard":  func(s *Snapshot) { s.Nodes[0].Shard++ },
		"name":          func(s *Snapshot) { s.Nodes[0].Names[0].Port++ },
		"primary":       func(s *Snapshot) { s.Shards[0].Primary++ },
		"replicas":      func(s *Snapshot) { s.Shards[0].Replicas[0]++ },
		"fewer nodes":   func(s *Snapshot) { s.Nodes = s.Nodes[1:] },
	} {
		changed := parse()
		change(changed)
		if changed.Equal(parse()) {
			t.Errorf("a different %s is not seen", name)
		}
	}
}

// bigSlots writes a map of 16,384 ranges of one slot, 6 MB of text with two replicas each and host names.
func bigSlots() []byte {
	var ranges list
	for slot := range SlotCount {
		entry := list{slot, slot}
		for i := range 3 {
			host := fmt.Sprintf("node-%04d-%d.redis.cluster.internal.example", slot%500, i)
			entry = append(entry, list{host, 6379, id(fmt.Sprintf("%04d%d", slot%500, i)), pairs{"ip", fmt.Sprintf("10.%d.%d.%d", i, slot%500/250, slot%250)}})
		}
		ranges = append(ranges, entry)
	}
	return encode(true, ranges)
}

// A large map costs memory for its nodes, not for its text (case B13).
func TestBigMap(t *testing.T) {
	reply := bigSlots()
	if len(reply) < 6<<20 {
		t.Fatalf("the reply has %d bytes, want 6 MB", len(reply))
	}
	s := mustParse(t, reply, nil, Source{})
	if len(s.Shards) != 500 || len(s.Nodes) != 1500 || !s.Complete() {
		t.Fatalf("%d shards, %d nodes, %d slots", len(s.Shards), len(s.Nodes), s.Covered)
	}
	const allocationsMax = 20_000 // the reply has 400,000 values
	if got := testing.AllocsPerRun(2, func() { Parse(reply, nil, Source{}) }); got > allocationsMax {
		t.Errorf("%.0f allocations, want at most %d", got, allocationsMax)
	}
}

func BenchmarkParseBigMap(b *testing.B) {
	reply := bigSlots()
	b.SetBytes(int64(len(reply)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(reply, nil, Source{}); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzParse: no reply makes a panic or a map that breaks Snapshot's promises, and what is accepted gives no slot twice.
func FuzzParse(f *testing.F) {
	for _, engine := range engines {
		f.Add(readFile(f, engine+"-failover.slots.resp2"), readFile(f, engine+"-failover.shards.resp3"))
		f.Add(readFile(f, engine+"-unknown-endpoint.slots.resp3"), readFile(f, engine+"-hostname.shards.resp2"))
	}
	f.Add([]byte("*0\r\n"), []byte("*1\r\n|1\r\n+a\r\n*0\r\n%0\r\n"))
	f.Fuzz(func(t *testing.T, slots, shards []byte) {
		for _, first := range [][]byte{slots, nil} {
			s, err := Parse(first, shards, Source{Host: "10.0.0.1"})
			if err != nil {
				continue
			}
			check(t, s)
			if !isError(first) && countSlots(t, first) < s.Covered {
				t.Fatalf("%d slots told, %d covered", countSlots(t, first), s.Covered)
			}
			again, err := Parse(first, shards, Source{Host: "10.0.0.1", Previous: s})
			if err != nil || !again.Equal(s) {
				t.Fatalf("read again after itself: %v\n%s\nwas\n%s", err, dump(again), dump(s))
			}
		}
	})
}

// countSlots sums the ranges of an accepted CLUSTER SLOTS reply by reading it in another way, and fails when two overlap.
func countSlots(t *testing.T, reply []byte) int {
	c := &cursor{reply: reply}
	n, _ := c.array("the map")
	var bounds [][2]int
	for range n {
		fields, _ := c.array("a range")
		first, _ := c.integer("first", slotMax)
		last, _ := c.integer("last", slotMax)
		bounds = append(bounds, [2]int{first, last})
		for range fields - 2 {
			if err := c.skip(); err != nil {
				t.Fatalf("an accepted reply cannot be skipped: %v", err)
			}
		}
	}
	slices.SortFunc(bounds, func(a, b [2]int) int { return a[0] - b[0] })
	sum := 0
	for i, slots := range bounds {
		if i > 0 && slots[0] <= bounds[i-1][1] {
			t.Fatalf("accepted slots %v and %v", bounds[i-1], slots)
		}
		sum += slots[1] - slots[0] + 1
	}
	return sum
}

func TestSkipDoesNotRecurse(t *testing.T) {
	deep := append(bytes.Repeat([]byte("*1\r\n"), 1_000_000), ":1\r\n"...)
	reply := append([]byte("*1\r\n*3\r\n:0\r\n:1\r\n*5\r\n+h\r\n:1\r\n+i\r\n*0\r\n"), deep...)
	mustParse(t, reply, nil, Source{})
}

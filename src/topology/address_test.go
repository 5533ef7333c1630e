package topology

import (
	"strings"
	"testing"
)

// Host forms of one node of CLUSTER SLOTS, asked at 192.168.0.9 (cases H02, H03, H04).
func TestContract_TOPO2_HostForms(t *testing.T) {
	cases := []struct {
		name  string
		host  any
		more  pairs
		addr  string
		names string
	}{
		{"ip", "10.0.0.1", pairs{}, "10.0.0.1:7000", "[10.0.0.1:7000]"},
		{"ip with host name", "10.0.0.1", pairs{"hostname", "a.example"}, "10.0.0.1:7000", "[10.0.0.1:7000 a.example:7000]"},
		{"host name", "a.example", pairs{"ip", "10.0.0.1"}, "a.example:7000", "[10.0.0.1:7000 a.example:7000]"},
		{"null", nil, pairs{"ip", "10.0.0.1"}, "192.168.0.9:7000", "[10.0.0.1:7000 192.168.0.9:7000]"},
		{"empty", "", pairs{}, "192.168.0.9:7000", "[192.168.0.9:7000]"},
		{"question mark", "?", pairs{}, "192.168.0.9:7000", "[192.168.0.9:7000]"},
		{"question mark with ip", "?", pairs{"ip", "10.0.0.1"}, "10.0.0.1:7000", "[10.0.0.1:7000]"},
		{"question marks", "?", pairs{"ip", "?", "hostname", "?"}, "192.168.0.9:7000", "[192.168.0.9:7000]"},
		{"ipv6", "2001:db8::1", pairs{}, "[2001:db8::1]:7000", "[[2001:db8::1]:7000]"},
		{"ipv6 in brackets", "[2001:db8::1]", pairs{}, "[2001:db8::1]:7000", "[[2001:db8::1]:7000]"},
		{"unknown metadata", "10.0.0.1", pairs{"availability-zone", "b", "x", list{1, pairs{"y", nil}}}, "10.0.0.1:7000", "[10.0.0.1:7000]"},
	}
	for _, c := range cases {
		for _, resp3 := range []bool{false, true} {
			reply := encode(resp3, list{list{0, 1, list{c.host, 7000, id("a"), c.more}}})
			s := mustParse(t, reply, nil, Source{Host: "192.168.0.9"})
			want := "0-1 shard 0\n2-16383 nobody\na000 " + c.addr + " " + c.names + " shard 0 primary unknown\n"
			if got := dump(s); got != want {
				t.Errorf("%s: got\n%swant\n%s", c.name, got, want)
			}
		}
	}
}

// Imitations name nodes without ids or metadata, and let one address play several parts.
func TestContract_TOPO2_Imitations(t *testing.T) {
	s := mustParse(t, encode(false, list{list{0, 16383, list{"", 6379}}}), nil, Source{Host: "::1"})
	if got, want := dump(s), "0-16383 shard 0\n [::1]:6379 [[::1]:6379] shard 0 primary unknown\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	a, b, c := list{"h", 1}, list{"h", 2}, list{"h", 3}
	s = mustParse(t, encode(false, list{list{0, 9, a, b, c}, list{10, 19, b, a, c}, list{20, 29, a, c}, list{30, 39, b, a, c}}), nil, Source{})
	want := `0-9 shard 0
10-19 shard 1
20-29 shard 0
30-39 shard 1
40-16383 nobody
 h:1 [h:1] shard 0 primary unknown
 h:2 [h:2] shard 1 primary unknown
 h:3 [h:3] shard 0 replica unknown
`
	if got := dump(s); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A primary that came back at another place under another id has no address left: its slots have no owner that could be
// asked (case H18). A replica without an address is left out (case H17).
func TestNodesWithoutAnAddress(t *testing.T) {
	reply := encode(false, list{
		list{0, 9, list{"", 0, id("a"), pairs{}}, node("10.0.0.4", 7000, "d")},
		list{10, 19, node("10.0.0.2", 7000, "b"), list{"", 0, id("c"), pairs{}}},
	})
	want := `0-9 nobody
10-19 shard 0
20-16383 nobody
b000 10.0.0.2:7000 [10.0.0.2:7000] shard 0 primary unknown
`
	if got := dump(mustParse(t, reply, nil, Source{})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestContract_TOPO2_AddressMap(t *testing.T) {
	addresses, err := NewAddressMap([]Mapping{
		{"10.0.0.1:7000", "127.0.0.1:17000"}, {"10.0.0.1", "nat.example"}, {"2001:db8::1", "::1"}, {"[2001:db8::2]:7", "[::2]:8"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for announced, want := range map[string]string{
		"10.0.0.1:7000":    "127.0.0.1:17000",
		"10.0.0.1:7001":    "nat.example:7001",
		"10.0.0.2:7000":    "10.0.0.2:7000",
		"2001:db8::1:80":   "[::1]:80",
		"[2001:db8::3]:80": "[2001:db8::3]:80",
		"no address":       "no address",
		"[2001:db8::2]:7":  "[::2]:8",
	} {
		if got := addresses.Apply(announced); got != want {
			t.Errorf("%s becomes %s, want %s", announced, got, want)
		}
	}
	reply := encode(false, list{list{0, 9, node("10.0.0.1", 7000, "a")}})
	s := mustParse(t, reply, nil, Source{AddressMap: addresses.Apply})
	if s.Nodes[0].Addr != "127.0.0.1:17000" || s.Find([]byte("10.0.0.1"), 7000) != 0 {
		t.Errorf("a mapped node: %s", dump(s))
	}
	if (AddressMap{}).Apply("h:1") != "h:1" {
		t.Error("the zero map changes an address")
	}
}

func TestAddressMapRefuses(t *testing.T) {
	for _, c := range []struct {
		mappings []Mapping
		want     string
	}{
		{[]Mapping{{"a:1", "b"}}, "address-map a:1=b: one side names a port and the other does not"},
		{[]Mapping{{"a", "b:1"}}, "one side names a port"},
		{[]Mapping{{"", "b"}}, "a host is empty"},
		{[]Mapping{{"a:0", "b:1"}}, `address "a:0" has port "0", want 1 to 65535`},
		{[]Mapping{{"a:1", "b:70000"}}, `address "b:70000" has port "70000"`},
		{[]Mapping{{"a", "b"}, {"a", "c"}}, "address-map a=c: a is mapped already"},
		{[]Mapping{{"a:1", "b:1"}, {"a:1", "c:1"}}, "a:1 is mapped already"},
	} {
		if _, err := NewAddressMap(c.mappings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.mappings, err, c.want)
		}
	}
}

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]Endpoint{
		"h:1": {"h", 1}, "[::1]:65535": {"::1", 65535}, "::1:7000": {"::1", 7000}, "2001:db8::1:6379": {"2001:db8::1", 6379},
	} {
		if got, err := ParseEndpoint(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"h": `address "h" has no port`, ":1": `address ":1" has no host`, "h:": `has port ""`, "h:x": `has port "x"`, "h:0": `has port "0"`, "[]:1": "has no host",
	} {
		if _, err := ParseEndpoint(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// One node is found by each of its names.
func TestContract_TOPO2_RedirectTargetsByAnyName(t *testing.T) {
	s := mustParse(t, encode(true, list{
		list{0, 9, list{"a.example", 7000, id("a"), pairs{"ip", "10.0.0.1"}}},
		list{10, 19, list{"b.example", 7000, id("b"), pairs{"ip", "2001:db8::1"}}},
		list{20, 29, list{"a.example", 7001, id("c"), pairs{"ip", "10.0.0.1"}}},
	}), nil, Source{})
	for _, c := range []struct {
		host string
		port uint16
		want int
	}{
		{"a.example", 7000, 0}, {"10.0.0.1", 7000, 0}, {"2001:db8::1", 7000, 1}, {"10.0.0.1", 7001, 2},
		{"10.0.0.2", 7000, -1}, {"a.example", 7002, -1}, {"", 7001, -1},
	} {
		if got := s.Find([]byte(c.host), c.port); got != c.want {
			t.Errorf("%q port %d is node %d, want %d", c.host, c.port, got, c.want)
		}
	}
	host := []byte("10.0.0.1")
	if n := testing.AllocsPerRun(10, func() { s.Find(host, 7001) }); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// Numeric hosts need no resolver; names are left to one.
func TestDialAddress(t *testing.T) {
	for host, want := range map[string]string{"10.0.0.1": "10.0.0.1:7000", "2001:db8::1": "[2001:db8::1]:7000", "a.example": "invalid AddrPort"} {
		s := mustParse(t, encode(true, list{list{0, 9, node(host, 7000, "a")}}), nil, Source{})
		if got := s.Nodes[0].Dial.String(); got != want {
			t.Errorf("%s: dial %s, want %s", host, got, want)
		}
	}
}

// A dead node that the cluster lists at the address of its successor is not what a redirect means.
func TestFindPrefersNodesThatAreNotFailed(t *testing.T) {
	slots := encode(false, list{list{0, 9, node("h", 1, "a")}, list{10, 19, node("h", 1, "b")}})
	member := func(name, health string) pairs { return pairs{"id", id(name), "health", health} }
	for failed, want := range map[string]int{"a": 1, "b": 0} {
		health := map[string]string{"a": "online", "b": "online", failed: "fail"}
		shards := encode(false, list{pairs{"nodes", list{member("a", health["a"]), member("b", health["b"])}}})
		if got := mustParse(t, slots, shards, Source{}).Find([]byte("h"), 1); got != want {
			t.Errorf("with %s failed, h:1 is node %d, want %d", failed, got, want)
		}
	}
}

// Nodes may prefer different names; who answers must not decide where a node is dialled (case H03).
func TestContract_TOPO2_NodeKeepsItsAddress(t *testing.T) {
	byIP := encode(false, list{list{0, 9, list{"10.0.0.1", 7000, id("a"), pairs{"hostname", "a.example"}}}})
	byName := encode(false, list{list{0, 9, list{"a.example", 7000, id("a"), pairs{"ip", "10.0.0.1"}}}})
	for _, order := range [][2][]byte{{byIP, byName}, {byName, byIP}} {
		first := mustParse(t, order[0], nil, Source{})
		second := mustParse(t, order[1], nil, Source{Previous: first})
		if !second.Equal(first) {
			t.Errorf("got\n%swant\n%s", dump(second), dump(first))
		}
	}
	first := mustParse(t, byIP, nil, Source{})
	moved := encode(false, list{list{0, 9, list{"10.0.0.7", 7000, id("a"), pairs{}}}})
	if s := mustParse(t, moved, nil, Source{Previous: first}); s.Nodes[0].Addr != "10.0.0.7:7000" {
		t.Errorf("a node that moved is dialled at %s", s.Nodes[0].Addr)
	}
	open := encode(false, list{list{0, 9, list{nil, 7000, id("a"), pairs{"ip", "10.0.0.1"}}}})
	if s := mustParse(t, open, nil, Source{Host: "nlb", Previous: first}); s.Nodes[0].Addr != "nlb:7000" {
		t.Errorf("a node whose endpoint is open is dialled at %s, want the host that was asked", s.Nodes[0].Addr)
	}
}

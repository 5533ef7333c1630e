package refresher

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mithril/src/topology"
)

// Nodes announce addresses that are not for us (case H19).
func TestContract_TOPO2_AddressMap(t *testing.T) {
	t.Parallel()
	a, b := newFakeNode(t), newFakeNode(t)
	hidden := span{0, 16383, []named{{"192.0.2.1", 7000, "a"}, {"192.0.2.2", 7000, "b"}}}
	a.serveMap(3, hidden)
	b.serveMap(3, hidden)
	addresses, err := topology.NewAddressMap([]topology.Mapping{{From: "192.0.2.1:7000", To: a.addr}, {From: "192.0.2.2:7000", To: b.addr}})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, Options{Bootstrap: []string{a.addr}, AddressMap: addresses.Apply})
	r.awaitMap()
	if !slices.Equal(r.addrs(), []string{a.addr, b.addr}) || r.Current().Find([]byte("192.0.2.2"), 7000) != 1 {
		t.Errorf("nodes %+v", r.Current().Nodes)
	}
	a.stop()
	r.refresh()
	if r.Stats().Failures != 0 || b.count("CLUSTER SLOTS") == 0 {
		t.Error("the other node was not asked at its mapped address")
	}
}

// An announced address that leads nowhere is named in the log once, and does not hold up the map (case H19).
func TestUnreachableNodeIsNamed(t *testing.T) {
	t.Parallel()
	a, gone := newFakeNode(t), newFakeNode(t)
	gone.stop()
	a.serveMap(3, span{0, 16383, []named{a.as("a"), gone.as("b")}})
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitMap()
	r.await("log line", func() bool { return r.log.count("cannot be asked") == 1 })
	for range 4 {
		r.refresh()
	}
	if r.log.count("cannot be asked") != 1 || r.log.count("node="+gone.addr) != 1 || r.log.count("address-map") != 1 {
		t.Errorf("log:\n%s", r.log)
	}
}

// A node that does not tell its version is not pestered: once a period, and never twice at a time.
func TestProbesAreBounded(t *testing.T) {
	t.Parallel()
	probes := func(n *fakeNode) int { return n.count("INFO SERVER") - n.count("CLUSTER SLOTS") }
	a, refusing := newFakeNode(t), newFakeNode(t)
	a.serveMap(3, span{0, 16383, []named{a.as("a"), refusing.as("b")}})
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.await("log line", func() bool { return r.log.count("condition=refused") == 1 })
	for range 4 {
		r.refresh()
	}
	r.await("one probe within a period", func() bool { return probes(refusing) == 1 })
	b, silent := newFakeNode(t), newFakeNode(t)
	b.serveMap(3, span{0, 16383, []named{b.as("a"), silent.as("b")}})
	silent.setSilent(true)
	r = start(t, Options{Bootstrap: []string{b.addr}, Period: 20 * time.Millisecond, Timeout: time.Minute})
	r.await("refreshes", func() bool { return r.Stats().Refreshes > 10 })
	r.await("one probe at a time", func() bool { return probes(silent) == 1 })
}

func TestConditionsForgetAddresses(t *testing.T) {
	t.Parallel()
	c := conditions{}
	for _, about := range []subject{theMap, answerOf("a"), nameOf("b"), reachOf("b")} {
		if !c.becomes(about, "bad") || c.becomes(about, "bad") {
			t.Errorf("%v: the change is not seen once", about)
		}
	}
	c.keep(map[string]bool{"b": true})
	if len(c) != 3 || c[answerOf("a")] != fine {
		t.Errorf("kept %v", c)
	}
	if !c.becomes(nameOf("b"), fine) || len(c) != 2 {
		t.Errorf("what is fine is kept: %v", c)
	}
	r := New(Options{Period: time.Second})
	r.conditions.becomes(reachOf("gone"), "unreachable")
	r.reportOutcome(outcome{best: &answer{addr: "a", snapshot: &topology.Snapshot{}}})
	if r.conditions[reachOf("gone")] != fine {
		t.Error("a node that left the map is kept")
	}
}

// Endpoints that a node leaves open are at the host that was asked (case H02).
func TestContract_TOPO2_OpenEndpoints(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "?"} {
		a := newFakeNode(t)
		a.serveMap(3, span{0, 16383, []named{{host, a.port, "a"}}})
		r := start(t, Options{Bootstrap: []string{a.addr}})
		r.awaitMap()
		if !slices.Equal(r.addrs(), []string{a.addr}) {
			t.Errorf("host %q: nodes %v, want %s", host, r.addrs(), a.addr)
		}
	}
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	a.script("CLUSTER SLOTS", strings.Replace(slotMap(a.whole("a")), bulk("127.0.0.1"), "$-1\r\n", 1))
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitMap()
	if !slices.Equal(r.addrs(), []string{a.addr}) {
		t.Errorf("null host: nodes %v, want %s", r.addrs(), a.addr)
	}
}

// Nodes that prefer different names tell one map (case H03).
func TestContract_TOPO2_NodesThatPreferDifferentNames(t *testing.T) {
	t.Parallel()
	a, b := newFakeNode(t), newFakeNode(t)
	withName := func(host, key, value string) string {
		plain := slotMap(span{0, 16383, []named{{host, a.port, "a"}, {host, b.port, "b"}}})
		return strings.ReplaceAll(plain, "*0\r\n", "*2\r\n"+bulk(key)+bulk(value))
	}
	a.script("CLUSTER SLOTS", withName("127.0.0.1", "hostname", "x.example"))
	b.script("CLUSTER SLOTS", withName("x.example", "ip", "127.0.0.1"))
	names := newZone()
	names.set("x.example", "127.0.0.1")
	r := start(t, Options{Bootstrap: []string{a.addr}, Lookup: names.lookup})
	r.awaitMap()
	for range 8 {
		r.refresh()
	}
	if b.count("CLUSTER SLOTS") == 0 || r.Current().Epoch != 1 || !slices.Equal(r.addrs(), []string{a.addr, b.addr}) {
		t.Errorf("%v, nodes %v", r.Current(), r.addrs())
	}
}

// zone is a resolver of one's own.
type zone struct {
	mu    sync.Mutex
	names map[string][]netip.Addr
	asked map[string]int
}

func newZone() *zone { return &zone{names: map[string][]netip.Addr{}, asked: map[string]int{}} }

func (z *zone) set(name string, addrs ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.names[name] = nil
	for _, addr := range addrs {
		z.names[name] = append(z.names[name], netip.MustParseAddr(addr))
	}
}

func (z *zone) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked[host]++
	if addrs := z.names[host]; len(addrs) > 0 {
		return slices.Clone(addrs), nil
	}
	return nil, errors.New("no such host")
}

// listenOn makes a fake node at another loopback address with the port of the first one.
func listenOn(t *testing.T, host string, port int) *fakeNode {
	t.Helper()
	n := newFakeNode(t)
	n.listener.Close()
	n.serving.Wait()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(host), uint16(port)).String())
	if err != nil {
		t.Fatal(err)
	}
	n.listener, n.addr, n.port = listener, listener.Addr().String(), port
	n.serving.Go(n.accept)
	return n
}

// A seed name that leads nowhere does not matter beside a good one, and when every known node is gone the names are resolved
// again and lead to the nodes' new places (case H18).
func TestContract_TOPO1_BootstrapNamesAreResolvedAgain(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	names := newZone()
	names.set("seed.example", "127.0.0.1")
	seed := net.JoinHostPort("seed.example", strings.TrimPrefix(a.addr, "127.0.0.1:"))
	r := start(t, Options{Bootstrap: []string{"missing.example:1", seed}, Lookup: names.lookup})
	r.awaitMap()
	if !slices.Equal(r.addrs(), []string{a.addr}) {
		t.Fatalf("nodes %v", r.addrs())
	}
	resolved := names.asked["seed.example"]
	r.refresh()
	if names.asked["seed.example"] != resolved {
		t.Error("names are resolved while a known node answers")
	}
	a.stop()
	r.refresh()
	b := listenOn(t, "127.0.0.2", a.port)
	b.serveMap(3, span{0, 16383, []named{{"127.0.0.2", b.port, "a"}}})
	names.set("seed.example", "127.0.0.2")
	r.await("map of the new place", func() bool { return slices.Equal(r.addrs(), []string{b.addr}) })
}

// Nodes that announce host names are resolved for the workers; what a name leads to may change under a map that does not.
func TestContract_TOPO2_AnnouncedHostNames(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, span{0, 16383, []named{{"a.example", a.port, "a"}, {"b.example", a.port, "b"}}})
	names := newZone()
	names.set("a.example", "127.0.0.9", "127.0.0.1")
	r := start(t, Options{Bootstrap: []string{a.addr}, Lookup: names.lookup, Timeout: 300 * time.Millisecond})
	r.awaitMap()
	nodes := r.Current().Nodes
	if nodes[0].Dial.String() != a.addr || nodes[1].Dial.IsValid() {
		t.Errorf("nodes dialled at %v and %v", nodes[0].Dial, nodes[1].Dial)
	}
	if r.log.count(`"name of a node does not resolve" node=b.example:`) != 1 {
		t.Errorf("log:\n%s", r.log)
	}
	// Another order of the same addresses, or a lower one beside it, does not move the node.
	names.set("a.example", "127.0.0.1", "127.0.0.0", "127.0.0.9")
	names.set("b.example", "127.0.0.1")
	time.Sleep(nameAgeMax)
	r.refresh()
	nodes = r.Current().Nodes
	if nodes[0].Dial.String() != a.addr || nodes[1].Dial.String() != a.addr {
		t.Errorf("nodes dialled at %v and %v", nodes[0].Dial, nodes[1].Dial)
	}
	// A name that no longer resolves keeps its address; a new address is taken.
	names.set("a.example")
	names.set("b.example", "127.0.0.3")
	time.Sleep(nameAgeMax)
	r.refresh()
	nodes = r.Current().Nodes
	if nodes[0].Dial.String() != a.addr || nodes[1].Dial.Addr().String() != "127.0.0.3" {
		t.Errorf("nodes dialled at %v and %v", nodes[0].Dial, nodes[1].Dial)
	}
	if r.log.count("does not resolve") != 1 || r.log.count("name of a node resolves") != 1 {
		t.Errorf("log:\n%s", r.log)
	}
}

// A map of 6 MB is fetched a hundred times without memory growing (case B13).
func TestBigMapLeavesMemoryFlat(t *testing.T) {
	a := newFakeNode(t)
	var spans []span
	for slot := range 16384 {
		name := "node-" + strings.Repeat("x", 60) + string(rune('a'+slot%20)) + ".cluster.internal.example"
		spans = append(spans, span{slot, slot, []named{
			{name, 1, "a" + string(rune('a'+slot%20))}, {name, 2, "b" + string(rune('a'+slot%20))}, {name, 3, "c" + string(rune('a'+slot%20))}}})
	}
	a.serveMap(3, spans...)
	if size := len(a.replies["CLUSTER SLOTS"]); size < 6<<20 {
		t.Fatalf("the map has %d bytes, want 6 MB", size)
	}
	names := newZone()
	r := New(Options{Bootstrap: []string{a.addr}, Timeout: patience, Period: time.Hour, Lookup: names.lookup})
	fetch := func() {
		search := round{Refresher: r, rand: r.rand, at: time.Now()}
		if result := search.run(context.Background()); result.best == nil || !result.best.snapshot.Complete() {
			t.Fatalf("no map: %v", causes(result.failures))
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	fetch()
	before := heap()
	for range bigMapFetches {
		fetch()
	}
	const growthMax = 4 << 20
	if after := heap(); after > before+growthMax {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

// A reply without end is cut at the limit.
func TestReplySizeIsBounded(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.script("CLUSTER SLOTS", "*100000000\r\n"+strings.Repeat("$-1\r\n", (replyBytesMax+1<<20)/5))
	r := New(Options{Bootstrap: []string{a.addr}, Timeout: patience, Period: time.Hour})
	search := round{Refresher: r, rand: r.rand, at: time.Now()}
	result := search.run(context.Background())
	if result.best != nil || causes(result.failures) != a.addr+": the replies are larger than 64 MB" {
		t.Errorf("map %v, causes %s", result.best, causes(result.failures))
	}
}

// A node that closes the connection early is told from one that does not answer.
func TestConnectionClosedEarly(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	r := New(Options{Bootstrap: []string{a.addr}, Timeout: patience, Period: time.Hour})
	client, server := net.Pipe()
	r.options.Dial = func(context.Context, string) (net.Conn, error) { return client, nil }
	go func() {
		server.Read(make([]byte, 4096))
		server.Write([]byte("*1\r\n"))
		server.Close()
	}()
	_, fail := r.converse(context.Background(), a.addr, []string{"INFO", "server"})
	if fail == nil || fail.kind != unreachable || !strings.Contains(fail.Error(), "closed the connection before it had answered") {
		t.Errorf("failure %v", fail)
	}
}

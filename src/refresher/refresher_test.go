package refresher

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mithril/src/topology"
)

func TestContract_TOPO1_FirstMapIsPublished(t *testing.T) {
	t.Parallel()
	a, b := newFakeNode(t), newFakeNode(t)
	a.serveMap(3, span{0, 8191, []named{a.as("a")}}, span{8192, 16383, []named{b.as("b")}})
	b.serveMap(3, span{0, 8191, []named{a.as("a")}}, span{8192, 16383, []named{b.as("b")}})
	r := start(t, Options{Bootstrap: []string{a.addr}})
	<-r.published
	current := r.Current()
	if current.Epoch != 1 || !current.Complete() || !slices.Equal(r.addrs(), []string{a.addr, b.addr}) {
		t.Errorf("published %v with %+v", current, current.Nodes)
	}
	if current.Nodes[0].Dial.String() != a.addr || current.FetchedAt.IsZero() {
		t.Errorf("node %+v, fetched at %v", current.Nodes[0], current.FetchedAt)
	}
	r.await("readiness", r.Ready)
	if r.log.count("cluster map found") != 1 || r.log.count("WARN") != 0 {
		t.Errorf("log:\n%s", r.log)
	}
}

func TestNothingIsKnownBeforeTheFirstMap(t *testing.T) {
	t.Parallel()
	r := New(Options{Period: time.Second})
	if r.Current() != nil || r.Ready() || r.Stats() != (Stats{}) {
		t.Errorf("map %v, ready %v, stats %v", r.Current(), r.Ready(), r.Stats())
	}
}

// The epoch moves with the map and not with the refresh.
func TestSameMapIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	a, b := newFakeNode(t), newFakeNode(t)
	both := []span{{0, 8191, []named{a.as("a")}}, {8192, 16383, []named{b.as("b")}}}
	a.serveMap(3, both...)
	b.serveMap(3, both[1], both[0])
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitMap()
	for range 5 {
		r.refresh()
	}
	if len(r.published) != 1 || r.Stats().Epoch != 1 || r.Stats().Refreshes < 6 {
		t.Errorf("%d publications, stats %+v", len(r.published), r.Stats())
	}
	moved := []span{{0, 8192, []named{a.as("a")}}, {8193, 16383, []named{b.as("b")}}}
	a.serveMap(4, moved...)
	b.serveMap(4, moved...)
	r.refresh()
	if current := r.Current(); current.Epoch != 2 || current.Slots[8192] != 0 || len(r.published) != 2 {
		t.Errorf("after a move: epoch %d, slot 8192 in shard %d", current.Epoch, current.Slots[8192])
	}
}

func TestContract_TOPO1_MalformedMapKeepsTheLastOne(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"overlap":   slotMap(span{0, 16383, []named{{"h", 1, "a"}}}, span{5, 5, []named{{"h", 2, "b"}}}),
		"no map":    "+OK\r\n",
		"no RESP":   "hello\r\n",
		"bad slots": "*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n$1\r\nh\r\n:1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newFakeNode(t)
			a.serveMap(3, a.whole("a"))
			r := start(t, Options{Bootstrap: []string{a.addr}})
			r.awaitMap()
			first := r.Current()
			a.script("CLUSTER SLOTS", reply)
			r.refresh()
			r.refresh()
			if r.Current() != first || r.log.count(`"no node gives the cluster map" condition=malformed`) != 1 {
				t.Errorf("map kept: %v, log:\n%s", r.Current() == first, r.log)
			}
			a.serveMap(3, a.whole("a"))
			r.refresh()
			if r.Current() != first || r.log.count("cluster map found") != 2 {
				t.Errorf("log:\n%s", r.log)
			}
		})
	}
}

// One node that tells nonsense does not keep the others from being heard.
func TestContract_TOPO1_FirstUsableAnswerWins(t *testing.T) {
	t.Parallel()
	a, b, c := newFakeNode(t), newFakeNode(t), newFakeNode(t)
	all := span{0, 16383, []named{a.as("a"), b.as("b"), c.as("c")}}
	a.serveMap(3, all)
	b.serveMap(3, all)
	c.script("CLUSTER SLOTS", "+OK\r\n")
	r := start(t, Options{Bootstrap: []string{a.addr, b.addr, c.addr}})
	r.awaitMap()
	b.stop()
	for range 8 {
		r.refresh()
	}
	if r.Stats().Failures != 0 || c.count("CLUSTER SLOTS") == 0 || r.log.count(`"map refused" node=`+c.addr) != 1 {
		t.Errorf("stats %+v, log:\n%s", r.Stats(), r.log)
	}
}

// Every known node is asked at some time: load is spread and no node is the one that matters (case H16).
func TestContract_TOPO1_NodesAreAskedInRandomOrder(t *testing.T) {
	t.Parallel()
	nodes := []*fakeNode{newFakeNode(t), newFakeNode(t), newFakeNode(t)}
	all := span{0, 16383, []named{nodes[0].as("a"), nodes[1].as("b"), nodes[2].as("c")}}
	for _, n := range nodes {
		n.serveMap(3, all)
	}
	r := start(t, Options{Bootstrap: []string{nodes[0].addr}})
	r.awaitMap()
	for range 12 {
		r.refresh()
	}
	for i, n := range nodes {
		if n.count("CLUSTER SLOTS") == 0 {
			t.Errorf("node %d was never asked", i)
		}
	}
	nodes[0].stop()
	nodes[1].stop()
	before := r.Stats()
	r.refresh()
	if after := r.Stats(); after.Failures != before.Failures || r.log.count("WARN") != 0 {
		t.Errorf("with one node left: %+v, log:\n%s", after, r.log)
	}
}

// A node that does not answer holds a refresh up for its head start only.
func TestSilentNodeIsOvertaken(t *testing.T) {
	t.Parallel()
	a, b := newFakeNode(t), newFakeNode(t)
	all := span{0, 16383, []named{a.as("a"), b.as("b")}}
	a.serveMap(3, all)
	b.serveMap(3, all)
	r := start(t, Options{Bootstrap: []string{a.addr}, Timeout: time.Minute})
	r.awaitMap()
	a.setSilent(true)
	begin := time.Now()
	for range 6 {
		r.refresh()
	}
	if took := time.Since(begin); a.count("CLUSTER SLOTS") < 2 || r.Stats().Failures != 0 || took > 20*time.Second {
		t.Errorf("the silent node was asked %d times, stats %+v, took %v", a.count("CLUSTER SLOTS"), r.Stats(), took)
	}
}

// What is believed when no node has a complete and current map. Epoch 0 is not known.
func TestBetterAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		epoch, covered           int
		otherEpoch, otherCovered int
		want                     bool
	}{
		{7, 100, 6, 16384, true}, {6, 16384, 7, 100, false},
		{7, 101, 7, 100, true}, {7, 100, 7, 101, false}, {7, 100, 7, 100, false},
		{0, 101, 7, 100, true}, {7, 100, 0, 101, false}, {7, 101, 0, 100, true},
	} {
		a := &answer{clusterEpoch: uint64(c.epoch), snapshot: &topology.Snapshot{Covered: c.covered}}
		b := &answer{clusterEpoch: uint64(c.otherEpoch), snapshot: &topology.Snapshot{Covered: c.otherCovered}}
		if got := better(a, b); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// One round asks a bounded number of nodes, and an address that refuses is passed at once.
func TestRefusingNodesCostNoTime(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	current := &topology.Snapshot{}
	for range 2 * asksMax {
		gone := newFakeNode(t)
		gone.stop()
		current.Nodes = append(current.Nodes, topology.Node{Addr: gone.addr})
	}
	r := New(Options{Bootstrap: []string{a.addr}, Timeout: patience, Period: time.Hour})
	search := round{Refresher: r, current: current, rand: r.rand, at: time.Now()}
	result := search.run(context.Background())
	if took := time.Since(search.at); result.best == nil || len(result.failures) != asksMax || took > 6*hedgeAfter {
		t.Errorf("map %v, %d failures, took %v", result.best != nil, len(result.failures), took)
	}
}

// An unreachable bootstrap is tried for ever, with growing waits, and logged once (case N04).
func TestUnreachableBootstrap(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	a.setSilent(true)
	r := start(t, Options{Bootstrap: []string{a.addr}, Timeout: 20 * time.Millisecond})
	r.await("third failure", func() bool { return r.Stats().Failures >= 3 })
	if r.Current() != nil || r.Ready() || r.log.count("WARN") != 1 ||
		r.log.count(`condition=unreachable causes="`+a.addr+`: no answer within 20ms"`) != 1 {
		t.Errorf("map %v, log:\n%s", r.Current(), r.log)
	}
	a.setSilent(false)
	r.awaitMap()
	if r.log.count("cluster map found") != 1 {
		t.Errorf("log:\n%s", r.log)
	}
}

// Wishes without end make one fetch per debounce time, also while no node answers well (case H12).
func TestContract_REDIR1_WishesAreDebounced(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitMap()
	storm := func(length time.Duration) (fetches int) {
		before := a.count("CLUSTER SLOTS")
		end := time.Now().Add(length)
		var wishing sync.WaitGroup
		for range 4 {
			wishing.Go(func() {
				for time.Now().Before(end) {
					r.Wish()
					time.Sleep(50 * time.Microsecond)
				}
			})
		}
		wishing.Wait()
		return a.count("CLUSTER SLOTS") - before
	}
	if got := storm(time.Second); got < 2 || got > 12 {
		t.Errorf("%d fetches in a second of wishes, want at most 12", got)
	}
	a.script("CLUSTER SLOTS", "-CLUSTERDOWN The cluster is down\r\n")
	if got := storm(time.Second); got > 8 {
		t.Errorf("%d fetches in a second of wishes and failures, want at most 8", got)
	}
}

// The first wish wakes Run; the others, until a fetch has begun, touch nothing that workers share.
func TestFurtherWishesCostNothing(t *testing.T) {
	t.Parallel()
	r := New(Options{Period: time.Second})
	r.Wish()
	<-r.wishes
	r.Wish()
	if len(r.wishes) != 0 {
		t.Error("a second wish wakes Run again")
	}
}

func TestWishAllocatesNothing(t *testing.T) {
	r := New(Options{Period: time.Second})
	if n := testing.AllocsPerRun(100, r.Wish); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func TestContract_TOPO1_RequireFullCoverage(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, span{0, 16382, []named{a.as("a")}})
	r := start(t, Options{Bootstrap: []string{a.addr}, RequireFullCoverage: true})
	r.await("two refusals", func() bool { return r.Stats().Failures >= 2 })
	if r.Current() != nil || r.Ready() || r.log.count(`"slots without an owner" covered=16383 map=refused`) != 1 {
		t.Errorf("map %v, log:\n%s", r.Current(), r.log)
	}
	a.serveMap(3, a.whole("a"))
	r.awaitMap()
	r.await("readiness", r.Ready)
	first := r.Current()
	a.serveMap(3, span{0, 16382, []named{a.as("a")}})
	r.refresh()
	if r.Current() != first || r.Ready() {
		t.Errorf("a map with an uncovered slot: kept %v, ready %v", r.Current() == first, r.Ready())
	}
	if r.log.count("every slot has an owner again") != 1 || r.log.count("slots without an owner") != 2 {
		t.Errorf("log:\n%s", r.log)
	}
}

func TestContract_TOPO1_PartialMapIsPublishedByDefault(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitMap()
	r.await("readiness", r.Ready)
	a.serveMap(3, span{0, 99, []named{a.as("a")}})
	r.refresh()
	if current := r.Current(); current.Covered != 100 || current.Epoch != 2 || r.Ready() {
		t.Errorf("covered %d, epoch %d, ready %v", current.Covered, current.Epoch, r.Ready())
	}
	a.serveMap(3, a.whole("a"))
	r.await("coverage without a wish", func() bool { return r.Current().Complete() })
	r.await("the log line", func() bool { return r.log.count("every slot has an owner again") > 0 })
	r.await("readiness", r.Ready)
	if r.log.count("slots without an owner") != 1 || r.log.count("every slot has an owner again") != 1 {
		t.Errorf("log:\n%s", r.log)
	}
}

// A refresh that succeeds keeps the readiness up, and its absence ends it after three periods.
func TestContract_TOPO1_ReadinessNeedsRefreshes(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	r := start(t, Options{Bootstrap: []string{a.addr}, Period: 200 * time.Millisecond})
	r.await("readiness", r.Ready)
	r.await("periodic refreshes", func() bool { return r.Stats().Refreshes >= 5 })
	if !r.Ready() {
		t.Error("not ready while refreshes succeed")
	}
	a.stop()
	begin := time.Now()
	r.await("end of readiness", func() bool { return !r.Ready() })
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Errorf("readiness ended after %v", took)
	}
	if r.Current() == nil {
		t.Error("the last map is gone")
	}
}

// A node that was cut off, wiped or paused does not take the map back, unless there is no other.
func TestOlderMapsDoNotWin(t *testing.T) {
	t.Parallel()
	for name, stale := range map[string]func(b *fakeNode, before []span){
		"older epoch": func(b *fakeNode, before []span) { b.serveMap(6, before...) },
		"wiped":       func(b *fakeNode, before []span) { b.serveMap(0) },
		"cut off":     func(b *fakeNode, before []span) { b.serveMap(7, before[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, a, b, before := startPair(t)
			first, asked := r.Current(), b.count("CLUSTER SLOTS")
			stale(b, before)
			for range 8 {
				r.refresh()
			}
			if r.Current() != first || b.count("CLUSTER SLOTS") == asked || a.count("CLUSTER SLOTS") == 0 {
				t.Errorf("map kept: %v, asked %d times", r.Current() == first, b.count("CLUSTER SLOTS")-asked)
			}
		})
	}
	t.Run("set up anew", func(t *testing.T) {
		t.Parallel()
		r, a, b, before := startPair(t)
		a.serveMap(2, before...)
		b.serveMap(2, before...)
		r.refresh()
		if current := r.Current(); current.Epoch < 2 || current.Nodes[current.Owner(0).Primary].Addr != b.addr {
			t.Errorf("the map of a lower epoch that every node tells is not followed: %+v", current.Nodes)
		}
	})
}

// startPair runs a refresher over two nodes at epoch 7, after b has lost slots 0-8191 to a. It also answers the map from before.
func startPair(t *testing.T) (r *rig, a, b *fakeNode, before []span) {
	a, b = newFakeNode(t), newFakeNode(t)
	before = []span{{0, 8191, []named{b.as("b"), a.as("a")}}, {8192, 16383, []named{a.as("a")}}}
	now := []span{{0, 8191, []named{a.as("a"), b.as("b")}}, {8192, 16383, []named{a.as("a")}}}
	a.serveMap(7, now...)
	b.serveMap(7, now...)
	r = start(t, Options{Bootstrap: []string{a.addr, b.addr}})
	r.awaitMap()
	return r, a, b, before
}

// Run ends all that it has begun: conversations with silent nodes, probes and waits.
func TestRunLeaksNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	a, silent := newFakeNode(t), newFakeNode(t)
	silent.setSilent(true)
	a.serveMap(3, span{0, 16383, []named{a.as("a"), silent.as("b")}})
	t.Run("fetching", func(t *testing.T) {
		r := start(t, Options{Bootstrap: []string{silent.addr}, Timeout: time.Minute})
		r.await("question", func() bool { return silent.count("CLUSTER SLOTS") > 0 })
	})
	t.Run("probing", func(t *testing.T) {
		r := start(t, Options{Bootstrap: []string{a.addr}, Timeout: time.Minute})
		r.await("probe", func() bool { return silent.count("INFO SERVER") > 1 })
	})
	a.stop()
	silent.stop()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines before and %d after", before, now)
	}
}

func TestContract_PROTO3_LowestVersionOfTheNodes(t *testing.T) {
	t.Parallel()
	valkey := func(version string) string {
		return bulk("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:" + version + "\r\n")
	}
	nodes := []*fakeNode{newFakeNode(t), newFakeNode(t), newFakeNode(t)}
	all := span{0, 16383, []named{nodes[0].as("a"), nodes[1].as("b"), nodes[2].as("c")}}
	for i, n := range nodes {
		n.serveMap(3, all)
		n.script("INFO SERVER", valkey(fmt.Sprintf("9.%d.2", 2-i)))
	}
	r := start(t, Options{Bootstrap: []string{nodes[0].addr}})
	r.await("versions", func() bool {
		s := r.Current()
		return s != nil && s.Version == topology.Version{Major: 9, Minor: 0, Patch: 2}
	})
	if s := r.Current(); s.Engine != topology.EngineValkey || s.RedisVersion != (topology.Version{Major: 7, Minor: 2, Patch: 4}) {
		t.Errorf("%s %v, compatible with %v", s.Engine, s.Version, s.RedisVersion)
	}
	asked := 0
	for range 5 {
		r.refresh()
	}
	for _, n := range nodes {
		asked += n.count("INFO SERVER") - n.count("CLUSTER SLOTS")
	}
	if asked != len(nodes) {
		t.Errorf("nodes were asked for their programs %d times apart from the map, want once each", asked)
	}
	// A node that fails and comes back is asked again.
	shards := func(health string) string {
		return "*1\r\n*4\r\n" + bulk("slots") + "*0\r\n" + bulk("nodes") + "*1\r\n*4\r\n" + bulk("id") + bulk("c"+strings.Repeat("0", 39)) +
			bulk("health") + bulk(health)
	}
	nodes[2].stop()
	for _, n := range nodes[:2] {
		n.serveMap(3, all)
		n.script("INFO SERVER", valkey("9.2.2"))
		n.script("CLUSTER SHARDS", shards("fail"))
	}
	r.refresh()
	if s := r.Current(); s.Nodes[2].Health != topology.Failed || s.Version.Minor == 0 {
		t.Errorf("with the oldest node failed: %s, version %v", s.Nodes[2].Health, s.Version)
	}
	back := listenOn(t, "127.0.0.1", nodes[2].port)
	back.script("INFO SERVER", valkey("8.1.0")) // and no map, so that its version is not learned with one
	for _, n := range nodes[:2] {
		n.script("CLUSTER SHARDS", shards("online"))
	}
	r.refresh()
	r.await("version of the new node", func() bool { return r.Current().Version.Major == 8 })
}

// Nodes that answer AUTH and INFO with errors are heard for the map, in silence about the password.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ user, pass, accepted, condition string }{
		{"", "secret", "secret", ""},
		{"proxy", "secret", "proxy secret", ""},
		{"proxy", "wrong-secret", "proxy secret", `AUTH answers \"WRONGPASS`},
		{"", "", "secret", `NOAUTH Authentication required.`},
	} {
		a := newFakeNode(t)
		a.serveMap(3, a.whole("a"))
		a.pass = c.accepted
		r := start(t, Options{Bootstrap: []string{a.addr}, User: c.user, Pass: c.pass})
		if c.condition == "" {
			r.awaitMap()
		} else {
			r.await("failures", func() bool { return r.Stats().Failures >= 2 })
			if r.log.count("condition=refused") != 1 || r.log.count(c.condition) != 1 {
				t.Errorf("log:\n%s", r.log)
			}
		}
		if r.log.count("secret") != 0 {
			t.Errorf("the password is logged:\n%s", r.log)
		}
	}
}

func TestMapWithoutRightsToInfo(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.script("CLUSTER SLOTS", slotMap(a.whole("a")))
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitMap()
	r.await("readiness", r.Ready)
	if s := r.Current(); s.Version.Known() || s.Engine != topology.EngineRedis {
		t.Errorf("%s %v", s.Engine, s.Version)
	}
}

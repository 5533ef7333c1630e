package refresher

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mithril/src/command"
	"mithril/src/topology"
	"mithril/tools/testbed"
)

// promotionLag is how long after the nodes agree on a new primary its map may take to be published.
const promotionLag = time.Second

const liveTestTimeout = 2 * time.Minute

// live is a refresher over a real cluster, bootstrapped by node 0 alone.
type live struct {
	*rig
	cluster *testbed.Cluster
	ctx     context.Context
}

// TestContract_TOPO1_RealClusters follows a cluster of each engine through everything that changes its map.
func TestContract_TOPO1_RealClusters(t *testing.T) {
	for _, engine := range testbed.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			const password = "secret"
			ctx, cancel := context.WithTimeout(context.Background(), liveTestTimeout)
			t.Cleanup(cancel)
			c := testbed.RunCluster(t, testbed.Options{Engine: engine, Password: password})
			l := &live{cluster: c, ctx: ctx}
			l.rig = start(t, Options{Bootstrap: []string{c.Addrs()[0]}, Pass: password})
			l.firstMap(t)
			l.storm(t)
			l.slotMove(t)
			l.failover(t)
			l.seedDeath(t)
			l.pausedNode(t)
			l.mixedNames(t)
			if l.Stats().Failures != 0 || l.log.count("no node gives the cluster map") != 0 || l.log.count("secret") != 0 {
				t.Errorf("stats %+v, log:\n%s", l.Stats(), l.log)
			}
		})
	}
}

// primaryOf answers the address of a slot's owner in the published map.
func (l *live) primaryOf(slot uint16) string {
	current := l.Current()
	owner := current.Owner(slot)
	if owner == nil {
		return "nobody"
	}
	return current.Nodes[owner.Primary].Addr
}

// nodeOf answers the index of a node by its address.
func (l *live) nodeOf(addr string) int {
	for i, node := range l.cluster.Nodes() {
		if node.Addr() == addr {
			return i
		}
	}
	return -1
}

// wishUntil wishes as pipes do while something is wrong, until the map is as wanted.
func (l *live) wishUntil(what string, condition func() bool) (took time.Duration) {
	l.t.Helper()
	begin := time.Now()
	l.await(what, func() bool {
		l.Wish()
		return condition()
	})
	return time.Since(begin)
}

func (l *live) firstMap(t *testing.T) {
	t.Helper()
	l.awaitMap()
	l.await("readiness", l.Ready)
	l.wishUntil("all replicas", func() bool { return len(l.Current().Nodes) == 6 })
	current := l.Current()
	if !current.Complete() || len(current.Shards) != 3 {
		t.Errorf("%v", current)
	}
	for _, node := range current.Nodes {
		index := l.nodeOf(node.Addr)
		real, err := l.cluster.Node(index)
		if err != nil {
			t.Fatalf("node %+v: %v", node, err)
		}
		wantRole := topology.Primary
		if index >= 3 {
			wantRole = topology.Replica
		}
		if node.ID != real.ID || node.Role != wantRole || node.Health != topology.Online || node.Dial.String() != node.Addr {
			t.Errorf("node %+v, want id %s, %s, online", node, real.ID, wantRole)
		}
		if primary := current.Shards[node.Shard].Primary; l.nodeOf(current.Nodes[primary].Addr) != index%3 {
			t.Errorf("node %d is in the shard of node %d", index, l.nodeOf(current.Nodes[primary].Addr))
		}
	}
	l.await("versions", func() bool { return l.Current().Version.Known() })
	text, err := l.cluster.Engine.Version(l.ctx)
	l.wholeOffer(t)
	if current = l.Current(); err != nil || !strings.Contains(text, "v="+current.Version.String()) ||
		!strings.HasPrefix(l.cluster.Engine.Name, current.Engine) || !current.RedisVersion.Known() {
		t.Errorf("%s %v, compatible with %v; the program says %q, %v", current.Engine, current.Version, current.RedisVersion, text, err)
	}
}

// wholeOffer: nodes without modules tell no command that is not built in for them, and each is asked once.
func (l *live) wholeOffer(t *testing.T) {
	t.Helper()
	l.await("every node to be asked for its commands", func() bool { return l.calls(t, "cmdstat_command:calls=") == len(l.cluster.Nodes()) })
	l.refresh()
	v := l.Current().Version
	if table := l.Commands(); table != command.ForEngine(l.Current().Engine, v.Major, v.Minor) {
		t.Errorf("%d commands are added to the built-in ones", table.Len())
	}
	if l.log.count("commands") != 0 {
		t.Errorf("log:\n%s", l.log)
	}
}

// storm counts what a second of wishes costs the nodes (case H12).
func (l *live) storm(t *testing.T) {
	t.Helper()
	const mapCalls = "cmdstat_cluster|slots:calls="
	before := l.calls(t, mapCalls)
	end := time.Now().Add(time.Second)
	var wishing sync.WaitGroup
	for range 3 {
		wishing.Go(func() {
			for time.Now().Before(end) {
				l.Wish()
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	wishing.Wait()
	// A node whose head start ran out on a busy machine is asked for nothing; hence twice the ten of the debounce time.
	if calls := l.calls(t, mapCalls) - before; calls < 2 || calls > 20 {
		t.Errorf("CLUSTER SLOTS was called %d times in a second of wishes", calls)
	}
}

// calls sums a number of INFO commandstats over all nodes: what follows the text in its line, up to a comma.
func (l *live) calls(t *testing.T, before string) (calls int) {
	t.Helper()
	for _, node := range l.cluster.Nodes() {
		text, err := l.do(node, "INFO", "commandstats")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.(string)) {
			if rest, found := strings.CutPrefix(line, before); found {
				count, _, _ := strings.Cut(rest, ",")
				n, err := strconv.Atoi(count)
				if err != nil {
					t.Fatal(err)
				}
				calls += n
			}
		}
	}
	return calls
}

func (l *live) do(node *testbed.Node, args ...any) (any, error) {
	conn, err := node.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(args...)
}

func (l *live) slotMove(t *testing.T) {
	t.Helper()
	const slot = 100
	epoch, from, to := l.Current().Epoch, l.primaryOf(slot), l.primaryOf(16000)
	if err := l.cluster.MoveSlotLegacy(l.ctx, testbed.Move{Slot: slot, From: 0, To: 2}); err != nil {
		t.Fatal(err)
	}
	l.wishUntil("moved slot", func() bool { return l.primaryOf(slot) == to })
	if l.primaryOf(slot-1) != from || l.primaryOf(slot+1) != from || l.Current().Epoch <= epoch || !l.Current().Complete() {
		t.Errorf("after the move: %v, slot %d at %s", l.Current(), slot+1, l.primaryOf(slot+1))
	}
	if !l.cluster.Engine.AtomicMigration() {
		return
	}
	if err := l.cluster.MoveSlotsAtomic(l.ctx, 200, 300, 0, 2); err != nil {
		t.Fatal(err)
	}
	l.wishUntil("moved slots", func() bool { return l.primaryOf(200) == to && l.primaryOf(300) == to })
}

// failover has a shard hand over in peace.
func (l *live) failover(t *testing.T) {
	t.Helper()
	const slot = 8000 // of shard 1
	next, err := l.cluster.Failover(l.ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	l.wishUntil("new primary", func() bool { return l.nodeOf(l.primaryOf(slot)) == next })
	l.wishUntil("old primary as a replica", func() bool { return len(l.Current().Nodes) == 6 })
}

// seedDeath kills the only bootstrap node, which is also a primary (cases H05, H16), and has it come back.
func (l *live) seedDeath(t *testing.T) {
	t.Helper()
	if err := l.cluster.Kill(0); err != nil {
		t.Fatal(err)
	}
	stop := l.wishing()
	next, err := l.cluster.WaitFailover(l.ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	took := l.wishUntil("promoted replica", func() bool { return l.nodeOf(l.primaryOf(0)) == next })
	stop()
	if took > promotionLag {
		t.Errorf("the map followed %v after the nodes agreed", took)
	}
	l.await("the dead node to leave", func() bool { l.Wish(); return len(l.Current().Nodes) == 5 && l.Current().Complete() })
	if err := l.cluster.Restart(l.ctx, 0); err != nil {
		t.Fatal(err)
	}
	l.wishUntil("the node's return", func() bool {
		for _, node := range l.Current().Nodes {
			if l.nodeOf(node.Addr) == 0 {
				return node.Role == topology.Replica
			}
		}
		return false
	})
}

// wishing wishes all the time until it is stopped, as pipes to a dead node do.
func (l *live) wishing() (stop func()) {
	ended := make(chan struct{})
	var background sync.WaitGroup
	background.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
				l.Wish()
			}
		}
	})
	return func() {
		close(ended)
		background.Wait()
	}
}

// pausedNode stops a primary without a word (case H06): refreshes go on through the others.
func (l *live) pausedNode(t *testing.T) {
	t.Helper()
	const shard = 2
	old, err := l.cluster.Primary(shard)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cluster.Pause(old.Index); err != nil {
		t.Fatal(err)
	}
	stop := l.wishing()
	next, err := l.cluster.WaitFailover(l.ctx, shard, old.Index)
	if err != nil {
		t.Fatal(err)
	}
	took := l.wishUntil("promoted replica", func() bool { return l.nodeOf(l.primaryOf(16383)) == next })
	if took > promotionLag {
		t.Errorf("the map followed %v after the nodes agreed", took)
	}
	// Woken, the old primary tells of its past for a while; nobody must believe it.
	if err := l.cluster.Resume(old.Index); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if got := l.nodeOf(l.primaryOf(16383)); got != next {
			t.Fatalf("slot 16383 went back to node %d", got)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := l.cluster.WaitOK(l.ctx); err != nil {
		t.Fatal(err)
	}
}

// mixedNames has half of the nodes prefer host names (case H03): who answers must not make a difference.
func (l *live) mixedNames(t *testing.T) {
	t.Helper()
	for i, node := range l.cluster.Nodes() {
		settings := []any{"CONFIG", "SET", "cluster-announce-hostname", "localhost"}
		if i%2 == 0 {
			settings = append(settings, "cluster-preferred-endpoint-type", "hostname")
		}
		if _, err := l.do(node, settings...); err != nil {
			t.Fatal(err)
		}
	}
	// The names travel with the nodes' gossip, so answers differ until the last node knows the last name.
	l.wishUntil("all names", func() bool {
		for _, node := range l.Current().Nodes {
			if len(node.Names) != 2 {
				return false
			}
		}
		return len(l.Current().Nodes) == 6
	})
	for _, node := range l.cluster.Nodes() {
		l.await("names at "+node.Addr(), func() bool {
			shards, err := l.do(node, "CLUSTER", "NODES")
			return err == nil && strings.Count(shards.(string), ",localhost") == 6
		})
	}
	l.refresh()
	epoch := l.Current().Epoch
	for range 20 {
		l.refresh()
	}
	if current := l.Current(); current.Epoch != epoch {
		t.Errorf("the map changed %d times while the cluster did not", current.Epoch-epoch)
	}
	for _, node := range l.Current().Nodes {
		if l.nodeOf(node.Addr) < 0 {
			t.Errorf("node %s is dialled by another name than before: %s", node.ID, node.Addr)
		}
		endpoint := topology.Endpoint{Host: "localhost", Port: node.Dial.Port()}
		if found := l.Current().Find([]byte(endpoint.Host), endpoint.Port); found < 0 || l.Current().Nodes[found].ID != node.ID {
			t.Errorf("%v leads to node %d", endpoint, found)
		}
	}
}

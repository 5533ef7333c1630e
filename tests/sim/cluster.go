package sim

import (
	"fmt"
	"net/netip"
	"slices"

	"mithril/src/ring"
	"mithril/src/topology"
)

const primaries = 3

// cluster is three primaries and what happens to them.
type cluster struct {
	world  *World
	config *Config
	faults *Faults
	judge  *judge
	nodes  []*node

	slowness int64 // that every connect takes, ns; 0: as long as the faults say

	tags   []string // hash tags that clients use
	keys   []string // all that clients use
	moving []move   // slots in migration, with the node they go to
	rested []int64  // by tag: not to be moved before

	published *topology.Snapshot
	failovers int
	former    []netip.AddrPort // of nodes that have been replaced
	fetching  bool
	healed    int64 // when all nodes agree at the latest
	epoch     uint64
}

func newCluster(w *World, c *Config, j *judge, f *Faults) *cluster {
	k := &cluster{world: w, config: c, faults: f, judge: j}
	for i := range primaries {
		n := &node{cluster: k, index: i, store: newStore(j.lives), scripts: map[string]bool{}, cursors: map[uint64]bool{}}
		n.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(7000+i))
		for slot := range n.owner {
			n.owner[slot] = uint16(slot * primaries / slotCount)
		}
		k.nodes = append(k.nodes, n)
	}
	tags := 9
	if c.Tags > 0 {
		tags = c.Tags
	}
	for i := range tags {
		k.tags = append(k.tags, string(rune('a'+i)))
	}
	k.rested = make([]int64, len(k.tags))
	for _, tag := range k.tags {
		for _, base := range bases {
			k.keys = append(k.keys, keyOf(tag, base))
		}
	}
	j.cluster = k
	return k
}

// start lets the faults of the nodes and the maps begin, until the faults end.
func (k *cluster) start() {
	w, f := k.world, k.faults
	if w.chance(f.LateMap) {
		w.after(w.between(0, 200*millisecond), k.fetch)
	} else {
		k.published = k.snapshot(k.nodes[0])
	}
	for _, n := range k.nodes {
		n.suffer(&f.NodeReset, func(for_ int64) {
			n.refuseUntil = w.now + for_
			n.breakAll()
		})
		n.suffer(&f.NodeStall, func(for_ int64) { n.stallUntil = w.now + for_ })
		n.suffer(&f.NodeDown, func(for_ int64) { n.downUntil = w.now + for_ })
	}
	k.every(20*millisecond, &f.Migrate, k.migrate)
	k.every(50*millisecond, &f.Failover, k.failover)
	k.every(20*millisecond, &f.Refresh, k.fetch)
	k.every(50*millisecond, &f.SelfMoved, k.fool)
	k.every(10*millisecond, &f.LostScripts, func() { clear(k.nodes[w.rng.IntN(len(k.nodes))].scripts) })
}

// fool lets a node that has been serving on a connection redirect to itself there.
func (k *cluster) fool() {
	n := k.nodes[k.world.rng.IntN(len(k.nodes))]
	if len(n.conns) > 0 && k.world.now-n.fooledAt > foolingPause {
		n.fooledAt = k.world.now
		n.conns[k.world.rng.IntN(len(n.conns))].selfMoved = true
	}
}

// failover lets a node die and another one, at a new address, take its place with all
// its data but not its scripts. Some of its connections break only when they are used.
func (k *cluster) failover() {
	n := k.nodes[k.world.rng.IntN(len(k.nodes))]
	k.failovers++
	k.world.trace("failover", int64(n.index), int64(k.failovers), nil)
	k.former = append(k.former, n.addr)
	n.addr = netip.AddrPortFrom(n.addr.Addr(), uint16(7000+primaries+k.failovers))
	n.dials, n.keepers = [coresMax]dialing{}, [2]*dialing{}
	clear(n.scripts)
	if k.world.chance(0.5) {
		n.breakAll()
	}
	for _, c := range n.conns {
		c.former = true
	}
}

func (n *node) breakAll() {
	for len(n.conns) > 0 {
		n.conns[0].snap()
	}
}

// every calls act again and again, with the probability of a fault.
func (k *cluster) every(d int64, p *float64, act func()) {
	if *p == 0 {
		return
	}
	k.world.after(k.world.between(d/2, 2*d), func() {
		if k.world.chance(*p) {
			act()
		}
		k.every(d, p, act)
	})
}

func (n *node) suffer(p *float64, act func(for_ int64)) {
	w := n.cluster.world
	n.cluster.every(50*millisecond, p, func() {
		d := w.between(0, 1<<w.rng.IntN(9)*millisecond)
		w.trace("node-fault", int64(n.index), d, nil)
		act(d)
	})
}

// heal ends what the faults have begun: moves run to their end, nodes serve, and all
// agree soon.
func (k *cluster) heal() {
	for _, n := range k.nodes {
		n.refuseUntil, n.stallUntil, n.downUntil = 0, 0, 0
		for _, c := range n.conns {
			c.selfMoved = c.selfMoved && c.hasMoved // what it has redirected must not be overtaken there
		}
	}
	k.healed = k.world.now + second
	k.world.after(second/2, func() {
		if len(k.moving) > 0 {
			k.world.fail("a migration has not ended in time")
		}
		k.fetch()
	})
}

// connect is network.connect.
func (k *cluster) connect(r *Ring, addr netip.AddrPort) (takes int64, err ring.Err, accept func() *end) {
	w := k.world
	takes = w.between(10*microsecond, 10*microsecond+k.config.Latency)
	for _, n := range k.nodes {
		if n.addr != addr {
			continue
		}
		if w.chance(k.faults.NodeSlowDial) {
			takes = w.between(0, 3*second)
		}
		if k.slowness > 0 {
			takes = k.slowness
		}
		n.judgeDial(r)
		if n.refuseUntil > w.now || w.chance(k.faults.NodeRefuse) {
			reasons := [...]ring.Err{ring.ErrRefused, ring.ErrRefused, ring.ErrUnreachable, ring.ErrTimedOut, ring.ErrDescriptors, ring.ErrOther}
			return takes, reasons[w.rng.IntN(len(reasons))], nil
		}
		return takes, ring.ErrNone, func() *end {
			if n.addr != addr {
				return nil // replaced meanwhile
			}
			return n.accept(&n.dials[r.number])
		}
	}
	if !slices.Contains(k.former, addr) {
		w.fail("connect to %s, where no node has ever been", addr)
	}
	return takes, ring.ErrRefused, nil
}

const (
	// dialPauseMin is the shortest pause after a dial that has failed.
	dialPauseMin = 20 * millisecond
	// greetingTravel is longer than the answer to a greeting takes to the worker, which
	// then forgets the failures before.
	greetingTravel = 100 * millisecond
	// dialGivenUp is the shortest time after which the worker may give up a dial.
	dialGivenUp = 200 * millisecond
)

// judgeDial expects a pause after a dial that has failed. Those of one turn may all fail.
// Connections for large requests are not judged: with their client gone they are given up
// at any time, and their failure does not count.
func (n *node) judgeDial(r *Ring) {
	if n.cluster.config.Large > 0 {
		return
	}
	w, d := r.world, &n.dials[r.number]
	again := w.now - d.failedAt
	if d.failedIn > 0 && r.turns > d.failedIn+1 && again < dialPauseMin && w.now-d.greetedAt > greetingTravel {
		w.fail("node %d is dialed %d us after a dial has failed", n.index, again/microsecond)
	}
}

// failed is network.failed. The failure of a dial that has taken long may not count: the
// worker may have given it up.
func (k *cluster) failed(r *Ring, addr netip.AddrPort, took int64) {
	for _, n := range k.nodes {
		if n.addr == addr && took < dialGivenUp {
			d := &n.dials[r.number]
			d.failedIn, d.failedAt = r.turns, k.world.now
		}
	}
}

// fetch asks some node for its map and publishes it later.
func (k *cluster) fetch() {
	if k.fetching {
		return
	}
	k.fetching = true
	w := k.world
	late := w.between(millisecond, 20*millisecond)
	if w.chance(k.faults.LateMap) {
		late = w.between(0, 300*millisecond)
	}
	w.after(w.between(0, millisecond), func() {
		s := k.snapshot(k.nodes[w.rng.IntN(len(k.nodes))])
		w.after(late, func() {
			k.fetching = false
			if k.published == nil || !k.published.Equal(s) {
				w.trace("map", int64(s.Epoch), 0, nil)
				k.published = s
			}
		})
	})
}

// snapshot is the map as a node sees it.
func (k *cluster) snapshot(n *node) *topology.Snapshot {
	k.epoch++
	s := &topology.Snapshot{
		Epoch: k.epoch, Covered: slotCount, Engine: topology.EngineRedis, Version: topology.Version{Major: 7, Patch: 15},
	}
	for i, node := range k.nodes {
		host := node.addr.Addr().String()
		s.Nodes = append(s.Nodes, topology.Node{
			ID: fmt.Sprintf("%040x", node.addr.Port()), Addr: node.addr.String(), Dial: node.addr,
			Names: []topology.Endpoint{{Host: host, Port: node.addr.Port()}}, Health: topology.Online, Shard: i,
		})
		s.Shards = append(s.Shards, topology.Shard{Primary: i})
	}
	s.Slots = n.owner
	return s
}

// resolve is worker.Resolver for this cluster, whose nodes are called by address alone.
func (k *cluster) resolve(host []byte, port uint16, from netip.AddrPort) (netip.AddrPort, bool) {
	if len(host) == 0 {
		return netip.AddrPortFrom(from.Addr(), port), true
	}
	addr, err := netip.ParseAddr(string(host))
	if err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, port), true
}

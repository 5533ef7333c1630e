package worker

import (
	"net/netip"

	"mithril/src/pipe"
	"mithril/src/resp"
	"mithril/src/topology"
)

// noNode in route marks a slot whose owner is not known.
const noNode = ^uint16(0)

const (
	backoffMin = 20 * millisecond
	backoffMax = 1000 * millisecond

	// nodesMax is from how many nodes on redirects lead to those of the map only: a node
	// that redirects to ever new addresses must not use up their numbers.
	nodesMax = 8 << 10

	// forgetAfter is how long a node that the map does not name any more keeps its
	// connections.
	forgetAfter = 60 * second
)

// Resolver turns host and port, as a node names another, into an address to dial. from
// is the node that named it, whose host is meant by an empty one. ok is false when the
// address is not known here.
type Resolver func(host []byte, port uint16, from netip.AddrPort) (addr netip.AddrPort, ok bool)

// role is what a node is in the map.
type role uint8

const (
	roleNone role = iota // the map does not name it
	rolePrimary
	roleReplica
)

// node is a server as this worker sees it: its pipes, and whether it can be reached.
type node struct {
	index uint16
	addr  netip.AddrPort
	name  string // addr in text

	plain   [][2]*backend // by lane and protocol: database 0, no READONLY, no tracking
	special []*backend    // all others
	idle    []*backend    // that nobody needs now
	open    int           // pipes that still refer to it, bound or not
	private int           // connections that are not shared

	round    uint32 // see owners
	role     role   // in the map
	shard    int    // of the map, if it has a role there
	down     bool   // as the map says
	demoted  bool   // it was a primary in an earlier map
	goneAt   int64  // since when the map does not name it, 0 while it does
	failures int    // dials that failed in a row
	retryAt  int64  // earliest next dial
	reason   string
	warned   bool // of a malformed redirect, since the last map
	used     bool
	spread   uint32 // of the address; see keeperOf
}

func protoIndex(p resp.Proto) int {
	if p == resp.RESP3 {
		return 1
	}
	return 0
}

// find returns the pipe that the key names, nil if there is none.
func (n *node) find(key pipe.Key) *backend {
	if key.IsPlain() {
		return n.plain[key.Lane][protoIndex(key.Proto)]
	}
	for _, b := range n.special {
		if b.Key == key {
			return b
		}
	}
	return nil
}

// bind makes b the pipe its key names.
func (n *node) bind(b *backend) {
	if b.Key.IsPlain() {
		n.plain[b.Key.Lane][protoIndex(b.Key.Proto)] = b
		return
	}
	n.special = append(n.special, b)
}

// unbind makes the key of b, which is bound, name no pipe.
func (n *node) unbind(b *backend) {
	if b.Key.IsPlain() {
		n.plain[b.Key.Lane][protoIndex(b.Key.Proto)] = nil
		return
	}
	for i, other := range n.special {
		if other == b {
			n.special = append(n.special[:i], n.special[i+1:]...)
			return
		}
	}
}

// nodeAt returns the node with the given address, new if there is none yet.
func (w *Worker) nodeAt(addr netip.AddrPort) *node {
	var free *node
	for _, n := range w.nodes {
		switch {
		case n.used && n.addr == addr:
			return n
		case !n.used && free == nil:
			free = n
		}
	}
	if free == nil {
		free = &node{index: uint16(len(w.nodes))}
		w.nodes = append(w.nodes, free)
	}
	*free = node{
		index: free.index, addr: addr, name: addr.String(), used: true,
		plain: make([][2]*backend, w.Lanes), goneAt: w.now, spread: spreadOf(addr),
	}
	return free
}

// isMapped says that the map names a node with this address.
func (w *Worker) isMapped(addr netip.AddrPort) bool {
	for _, n := range w.nodes {
		if n.used && n.goneAt == 0 && n.addr == addr {
			return true
		}
	}
	return false
}

// apply takes over a new map: slots go to the nodes it names, whatever redirects have
// said since the last one.
func (w *Worker) apply(t *topology.Snapshot) {
	w.applied = t
	for _, n := range w.nodes {
		n.warned = false
		n.demoted = n.demoted || n.role == rolePrimary
		n.role = roleNone
		if n.goneAt == 0 {
			n.goneAt = w.now
		}
	}
	index := make([]uint16, len(t.Nodes))
	for i := range t.Nodes {
		index[i] = noNode
		if addr := t.Nodes[i].Dial; addr.IsValid() {
			n := w.nodeAt(addr)
			n.goneAt = 0
			n.named(t, i)
			index[i] = n.index
		}
	}
	w.walk.plan(t, index)
	w.firstSlots = w.firstSlots[:0]
	named := make([]bool, len(t.Shards))
	w.order.era++
	for s, shard := range t.Slots {
		if shard == topology.NoShard {
			w.lead(uint16(s), noNode)
			continue
		}
		primary := index[t.Shards[shard].Primary]
		w.lead(uint16(s), primary)
		if !named[shard] {
			named[shard] = true
			w.firstSlots = append(w.firstSlots, uint16(s))
		}
	}
	w.adoptVersion(t)
}

// named notes what node i of a map is. When it names two nodes at one address, one of which
// has gone, the primary counts.
func (n *node) named(t *topology.Snapshot, i int) {
	shard := t.Nodes[i].Shard
	switch {
	case t.Shards[shard].Primary == i:
		n.role, n.demoted = rolePrimary, false
	case n.role == rolePrimary:
		return
	default:
		n.role = roleReplica
	}
	n.shard, n.down = shard, t.Nodes[i].Health == topology.Failed
}

// forget closes what leads to nodes that left the map a while ago.
func (w *Worker) forget() {
	for _, n := range w.nodes {
		if !n.used || n.goneAt == 0 || w.now-n.goneAt < forgetAfter {
			continue
		}
		for _, lane := range n.plain {
			for _, b := range lane {
				w.closeIdle(b)
			}
		}
		for i := len(n.special) - 1; i >= 0; i-- {
			w.closeIdle(n.special[i])
		}
		for i := len(n.idle) - 1; i >= 0; i-- {
			w.closeIdle(n.idle[i])
		}
		if n.open == 0 && !w.refersTo(n) {
			n.used = false
		}
	}
}

// closeIdle closes a pipe without requests.
func (w *Worker) closeIdle(b *backend) {
	if b != nil && b.Len() == 0 && b.State() == pipe.Ready {
		w.losePipe(b, "")
	}
}

// refersTo says that a slot or a waiting request still leads to n.
func (w *Worker) refersTo(n *node) bool {
	for _, at := range w.route {
		if at == n.index {
			return true
		}
	}
	return w.waiting.refersTo(n.index)
}

// warnMalformed logs that n sends redirects that nobody can read: once for each map, since
// every request to n may get one.
func (n *node) warnMalformed(w *Worker) {
	if !n.warned {
		n.warned = true
		w.Log.Warn("malformed redirect", "worker", w.Number, "node", n.name)
	}
}

// reachable notes that a connection to n stands.
func (n *node) reachable() { n.failures, n.retryAt, n.reason = 0, 0, "" }

// failed notes that n could not be reached; the next dial has to wait.
func (n *node) failed(now int64, reason string) {
	n.reason = reason
	n.retryAt = now + min(backoffMin<<min(n.failures, 10), backoffMax)
	n.failures++
}

package topology

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Limits of what a reply may say.
const (
	nodesMax     = SlotCount // nodes in one map; the cluster specification speaks of about a thousand
	idBytesMax   = 64        // a node id has 40
	hostBytesMax = 255       // DNS names have at most 253 (RFC 1035)
)

// unknownHost is what a node writes for a host name that it does not know.
const unknownHost = "?"

// Source says where a reply came from.
type Source struct {
	// Host is the host by which the answering node was reached, which is also the host of every node whose endpoint the
	// reply leaves open.
	Host string
	// AddressMap turns an announced address into one to dial, both as "host:port"; nil leaves them as they are.
	AddressMap func(announced string) string
	// Previous is the current map, nil before the first. A node keeps the address that it has there for as long as the
	// cluster calls it by a name that it had, because nodes may prefer different kinds of names and the answering node
	// changes with every refresh.
	Previous *Snapshot
}

// namedNode is a node as a reply names it. Fields that the reply lacks are nil.
type namedNode struct {
	id       []byte
	endpoint []byte // preferred host
	ip       []byte
	hostname []byte
	port     int // 0: the node has no address, as after it came back elsewhere under another id
	health   Health
	role     Role
}

// host answers what to call the node and whether that is only the host of the node that was asked.
//
// Without an endpoint the servers mean "the host you asked" (redis.conf, cluster-preferred-endpoint-type
// unknown-endpoint). The mark "?" only says that no host name is known; the address, where told, is the better one then.
func (n *namedNode) host(asked []byte) (host []byte, guessed bool) {
	switch {
	case len(n.endpoint) == 0:
		return asked, true
	case string(n.endpoint) != unknownHost:
		return trimHost(n.endpoint), false
	case isKnown(n.ip):
		return trimHost(n.ip), false
	}
	return asked, true
}

func isKnown(host []byte) bool { return len(host) > 0 && string(host) != unknownHost }

// States of a slot while a map is built; others are indices into builder.nodes.
const (
	slotUntold = -1 // no range has named it
	slotLost   = -2 // its owner has no address
)

// noNode is the index of a node that cannot be reached by any address.
const noNode = slotLost

// noPrimary marks a node of which no shard has been told.
const noPrimary = -1

// builder collects ranges and nodes in the order in which a reply tells them. It refuses what contradicts itself.
type builder struct {
	source Source
	asked  []byte // source.Host
	nodes  []Node
	hosts  []Endpoint     // per node, as first named
	index  map[string]int // by id, or by host and port where the reply has no ids
	parent []int          // per node, its primary, itself for a primary
	slots  [SlotCount]int
}

func newBuilder(source Source) *builder {
	b := &builder{source: source, asked: []byte(source.Host), index: map[string]int{}}
	for slot := range b.slots {
		b.slots[slot] = slotUntold
	}
	return b
}

// node answers the index of a node, new or known, or noNode when it has no address.
func (b *builder) node(named *namedNode) (int, error) {
	if named.port == 0 {
		return noNode, nil
	}
	host, guessed := named.host(b.asked)
	if !isPrintable(host, hostBytesMax) {
		return 0, fmt.Errorf("node %q has the host %q, want 1 to %d printable characters", clip(named.id), clip(host), hostBytesMax)
	}
	key := named.id
	if len(key) == 0 {
		key = fmt.Appendf(nil, "%s port %d", host, named.port)
	} else if !isPrintable(key, idBytesMax) {
		return 0, fmt.Errorf("a node has the id %q, want 1 to %d printable characters", clip(key), idBytesMax)
	}
	if i, found := b.index[string(key)]; found {
		if first := b.hosts[i]; first.Host != string(host) || int(first.Port) != named.port {
			return 0, fmt.Errorf("node %s is both at %s and at %s:%d", key, first, host, named.port)
		}
		return i, nil
	}
	if len(b.nodes) == nodesMax {
		return 0, fmt.Errorf("more than %d nodes", nodesMax)
	}
	i := len(b.nodes)
	b.index[string(key)] = i
	b.nodes = append(b.nodes, b.newNode(named, string(host), guessed))
	b.hosts = append(b.hosts, Endpoint{Host: string(host), Port: uint16(named.port)})
	b.parent = append(b.parent, noPrimary)
	return i, nil
}

func (b *builder) newNode(named *namedNode, host string, guessed bool) Node {
	port := uint16(named.port)
	preferred := Endpoint{Host: host, Port: port}
	node := Node{ID: string(named.id), Health: named.health, Names: []Endpoint{preferred}}
	for _, other := range [][]byte{named.ip, named.hostname} {
		if other = trimHost(other); isKnown(other) && isPrintable(other, hostBytesMax) {
			node.Names = append(node.Names, Endpoint{Host: string(other), Port: port})
		}
	}
	slices.SortFunc(node.Names, compareEndpoints)
	node.Names = slices.Compact(node.Names)
	node.Addr = preferred.String()
	if b.source.AddressMap != nil {
		node.Addr = b.source.AddressMap(node.Addr)
	}
	if known := b.source.Previous.byID(node.ID); known != nil && !guessed && shareName(known.Names, node.Names) {
		node.Addr = known.Addr
	}
	node.Dial, _ = netip.ParseAddrPort(node.Addr)
	return node
}

// own gives the slots first to last to a primary.
func (b *builder) own(first, last, primary int) error {
	if first > last {
		return fmt.Errorf("slots %d-%d run backwards", first, last)
	}
	for slot := first; slot <= last; slot++ {
		if b.slots[slot] != slotUntold {
			return fmt.Errorf("slots %d-%d overlap: slot %d was told before", first, last, slot)
		}
		b.slots[slot] = primary
	}
	if primary != noNode {
		b.parent[primary] = primary
	}
	return nil
}

// follow makes a node a replica. The first primary counts, and a primary is never a replica: only imitations of a cluster
// let one address play several parts.
func (b *builder) follow(replica, primary int) {
	if replica != noNode && primary != noNode && b.parent[replica] == noPrimary {
		b.parent[replica] = primary
	}
}

// snapshot puts what was told into the order that Snapshot promises. Nodes without slots, their own or their primary's, are
// left out.
func (b *builder) snapshot() *Snapshot {
	s := &Snapshot{Engine: EngineRedis}
	shardOf := make([]int, len(b.nodes)) // shard + 1 of each primary that owns slots
	for slot, primary := range b.slots {
		s.Slots[slot] = NoShard
		if primary < 0 {
			continue
		}
		if shardOf[primary] == 0 {
			s.Shards = append(s.Shards, Shard{})
			shardOf[primary] = len(s.Shards)
		}
		s.Slots[slot] = uint16(shardOf[primary] - 1)
		s.Covered++
	}
	for i, node := range b.nodes {
		primary := b.parent[i]
		if primary == noPrimary || shardOf[primary] == 0 {
			continue
		}
		node.Shard = shardOf[primary] - 1
		if primary != i {
			node.Role = Replica
		}
		s.Nodes = append(s.Nodes, node)
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Addr, b.Addr)) })
	for i, node := range s.Nodes {
		shard := &s.Shards[node.Shard]
		if node.Role == Primary {
			shard.Primary = i
		} else {
			shard.Replicas = append(shard.Replicas, i)
		}
	}
	return s
}

// byID finds a node of the previous map; it answers nil for an empty id and in a nil map.
func (s *Snapshot) byID(id string) *Node {
	if s == nil || id == "" {
		return nil
	}
	i, found := slices.BinarySearchFunc(s.Nodes, id, func(n Node, id string) int { return cmp.Compare(n.ID, id) })
	if !found {
		return nil
	}
	return &s.Nodes[i]
}

func shareName(a, b []Endpoint) bool {
	return slices.ContainsFunc(a, func(name Endpoint) bool { return slices.Contains(b, name) })
}

func compareEndpoints(a, b Endpoint) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
}

func trimHost(host []byte) []byte {
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		return host[1 : n-1]
	}
	return host
}

// isPrintable reports whether text is 1 to bytesMax printable ASCII characters without spaces, as ids and hosts are.
func isPrintable(text []byte, bytesMax int) bool {
	for _, char := range text {
		if char <= ' ' || char > '~' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= bytesMax
}

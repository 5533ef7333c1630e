package topology

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"mithril/src/slot"
)

// SlotCount is the number of hash slots of a cluster (cluster specification, "Key distribution model").
const SlotCount = slot.Count

// NoShard marks a slot that no shard owns.
const NoShard = 0xffff

// Role tells what a node does for its shard.
type Role uint8

// Roles. Servers write them "master" and "slave" or "replica".
const (
	Primary Role = iota
	Replica
)

var roleNames = [...]string{Primary: "primary", Replica: "replica"}

func (r Role) String() string { return roleNames[r] }

// Health is what the answering node believes of a node (CLUSTER SHARDS, field health).
type Health uint8

// Health values. HealthUnknown: the server did not say, which callers treat as online.
const (
	HealthUnknown Health = iota
	Online
	Loading
	Failed
)

var healthNames = [...]string{HealthUnknown: "unknown", Online: "online", Loading: "loading", Failed: "failed"}

func (h Health) String() string { return healthNames[h] }

// Node is one server process.
type Node struct {
	// ID is the node's 40 hexadecimal digits, empty when the server names none (imitations of CLUSTER SLOTS).
	ID string
	// Addr is what to dial: "host:port" after address-map, IPv6 hosts in brackets. Two nodes share it when the cluster still
	// lists a dead node at an address that another one has taken over.
	Addr string
	// Dial is Addr resolved; not valid while its host name cannot be resolved.
	Dial netip.AddrPort
	// Names are all endpoints by which the cluster may call this node, before address-map and sorted: the preferred one, the
	// address and the host name as far as they are known.
	Names  []Endpoint
	Role   Role
	Health Health
	// Shard is the index of the node's shard in Snapshot.Shards.
	Shard int
}

// Shard is one primary and its replicas, as indices into Snapshot.Nodes.
type Shard struct {
	Primary  int
	Replicas []int
}

// Snapshot is one map of the cluster. It never changes once it is published, so any thread may read it without a lock.
//
// Nodes are sorted by ID (by Addr when the server names none) and shards by their lowest slot, so that the same map told
// by two nodes is the same snapshot. Every shard owns at least one slot.
type Snapshot struct {
	// Epoch is the refresher's own count of published maps, from 1, strictly increasing. It is not the cluster's epoch.
	Epoch  uint64
	Nodes  []Node
	Shards []Shard
	// Slots holds the index of the owning shard of each slot, or NoShard.
	Slots [SlotCount]uint16
	// Covered is the number of slots that have an owner.
	Covered int
	// Engine is EngineValkey when every node whose version is known is Valkey, else EngineRedis.
	Engine string
	// Version is the lowest version of the nodes as the engine counts it: what HELLO answers on a node.
	Version Version
	// RedisVersion is the lowest redis_version of the nodes. Valkey freezes it at the Redis version it is compatible with.
	RedisVersion Version
	// FetchedAt is when the map was asked for.
	FetchedAt time.Time
}

// String describes the map in one line.
func (s *Snapshot) String() string {
	if s == nil {
		return "no map"
	}
	return fmt.Sprintf("epoch %d: %d nodes, %d shards, %d slots covered, %s %v", s.Epoch, len(s.Nodes), len(s.Shards), s.Covered,
		s.Engine, s.Version)
}

// Owner answers the shard of a slot, nil when no shard owns it. slot must be below SlotCount.
func (s *Snapshot) Owner(slot uint16) *Shard {
	shard := s.Slots[slot]
	if shard == NoShard {
		return nil
	}
	return &s.Shards[shard]
}

// Complete reports whether every slot has an owner.
func (s *Snapshot) Complete() bool { return s.Covered == SlotCount }

// Find answers the index of the node that the cluster calls host:port, as in MOVED and ASK, or -1. Host is given without
// brackets. It allocates nothing. Of several nodes by one name the first that is not failed counts.
func (s *Snapshot) Find(host []byte, port uint16) int {
	found := -1
	for i := range s.Nodes {
		if s.Nodes[i].isCalled(host, port) {
			if s.Nodes[i].Health != Failed {
				return i
			}
			found = i
		}
	}
	return found
}

func (n *Node) isCalled(host []byte, port uint16) bool {
	for _, name := range n.Names {
		if name.Port == port && name.Host == string(host) {
			return true
		}
	}
	return false
}

// Equal reports whether two maps say the same; Epoch and FetchedAt are not part of what a map says.
func (s *Snapshot) Equal(t *Snapshot) bool {
	return s.Covered == t.Covered && s.Engine == t.Engine && s.Version == t.Version && s.RedisVersion == t.RedisVersion &&
		s.Slots == t.Slots && slices.EqualFunc(s.Nodes, t.Nodes, equalNodes) && slices.EqualFunc(s.Shards, t.Shards, equalShards)
}

func equalNodes(a, b Node) bool {
	return a.ID == b.ID && a.Addr == b.Addr && a.Dial == b.Dial && a.Role == b.Role && a.Health == b.Health && a.Shard == b.Shard &&
		slices.Equal(a.Names, b.Names)
}

func equalShards(a, b Shard) bool {
	return a.Primary == b.Primary && slices.Equal(a.Replicas, b.Replicas)
}

package topology

import (
	"errors"
	"fmt"
)

// namedShard is a shard as CLUSTER SHARDS tells it.
type namedShard struct {
	ranges [][2]int // first and last slot
	nodes  []namedNode
}

// parseShards reads CLUSTER SHARDS as the map itself.
func parseShards(reply []byte, source Source) (*Snapshot, error) {
	b := newBuilder(source)
	if err := readShards(reply, b.addShard); err != nil {
		return nil, err
	}
	return b.snapshot(), nil
}

func (b *builder) addShard(shard *namedShard) error {
	if len(shard.ranges) == 0 {
		return nil // a primary that lost its slots in a failover stays listed
	}
	named, err := shard.primary()
	if err != nil {
		return err
	}
	primary, err := b.node(named)
	if err != nil {
		return err
	}
	for _, slots := range shard.ranges {
		if err := b.own(slots[0], slots[1], primary); err != nil {
			return err
		}
	}
	for i := range shard.nodes {
		// CLUSTER SLOTS leaves out replicas that cannot serve, and so does this.
		named := &shard.nodes[i]
		if named.role != Replica || named.health == Failed || named.health == Loading {
			continue
		}
		replica, err := b.node(named)
		if err != nil {
			return err
		}
		b.follow(replica, primary)
	}
	return nil
}

// primary answers the node that owns the shard's slots. After a failover the old primary keeps its role while it is down, so
// one that is not failed goes before those that are.
func (s *namedShard) primary() (*namedNode, error) {
	var alive, failed []*namedNode
	for i := range s.nodes {
		node := &s.nodes[i]
		switch {
		case node.role != Primary:
		case node.health == Failed:
			failed = append(failed, node)
		default:
			alive = append(alive, node)
		}
	}
	if len(alive) == 0 {
		alive = failed
	}
	if len(alive) != 1 {
		return nil, fmt.Errorf("the shard of slots %d-%d has %d primaries, want one", s.ranges[0][0], s.ranges[0][1], len(alive))
	}
	return alive[0], nil
}

// readShards reads CLUSTER SHARDS: an array of maps with the keys slots (first and last of each range) and nodes (an array
// of maps). It gives each shard to take, which must not keep it. (Redis documentation, CLUSTER SHARDS)
func readShards(reply []byte, take func(*namedShard) error) error {
	c := &cursor{reply: reply}
	shards, err := c.array("the map")
	if err != nil {
		return err
	}
	var shard namedShard
	for range shards {
		at := c.pos
		err := shard.read(c)
		if err == nil {
			err = take(&shard)
		}
		if err != nil {
			return locate(c, at, err)
		}
	}
	return c.end()
}

func (s *namedShard) read(c *cursor) error {
	s.ranges, s.nodes = s.ranges[:0], s.nodes[:0]
	pairs, err := c.pairs("a shard")
	if err != nil {
		return err
	}
	for range pairs {
		key, err := c.text("a shard's key")
		if err != nil {
			return err
		}
		switch string(key) {
		case "slots":
			err = s.readRanges(c)
		case "nodes":
			err = s.readNodes(c)
		default:
			err = c.skip()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *namedShard) readRanges(c *cursor) error {
	bounds, err := c.pairs("the slots of a shard")
	if err != nil {
		return err
	}
	for range bounds {
		first, err := c.integer("the first slot", slotMax)
		if err != nil {
			return err
		}
		last, err := c.integer("the last slot", slotMax)
		if err != nil {
			return err
		}
		s.ranges = append(s.ranges, [2]int{first, last})
	}
	return nil
}

func (s *namedShard) readNodes(c *cursor) error {
	nodes, err := c.array("the nodes of a shard")
	if err != nil {
		return err
	}
	for range nodes {
		named := namedNode{role: Replica}
		if err := named.readFields(c); err != nil {
			return err
		}
		if named.id == nil {
			return errors.New("a node has no id")
		}
		s.nodes = append(s.nodes, named)
	}
	return nil
}

func (n *namedNode) readFields(c *cursor) error {
	pairs, err := c.pairs("a node")
	if err != nil {
		return err
	}
	for range pairs {
		key, err := c.text("a node's key")
		if err != nil {
			return err
		}
		if err := n.readField(c, string(key)); err != nil {
			return err
		}
	}
	return nil
}

func (n *namedNode) readField(c *cursor, key string) (err error) {
	var word []byte
	switch key {
	case "id":
		n.id, err = c.text("the id of a node")
	case "port":
		n.port, err = c.integer("the port of a node", portMax)
	case "endpoint":
		n.endpoint, err = c.text("the endpoint of a node")
	case "ip":
		n.ip, err = c.text("the ip of a node")
	case "hostname":
		n.hostname, err = c.text("the hostname of a node")
	case "role":
		if word, err = c.text("the role of a node"); string(word) == "master" {
			n.role = Primary
		}
	case "health":
		word, err = c.text("the health of a node")
		n.health = healthWords[string(word)]
	default:
		err = c.skip()
	}
	return err
}

// healthWords are the servers' words; the documentation says "failed" where they all write "fail".
var healthWords = map[string]Health{"online": Online, "loading": Loading, "fail": Failed, "failed": Failed}

package testbed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// form makes a cluster of started, empty nodes. Slots and epochs are given
// out before the nodes meet: SET-CONFIG-EPOCH is for a node that knows no
// other, and without it equal epochs would have to be resolved first.
func (c *Cluster) form(ctx context.Context) error {
	if err := each(c.nodes, c.assign); err != nil {
		return err
	}
	if err := each(c.nodes, c.meet); err != nil {
		return err
	}
	if err := each(c.nodes[c.Shards:], func(n *Node) error { return c.replicate(ctx, n) }); err != nil {
		return err
	}
	return c.WaitOK(ctx)
}

// assign learns a node's id and gives a primary its epoch and its slots.
func (c *Cluster) assign(n *Node) error {
	reply, err := n.do("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	id, ok := reply.(string)
	if !ok {
		return fmt.Errorf("node %s: CLUSTER MYID answered a %T, want a string", n.Addr(), reply)
	}
	n.ID = id
	if n.Index >= c.Shards {
		return nil
	}
	if _, err := n.do("CLUSTER", "SET-CONFIG-EPOCH", n.Index+1); err != nil {
		return err
	}
	first, end := n.Index*SlotCount/c.Shards, (n.Index+1)*SlotCount/c.Shards
	_, err = n.do("CLUSTER", "ADDSLOTSRANGE", first, end-1)
	return err
}

// meet introduces a node to all those after it, so that no pair has to wait
// for gossip.
func (c *Cluster) meet(n *Node) error {
	for _, other := range c.nodes[n.Index+1:] {
		if _, err := n.do("CLUSTER", "MEET", "127.0.0.1", other.Port); err != nil {
			return err
		}
	}
	return nil
}

// replicate makes a node a replica of its shard's first primary as soon as
// it knows that node.
func (c *Cluster) replicate(ctx context.Context, n *Node) error {
	primary := c.nodes[c.shardOf(n)]
	return poll(ctx, fmt.Sprintf("node %s to know %s", n.Addr(), primary.Addr()), func() error {
		_, err := n.do("CLUSTER", "REPLICATE", primary.ID)
		return err
	})
}

// WaitOK waits until all running nodes report cluster_state:ok, agree on
// members, roles and slots, call no running node failing, and list every
// running replica, whose link is up, in CLUSTER SLOTS.
func (c *Cluster) WaitOK(ctx context.Context) error {
	return c.await(ctx, "the cluster to be whole", func() error {
		for _, n := range c.running() {
			if err := n.clusterOK(); err != nil {
				return err
			}
		}
		v, err := c.agreed()
		if err != nil {
			return err
		}
		for _, n := range c.running() {
			if err := n.linkUp(); err != nil {
				return err
			}
			if err := c.listsReplicas(n, v); err != nil {
				return err
			}
		}
		return nil
	})
}

// listsReplicas returns nil if CLUSTER SLOTS of a node has every running
// replica of the view. Servers leave a replica out until they have heard of
// a replication offset above zero.
func (c *Cluster) listsReplicas(n *Node, v view) error {
	reply, err := n.do("CLUSTER", "SLOTS")
	if err != nil {
		return err
	}
	text := fmt.Sprint(reply)
	for _, m := range v {
		if m.role == Replica && c.isRunning(m.id) && !strings.Contains(text, m.id) {
			return fmt.Errorf("CLUSTER SLOTS of node %s lacks replica %s", n.Addr(), m.id)
		}
	}
	return nil
}

// await is poll bounded by waitTimeout.
func (c *Cluster) await(ctx context.Context, what string, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	return poll(ctx, what, ready)
}

func (c *Cluster) running() []*Node {
	var running []*Node
	for _, n := range c.nodes {
		if n.State() == Running {
			running = append(running, n)
		}
	}
	return running
}

func (c *Cluster) isRunning(id string) bool {
	return slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.ID == id && n.State() == Running })
}

// agreed returns the view that all running nodes share, or says what they
// differ in.
func (c *Cluster) agreed() (view, error) {
	var first view
	var firstNode *Node
	for _, n := range c.running() {
		v, err := n.view()
		if err != nil {
			return nil, err
		}
		if len(v) != len(c.nodes) {
			return nil, fmt.Errorf("node %s knows %d of %d nodes", n.Addr(), len(v), len(c.nodes))
		}
		for _, m := range v {
			if m.joining || m.failing && c.isRunning(m.id) {
				return nil, fmt.Errorf("node %s sees node %s joining or failing", n.Addr(), m.id)
			}
		}
		if first == nil {
			first, firstNode = v, n
		} else if v.signature() != first.signature() {
			return nil, fmt.Errorf("nodes %s and %s differ in their view of the cluster", firstNode.Addr(), n.Addr())
		}
	}
	if first == nil {
		return nil, errors.New("no node is running")
	}
	return first, nil
}

// linkUp returns nil for a primary and for a replica whose link to its
// primary is in the state connected (ROLE).
func (n *Node) linkUp() error {
	reply, err := n.do("ROLE")
	if err != nil {
		return err
	}
	role, _ := reply.([]any)
	if len(role) >= 4 && role[0] == "slave" && role[3] != "connected" {
		return fmt.Errorf("the link of replica %s is in state %v", n.Addr(), role[3])
	}
	return nil
}

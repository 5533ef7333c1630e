package testbed

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// manualFailoverTimeout is how long a server pursues one CLUSTER FAILOVER
// before it gives up in silence (fixed in the servers), with some slack.
const manualFailoverTimeout = 6 * time.Second

// Primary returns the node that is a shard's primary now: the running one
// that says so, and with the highest configuration epoch if an old primary
// has not yet heard of its successor.
func (c *Cluster) Primary(shard int) (*Node, error) {
	if err := c.checkShard(shard); err != nil {
		return nil, err
	}
	var primary *Node
	var epoch int64
	for _, n := range c.running() {
		if c.shardOf(n) != shard {
			continue
		}
		self, err := n.self()
		if err != nil || self.role != Primary {
			continue
		}
		if primary == nil || self.epoch > epoch {
			primary, epoch = n, self.epoch
		}
	}
	if primary == nil {
		return nil, fmt.Errorf("shard %d has no running primary", shard)
	}
	return primary, nil
}

// Failover makes a running replica of the shard its primary with CLUSTER
// FAILOVER, or with FAILOVER FORCE if no primary of the shard is running. It
// returns the new primary's index once all running nodes agree on it.
func (c *Cluster) Failover(ctx context.Context, shard int) (int, error) {
	if err := c.checkShard(shard); err != nil {
		return 0, err
	}
	candidate, err := c.candidate(shard)
	if err != nil {
		return 0, err
	}
	candidate.disturbed.Add(1)
	command := []any{"CLUSTER", "FAILOVER"}
	old, err := c.Primary(shard)
	if err != nil {
		command = append(command, "FORCE")
	} else if err := c.awaitVotes(ctx, old); err != nil {
		return 0, err
	}
	var asked time.Time
	err = c.await(ctx, fmt.Sprintf("node %d to become primary of shard %d", candidate.Index, shard), func() error {
		self, err := candidate.self()
		if err != nil {
			return err
		}
		if self.role == Primary {
			_, err := c.agreed()
			return err
		}
		if time.Since(asked) > manualFailoverTimeout {
			if _, err := candidate.do(command...); err != nil {
				return err
			}
			asked = time.Now()
		}
		return fmt.Errorf("it is a %s", self.role)
	})
	if err != nil {
		return 0, err
	}
	if old != nil {
		c.mu.Lock()
		c.replaced[old.Index] = time.Now()
		c.mu.Unlock()
	}
	return candidate.Index, nil
}

// WaitFailover waits until all running nodes agree that a node other than
// old is the shard's primary, and returns its index. Kill or pause old first.
func (c *Cluster) WaitFailover(ctx context.Context, shard, old int) (int, error) {
	if err := c.checkShard(shard); err != nil {
		return 0, err
	}
	next := old
	err := c.await(ctx, fmt.Sprintf("shard %d to replace node %d", shard, old), func() error {
		primary, err := c.Primary(shard)
		if err != nil {
			return err
		}
		if next = primary.Index; next == old {
			return fmt.Errorf("node %d is still its primary", old)
		}
		_, err = c.agreed()
		return err
	})
	return next, err
}

// candidate returns a running replica of the shard whose link is up, or any
// running one if the primary is gone.
func (c *Cluster) candidate(shard int) (*Node, error) {
	var unlinked *Node
	for _, n := range c.running() {
		if c.shardOf(n) != shard {
			continue
		}
		self, err := n.self()
		if err != nil || self.role != Replica {
			continue
		}
		if n.linkUp() == nil {
			return n, nil
		}
		unlinked = n
	}
	if unlinked == nil {
		return nil, fmt.Errorf("shard %d has no running replica to fail over to", shard)
	}
	return unlinked, nil
}

// awaitVotes waits until the primaries of other shards vote again on
// replacing n. In Redis they do so once in two node timeouts, and a candidate
// that was refused tries again only after four.
func (c *Cluster) awaitVotes(ctx context.Context, n *Node) error {
	c.mu.Lock()
	last, voted := c.replaced[n.Index]
	c.mu.Unlock()
	if !voted || c.Engine.Name == Valkey91 {
		return nil
	}
	value, err := n.config("cluster-node-timeout")
	if err != nil {
		return err
	}
	ms, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("node %s: cluster-node-timeout: %w", n.Addr(), err)
	}
	select {
	case <-time.After(time.Until(last.Add(2 * time.Duration(ms) * time.Millisecond))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cluster) checkShard(shard int) error {
	if shard < 0 || shard >= c.Shards {
		return fmt.Errorf("no shard %d: the cluster has shards 0 to %d", shard, c.Shards-1)
	}
	return nil
}

// self returns what the node says of itself.
func (n *Node) self() (member, error) {
	v, err := n.view()
	if err != nil {
		return member{}, err
	}
	return v.self()
}

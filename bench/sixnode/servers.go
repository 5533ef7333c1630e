package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mithril/bench/load/closedloop"
	"mithril/tools/testbed"
)

// backing says which servers an arm fronts.
type backing int

const (
	sixNodes   backing = iota // the cluster
	threePlain                // primaries without cluster mode, with a replica each like the cluster's
	onePlain                  // the first of those
)

var backingNames = [...]string{sixNodes: "cluster", threePlain: "3 plain", onePlain: "1 plain"}

func (b backing) String() string { return backingNames[b] }

const (
	shards      = 3
	linkTimeout = 20 * time.Second // until a plain replica follows
	linkPoll    = 50 * time.Millisecond
)

// servers are what the arms of a run front. Both sets are three primaries with a replica each, so that a write costs
// the nodes the same in both; a set that no arm fronts is not started.
type servers struct {
	cluster *testbed.Cluster
	plain   []*testbed.Node // primaries first
	filled  map[backing]int // value size that the keys have now
}

// startServers starts the sets that are fronted. On an error nothing is left running.
func startServers(ctx context.Context, engine string, fronted []backing) (*servers, error) {
	s := &servers{filled: map[backing]int{}}
	var err error
	if slices.Contains(fronted, sixNodes) {
		s.cluster, err = testbed.Start(ctx, testbed.Options{Engine: engine})
	}
	if err == nil && (slices.Contains(fronted, threePlain) || slices.Contains(fronted, onePlain)) {
		err = s.startPlain(ctx, engine)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *servers) startPlain(ctx context.Context, engine string) error {
	for i := range 2 * shards {
		options := testbed.NodeOptions{Engine: engine}
		if i >= shards {
			options.Config = []string{fmt.Sprintf("replicaof 127.0.0.1 %d", s.plain[i-shards].Port)}
		}
		node, err := testbed.StartNode(ctx, options)
		if err != nil {
			return err
		}
		s.plain = append(s.plain, node)
	}
	for _, replica := range s.plain[shards:] {
		if err := awaitLink(ctx, replica); err != nil {
			return err
		}
	}
	return nil
}

// awaitLink waits until a replica follows its primary (ROLE).
func awaitLink(ctx context.Context, replica *testbed.Node) error {
	ctx, cancel := context.WithTimeout(ctx, linkTimeout)
	defer cancel()
	conn, err := replica.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		reply, err := conn.Do("ROLE")
		if role, ok := reply.([]any); ok && len(role) > 3 && role[3] == "connected" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("replica %s does not follow: %w; ROLE answers %v, %v", replica.Addr(), ctx.Err(), reply, err)
		case <-time.After(linkPoll):
		}
	}
}

func (s *servers) stop() {
	if s.cluster != nil {
		s.cluster.Stop()
	}
	for _, node := range s.plain {
		node.Stop()
	}
}

// addrs are those of the cluster.
func (s *servers) addrs() []string { return s.cluster.Addrs() }

// plainAddrs are those of the plain primaries.
func (s *servers) plainAddrs() []string {
	var addrs []string
	for _, node := range s.plain[:shards] {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// pids are the processes of a set. The idle ones of onePlain do nothing that would count.
func (s *servers) pids(b backing) []int {
	nodes := s.plain
	if b == sixNodes {
		nodes = s.cluster.Nodes()
	}
	var pids []int
	for _, node := range nodes {
		pids = append(pids, node.PID())
	}
	return pids
}

// fill sets every key to a value of the cell's size in the set that the arm fronts. The plain servers all get all
// keys, since haproxy may send any command to any of them.
func (s *servers) fill(c cell, a *arm) error {
	set, through := a.fronts, []string{a.addr}
	if set != sixNodes {
		set, through = threePlain, s.plainAddrs()
	}
	if s.filled[set] == c.valueBytes {
		return nil
	}
	for _, addr := range through {
		if err := closedloop.Fill(addr, c.keys(), c.valueBytes); err != nil {
			return a.explain(fmt.Errorf("through %s: %w", addr, err))
		}
	}
	s.filled[set] = c.valueBytes
	return nil
}

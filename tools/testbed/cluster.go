package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// NodeTimeoutMs is the cluster-node-timeout of a cluster without another
	// one in Options.Config: a dead primary is replaced after about twice it.
	NodeTimeoutMs = 2000

	// NoReplicas in Options.Replicas makes a cluster of primaries only.
	NoReplicas = -1

	nodesMax    = 64
	formTimeout = 30 * time.Second // from the started nodes to a cluster that serves
	waitTimeout = 30 * time.Second // one later change of the cluster
)

// Options describe a cluster. The zero value is a Valkey 9.1 cluster of three
// primaries with one replica each at free ports in a temporary directory.
type Options struct {
	Engine    string   // "" is valkey9.1
	BasePort  int      // node i listens on BasePort+i, its bus BusOffset higher; 0 takes free ports
	Primaries int      // 0 is 3
	Replicas  int      // of each primary; 0 is 1
	Dir       string   // "" makes a temporary one that Stop removes
	Password  string   // requirepass and masterauth of every node
	Hostname  string   // cluster-announce-hostname of every node
	Config    []string // further configuration lines of every node; later ones win
	Detached  bool     // the servers survive this process; see Open
}

// Cluster is a running cluster. Shard s consists of the nodes whose index
// modulo the number of primaries is s, whatever their roles are at the time;
// at first node s is its primary.
type Cluster struct {
	Engine   Engine
	Dir      string
	Shards   int
	password string
	detached bool
	tempDir  bool
	ports    Ports
	nodes    []*Node

	mu       sync.Mutex        // guards replaced
	replaced map[int]time.Time // when Failover last replaced a primary, by its index
}

// Start starts the nodes, forms the cluster and waits as WaitOK does. It takes
// over two seconds, since a primary refuses to serve before it is two seconds
// old.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := prepare(&options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, formTimeout)
	defer cancel()
	err = each(c.nodes, func(n *Node) error {
		if err := n.configure(clusterConf(options)); err != nil {
			return err
		}
		return n.start(ctx)
	})
	if err == nil {
		err = c.form(ctx)
	}
	if err == nil {
		err = c.save()
	}
	if err != nil {
		c.Stop()
		return nil, fmt.Errorf("start %s cluster: %w", c.Engine.Name, err)
	}
	return c, nil
}

// prepare fills in the defaults and lays out the cluster without starting it.
func prepare(options *Options) (*Cluster, error) {
	if options.Primaries == 0 {
		options.Primaries = 3
	}
	switch options.Replicas {
	case 0:
		options.Replicas = 1
	case NoReplicas:
		options.Replicas = 0
	}
	count := options.Primaries * (1 + options.Replicas)
	if options.Primaries < 1 || options.Replicas < 0 || count > nodesMax {
		return nil, fmt.Errorf("a cluster of %d primaries with %d replicas each is not possible: 1 primary or more and %d nodes at most",
			options.Primaries, options.Replicas, nodesMax)
	}
	if last := options.BasePort + count - 1 + BusOffset; options.BasePort < 0 || last > 65535 {
		return nil, fmt.Errorf("base port %d is out of range: the last bus port would be %d", options.BasePort, last)
	}
	engine, err := ensureDefault(options.Engine)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Engine: engine, Dir: options.Dir, Shards: options.Primaries, password: options.Password,
		detached: options.Detached, replaced: map[int]time.Time{}}
	if options.BasePort == 0 {
		if c.ports, err = FreePorts(count); err != nil {
			return nil, err
		}
		options.BasePort = c.ports.Base
	}
	for i := range count {
		if err == nil {
			err = checkPorts(options.BasePort+i, options.BasePort+i+BusOffset)
		}
	}
	if err == nil {
		err = c.prepareDir()
	}
	if err != nil {
		c.ports.Release()
		return nil, err
	}
	for i := range count {
		c.nodes = append(c.nodes, &Node{
			Index: i, Port: options.BasePort + i, Dir: filepath.Join(c.Dir, "node-"+strconv.Itoa(i)),
			server: engine.Server, password: options.Password, detached: options.Detached,
		})
	}
	return c, nil
}

// prepareDir makes the cluster's directory, or takes one that a stopped
// cluster left and clears it.
func (c *Cluster) prepareDir() error {
	if c.Dir == "" {
		c.tempDir = true
		var err error
		c.Dir, err = os.MkdirTemp("", "mithril-cluster-")
		return err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return err
	}
	c.Dir = dir
	if old, err := Open(dir); err == nil {
		for _, n := range old.nodes {
			if n.State() != Down {
				return fmt.Errorf("a cluster runs in %s: node %d is %s at %s; stop it first", dir, n.Index, n.State(), n.Addr())
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return c.clearDir()
}

// clearDir removes what a cluster keeps in its directory and nothing else.
func (c *Cluster) clearDir() error {
	paths, err := filepath.Glob(filepath.Join(c.Dir, "node-*", "node.conf"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := os.Remove(c.statePath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// clusterConf returns the lines of node.conf that make a server a cluster
// node. Replicas stay with their shard and may always stand for election, so
// that a test's outcome does not hang on how long a link was down.
func clusterConf(options Options) []string {
	lines := []string{
		"cluster-enabled yes",
		"cluster-config-file nodes.conf",
		"cluster-node-timeout " + strconv.Itoa(NodeTimeoutMs),
		"cluster-allow-replica-migration no",
		"cluster-replica-validity-factor 0",
	}
	if options.Hostname != "" {
		lines = append(lines, "cluster-announce-hostname "+strconv.Quote(options.Hostname))
	}
	return append(lines, options.Config...)
}

// Nodes returns the nodes by index.
func (c *Cluster) Nodes() []*Node { return append([]*Node(nil), c.nodes...) }

// Node returns a node by index.
func (c *Cluster) Node(index int) (*Node, error) {
	if index < 0 || index >= len(c.nodes) {
		return nil, fmt.Errorf("no node %d: the cluster has nodes 0 to %d", index, len(c.nodes)-1)
	}
	return c.nodes[index], nil
}

// Addrs returns the host:port of every node, by index.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// Stop kills every node and removes the directory if Start made it.
func (c *Cluster) Stop() error {
	err := each(c.nodes, (*Node).Stop)
	c.ports.Release()
	if c.tempDir {
		os.RemoveAll(c.Dir)
	}
	return err
}

// Disturbances counts what this process has done to the cluster that others may have seen on
// its way, and may still believe: nodes killed, paused and restarted, failovers, moved slots.
func (c *Cluster) Disturbances() (count int64) {
	for _, n := range c.nodes {
		count += n.disturbed.Load()
	}
	return count
}

// Kill ends a node with SIGKILL; see Node.Kill.
func (c *Cluster) Kill(index int) error { return c.with(index, (*Node).Kill) }

// Pause stops a node with SIGSTOP.
func (c *Cluster) Pause(index int) error { return c.with(index, (*Node).Pause) }

// Resume continues a paused node.
func (c *Cluster) Resume(index int) error { return c.with(index, (*Node).Resume) }

// Restart kills a node if it is up, starts it again and waits until it
// answers. WaitOK waits until the cluster is whole again.
func (c *Cluster) Restart(ctx context.Context, index int) error {
	err := c.with(index, func(n *Node) error { return n.Restart(ctx) })
	if err != nil {
		return err
	}
	return c.save()
}

func (c *Cluster) with(index int, act func(*Node) error) error {
	n, err := c.Node(index)
	if err != nil {
		return err
	}
	return act(n)
}

// each runs act on all nodes at once and joins the errors.
func each(nodes []*Node, act func(*Node) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = act(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// NodeStatus is what a node says of itself. A node that is not running has
// an empty role and no slots.
type NodeStatus struct {
	Index int
	Shard int
	Addr  string
	ID    string
	PID   int
	State State
	Role  Role
	Slots []SlotRange // of a primary
	OK    bool        // cluster_state:ok
}

// Status asks every running node for its role and slots.
func (c *Cluster) Status() []NodeStatus {
	all := make([]NodeStatus, len(c.nodes))
	each(c.nodes, func(n *Node) error {
		s := &all[n.Index]
		*s = NodeStatus{Index: n.Index, Shard: c.shardOf(n), Addr: n.Addr(), ID: n.ID, PID: n.PID(), State: n.State()}
		if s.State != Running {
			return nil
		}
		v, err := n.view()
		if err != nil {
			return nil
		}
		if self, err := v.self(); err == nil {
			s.Role, s.Slots = self.role, self.slots
		}
		s.OK = n.clusterOK() == nil
		return nil
	})
	return all
}

func (c *Cluster) shardOf(n *Node) int { return n.Index % c.Shards }

// clusterOK returns nil if the node reports cluster_state:ok.
func (n *Node) clusterOK() error {
	reply, err := n.do("CLUSTER", "INFO")
	if err != nil {
		return err
	}
	text, _ := reply.(string)
	if !strings.HasPrefix(text, "cluster_state:ok") {
		state, _, _ := strings.Cut(text, "\r\n")
		return fmt.Errorf("node %s reports %s", n.Addr(), state)
	}
	return nil
}

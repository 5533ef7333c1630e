package testbed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// stateFile in the cluster's directory is what Open needs to find the nodes.
const stateFile = "cluster.json"

type clusterState struct {
	Engine   string      `json:"engine"`
	Shards   int         `json:"shards"`
	Password string      `json:"password,omitempty"`
	Detached bool        `json:"detached"`
	Nodes    []nodeState `json:"nodes"`
}

type nodeState struct {
	Port int    `json:"port"`
	ID   string `json:"id"`
	process
}

func (c *Cluster) statePath() string { return filepath.Join(c.Dir, stateFile) }

// save writes the state file whole or not at all. It may hold a password.
func (c *Cluster) save() error {
	state := clusterState{Engine: c.Engine.Name, Shards: c.Shards, Password: c.password, Detached: c.detached}
	for _, n := range c.nodes {
		n.mu.Lock()
		state.Nodes = append(state.Nodes, nodeState{Port: n.Port, ID: n.ID, process: n.proc})
		n.mu.Unlock()
	}
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	next := c.statePath() + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, c.statePath())
}

// Open returns the cluster whose state Start left in dir, normally one that
// another process started detached. Its nodes may be in any state.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, replaced: map[int]time.Time{}}
	text, err := os.ReadFile(c.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no cluster in %s: it holds no %s", dir, stateFile)
	}
	if err != nil {
		return nil, err
	}
	var state clusterState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("%s: %w", c.statePath(), err)
	}
	if state.Shards < 1 || len(state.Nodes) < state.Shards {
		return nil, fmt.Errorf("%s: %d nodes in %d shards is not a cluster", c.statePath(), len(state.Nodes), state.Shards)
	}
	if c.Engine, err = Ensure(state.Engine); err != nil {
		return nil, err
	}
	c.Shards, c.password, c.detached = state.Shards, state.Password, state.Detached
	for i, s := range state.Nodes {
		c.nodes = append(c.nodes, &Node{
			Index: i, Port: s.Port, ID: s.ID, Dir: filepath.Join(dir, fmt.Sprint("node-", i)),
			server: c.Engine.Server, password: state.Password, detached: state.Detached, proc: s.process,
		})
	}
	return c, nil
}

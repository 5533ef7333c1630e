package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	startTimeout = 20 * time.Second // until a started server answers
	replyTimeout = 2 * time.Second  // one command of the test bed itself
	logTailLines = 16               // shown when a server does not start, or a test fails
)

// NodeOptions describe one server.
type NodeOptions struct {
	Engine   string   // "" is valkey9.1
	Port     int      // 0 takes a free one
	Dir      string   // "" makes a temporary one that Stop removes
	Password string   // requirepass and masterauth
	Config   []string // further lines of the configuration file; later ones win
	Detached bool     // the server survives this process
}

// Node is one server process on loopback: a lone one, or a member of a
// Cluster. Its methods may be called from several goroutines.
type Node struct {
	Index int    // position in its cluster, 0 for a lone node
	Port  int    // client port; a cluster node's bus is at Port+BusOffset
	Dir   string // its data, its configuration node.conf and its log
	ID    string // cluster node id, 40 hex digits; "" for a lone node

	server   string
	password string
	detached bool
	ports    Ports
	tempDir  bool

	disturbed atomic.Int64 // see Cluster.Disturbances

	mu   sync.Mutex // guards proc
	proc process
}

// StartNode starts a lone server and waits until it answers.
func StartNode(ctx context.Context, options NodeOptions) (*Node, error) {
	engine, err := ensureDefault(options.Engine)
	if err != nil {
		return nil, err
	}
	n := &Node{Port: options.Port, Dir: options.Dir, server: engine.Server, password: options.Password, detached: options.Detached}
	if n.Port == 0 {
		if n.ports, err = FreePorts(1); err != nil {
			return nil, err
		}
		n.Port = n.ports.Base
	}
	if n.Dir == "" {
		n.tempDir = true
		if n.Dir, err = os.MkdirTemp("", "mithril-node-"); err != nil {
			n.ports.Release()
			return nil, err
		}
	}
	err = n.configure(options.Config)
	if err == nil {
		err = checkPorts(n.Port)
	}
	if err == nil {
		err = n.start(ctx)
	}
	if err != nil {
		n.Stop()
		return nil, err
	}
	return n, nil
}

func ensureDefault(engine string) (Engine, error) {
	if engine == "" {
		engine = Engines[0]
	}
	return Ensure(engine)
}

// Addr is the node's host:port.
func (n *Node) Addr() string { return loopback(n.Port) }

// PID is the server's process id, 0 if it was never started.
func (n *Node) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc.PID
}

// State asks the kernel whether the server runs, is paused or is down.
func (n *Node) State() State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc.state()
}

// Dial connects to the node and authenticates if it has a password.
func (n *Node) Dial() (*Conn, error) {
	return n.dial(DefaultTimeout)
}

// Log returns what the server has logged since the node was made.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.logPath())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// LogTail returns the last lines of Log.
func (n *Node) LogTail() string { return tail(n.Log(), logTailLines) }

// Kill ends the server with SIGKILL and returns when it is gone. Nothing is
// saved: a restarted node has no keys, but a cluster node keeps its id and
// its view of the cluster.
func (n *Node) Kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc.state() == Down {
		return fmt.Errorf("node %s is down", n.Addr())
	}
	n.disturbed.Add(1)
	return n.proc.kill()
}

// Pause stops the server with SIGSTOP: it keeps its connections and answers
// nothing.
func (n *Node) Pause() error {
	n.disturbed.Add(1)
	return n.signal(syscall.SIGSTOP, Paused)
}

// Resume continues a paused server with SIGCONT.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT, Running) }

// Restart kills the server if it is up, starts it on the same port and
// directory, and waits until it answers.
func (n *Node) Restart(ctx context.Context) error {
	n.disturbed.Add(1)
	n.mu.Lock()
	err := n.proc.kill()
	n.mu.Unlock()
	if err != nil {
		return err
	}
	return n.start(ctx)
}

// Stop kills the server, if it is up, and frees what StartNode took.
func (n *Node) Stop() error {
	n.mu.Lock()
	err := n.proc.kill()
	n.mu.Unlock()
	n.ports.Release()
	if n.tempDir {
		os.RemoveAll(n.Dir)
	}
	return err
}

func (n *Node) signal(sig syscall.Signal, want State) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.proc.signal(sig); err != nil {
		return fmt.Errorf("node %s: %w", n.Addr(), err)
	}
	return n.proc.await(want)
}

func (n *Node) confPath() string { return filepath.Join(n.Dir, "node.conf") }
func (n *Node) logPath() string  { return filepath.Join(n.Dir, "log") }

// nodeConf keeps a server quick to start and to give up, and without
// anything on disk that a later start would read. A replica syncs at once,
// and the first replication ping, which ends the offset zero that keeps it
// out of CLUSTER SLOTS, comes within a second instead of ten.
const nodeConf = `bind 127.0.0.1
port %d
dir "%s"
save ""
appendonly no
repl-diskless-sync yes
repl-diskless-sync-delay 0
repl-ping-replica-period 1
repl-backlog-size 16mb
shutdown-timeout 0
enable-debug-command yes
`

// configure makes the node's directory and configuration file.
func (n *Node) configure(lines []string) error {
	dir, err := filepath.Abs(n.Dir)
	if err != nil {
		return err
	}
	n.Dir = dir
	if err := os.MkdirAll(n.Dir, 0o755); err != nil {
		return err
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, nodeConf, n.Port, n.Dir)
	if n.password != "" {
		fmt.Fprintf(&conf, "requirepass %[1]q\nmasterauth %[1]q\n", n.password)
	}
	for _, line := range lines {
		conf.WriteString(line + "\n")
	}
	return os.WriteFile(n.confPath(), []byte(conf.String()), 0o600)
}

// start starts the process and waits until it answers PING.
func (n *Node) start(ctx context.Context) error {
	proc, err := spawn(n.server, []string{n.confPath()}, n.logPath(), n.detached)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.proc = proc
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	alive, died := context.WithCancel(ctx)
	defer died()
	err = poll(alive, "node "+n.Addr()+" to answer PING", func() error {
		if proc.state() == Down {
			died()
			return errors.New("it ended")
		}
		_, err := n.do("PING")
		return err
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("node %s ended while it started; its log %s ends in:\n%s", n.Addr(), n.logPath(), n.LogTail())
	}
	return err
}

// dial is Dial with a bound on every step.
func (n *Node) dial(timeout time.Duration) (*Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, err := DialContext(ctx, n.Addr())
	if err != nil {
		return nil, err
	}
	c.SetTimeout(timeout)
	if n.password != "" {
		if _, err := c.Do("AUTH", n.password); err != nil {
			c.Close()
			return nil, fmt.Errorf("node %s: AUTH: %w", n.Addr(), err)
		}
	}
	return c, nil
}

// do sends one command on a connection of its own.
func (n *Node) do(args ...any) (any, error) {
	c, err := n.dial(replyTimeout)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reply, err := c.Do(args...)
	if err != nil {
		return nil, fmt.Errorf("node %s: %v: %w", n.Addr(), args[0], err)
	}
	return reply, nil
}

// config returns one setting of the server, "" if it has no such setting.
func (n *Node) config(name string) (string, error) {
	reply, err := n.do("CONFIG", "GET", name)
	if err != nil {
		return "", err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return "", nil
	}
	value, _ := pair[1].(string)
	return value, nil
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

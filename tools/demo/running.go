package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mithril/tools/testbed"
)

// endTimeout is how long the proxy may take to end: more than its default for sessions
// to finish.
const endTimeout = 10 * time.Second

// running is what an earlier run has left running in a directory.
type running struct {
	pid   int   // of the proxy, 0 if there is none
	port  int   // of the proxy, 0 if it is not known
	nodes []int // ports of the nodes that are up
	end   func() error
}

// find looks for the proxy and the cluster of an earlier run.
func (o options) find() (r running, err error) {
	if r.pid, err = o.proxyPID(); err != nil {
		return r, err
	}
	if r.pid != 0 {
		r.port = proxyPort(r.pid)
	}
	r.end = func() error { return nil }
	if _, err := os.Stat(filepath.Join(o.clusterDir(), "cluster.json")); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	cluster, err := testbed.Open(o.clusterDir())
	if err != nil {
		return r, err
	}
	for _, n := range cluster.Nodes() {
		if n.State() != testbed.Down {
			r.nodes = append(r.nodes, n.Port)
		}
	}
	r.end = cluster.Stop
	return r, nil
}

// proxyPID is the process that the pid file names, if it still is the proxy, else 0.
func (o options) proxyPID() (int, error) {
	text, err := os.ReadFile(o.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s holds %q: expected a process id", o.pidFile(), text)
	}
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil || strings.TrimSpace(string(name)) != "mithril" {
		return 0, nil
	}
	return pid, nil
}

// proxyPort finds the port in the command line that startProxy has given the process.
func proxyPort(pid int) int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return 0
	}
	words := strings.Split(string(text), "\x00")
	i := slices.Index(words, "--port")
	if i < 0 || i+1 >= len(words) {
		return 0
	}
	port, _ := strconv.Atoi(words[i+1]) // 0 if it is none
	return port
}

// String says what runs, in words; empty if nothing does.
func (r running) String() string {
	var parts []string
	if r.pid != 0 {
		parts = append(parts, fmt.Sprintf("the proxy on port %d (process %d)", r.port, r.pid))
	}
	if n := len(r.nodes); n > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes on ports %d to %d", n, r.nodes[0], r.nodes[n-1]))
	}
	return strings.Join(parts, " and ")
}

// holds says that what runs listens on the port, or on the port as a node's bus.
func (r running) holds(port int) bool {
	return port == r.port || slices.Contains(r.nodes, port) || slices.Contains(r.nodes, port-testbed.BusOffset)
}

// stop ends what runs.
func (r running) stop(o options) error {
	if r.pid != 0 {
		if err := endProxy(r.pid); err != nil {
			return err
		}
	}
	os.Remove(o.pidFile())
	return r.end()
}

func endProxy(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return err
	}
	for deadline := time.Now().Add(endTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil {
			return nil
		}
	}
	return fmt.Errorf("the proxy (process %d) does not end", pid)
}

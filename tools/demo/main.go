// Command demo is `make run`: a six-node cluster with the proxy in front of it, left
// running, and a few words on what to try. `make stop` ends both.
//
//	demo [-engine valkey9.1] [-port 7979] [-nodes 7000] [-dir DIR] [-proxy bin/mithril]
//	demo -dir DIR -stop
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mithril/tools/testbed"
)

// startTimeout bounds each of the two starts.
const startTimeout = 60 * time.Second

type options struct {
	engine, dir, proxy string
	port, nodes        int
}

func main() {
	var o options
	stop := flag.Bool("stop", false, "stop what is running in dir")
	flag.StringVar(&o.engine, "engine", testbed.Valkey91, "servers of the cluster: "+strings.Join(testbed.Engines, ", "))
	flag.StringVar(&o.dir, "dir", ".cache/run", "directory of the cluster and the logs")
	flag.StringVar(&o.proxy, "proxy", "bin/mithril", "the proxy's program")
	flag.IntVar(&o.port, "port", 7979, "port of the proxy")
	flag.IntVar(&o.nodes, "nodes", 7000, "port of the first node")
	flag.Parse()
	run := start
	if *stop {
		run = end
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func (o options) pidFile() string    { return filepath.Join(o.dir, "mithril.pid") }
func (o options) clusterDir() string { return filepath.Join(o.dir, "cluster") }
func (o options) logFile() string    { return filepath.Join(o.dir, "mithril.log") }

// start runs the cluster and the proxy, in place of what an earlier run has left.
func start(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*startTimeout)
	defer cancel()
	engine, err := testbed.Fetch(ctx, o.engine, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
	if err != nil {
		return err
	}
	if err := end(o); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	fmt.Printf("starting six %s nodes on ports %d to %d, with their cluster bus on %d to %d\n",
		o.engine, o.nodes, o.nodes+5, o.nodes+testbed.BusOffset, o.nodes+testbed.BusOffset+5)
	cluster, err := testbed.Start(ctx, testbed.Options{
		Engine: o.engine, BasePort: o.nodes, Dir: o.clusterDir(), Detached: true,
	})
	if err != nil {
		return err
	}
	if err := o.startProxy(cluster); err != nil {
		return errors.Join(err, cluster.Stop())
	}
	fmt.Printf(`
The proxy serves on port %[1]d, in front of %[2]s.
Its log is in %[3]s.

Try:
  %[4]s -p %[1]d set hello world
  %[4]s -p %[1]d mset a 1 b 2 c 3       # three slots, one command
  %[4]s -c -p %[1]d mget a b c          # a cluster client works too
  %[4]s -p %[1]d cluster nodes          # one node owns every slot
  %[5]s -p %[1]d -P 16 -c 50 -n 1000000 -r 100000 -t set,get -q

make stop ends the proxy and the cluster.
`, o.port, strings.Join(cluster.Addrs(), " "), o.logFile(), engine.CLI, engine.Benchmark)
	return nil
}

// startProxy runs the proxy on its own and waits until it serves a command.
func (o options) startProxy(cluster *testbed.Cluster) error {
	log, err := os.Create(o.logFile())
	if err != nil {
		return err
	}
	defer log.Close()
	proxy := exec.Command(o.proxy, "--port", strconv.Itoa(o.port), "--bootstrap", strings.Join(cluster.Addrs(), ","),
		"--announce-addr", fmt.Sprintf("127.0.0.1:%d", o.port))
	proxy.Stdout, proxy.Stderr = log, log
	proxy.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := proxy.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(o.pidFile(), []byte(strconv.Itoa(proxy.Process.Pid)), 0o644); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- proxy.Wait() }()
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		if serves(o.port, proxy.Process.Pid) {
			return nil
		}
		select {
		case err := <-exited:
			os.Remove(o.pidFile())
			text, _ := os.ReadFile(o.logFile())
			return fmt.Errorf("the proxy has ended (%v): %s", err, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("the proxy does not serve after %s: see %s", startTimeout, o.logFile())
}

// serves says that the process with the given id, and not another one, answers on the
// port and reaches its nodes.
func serves(port, pid int) bool {
	c, err := testbed.Dial(fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	defer c.Close()
	info, err := c.Do("INFO", "server")
	if err != nil || !strings.Contains(fmt.Sprint(info), fmt.Sprintf("process_id:%d\r\n", pid)) {
		return false
	}
	_, err = c.Do("GET", "hello")
	return err == nil
}

// end stops the proxy and the cluster of an earlier run, if there are any.
func end(o options) error {
	text, err := os.ReadFile(o.pidFile())
	if err == nil {
		if err := endProxy(strings.TrimSpace(string(text))); err != nil {
			return err
		}
		os.Remove(o.pidFile())
	}
	if _, err := os.Stat(filepath.Join(o.clusterDir(), "cluster.json")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cluster, err := testbed.Open(o.clusterDir())
	if err != nil {
		return err
	}
	return cluster.Stop()
}

// endProxy stops the process, if it still is the proxy.
func endProxy(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return fmt.Errorf("process id %q: expected a number", pid)
	}
	name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
	if err != nil || strings.TrimSpace(string(name)) != "mithril" {
		return nil
	}
	if err := syscall.Kill(n, syscall.SIGTERM); err != nil {
		return err
	}
	for range 1000 {
		if syscall.Kill(n, 0) != nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("the proxy (process %d) does not end", n)
}

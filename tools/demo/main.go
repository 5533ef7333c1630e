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
	"io"
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
	err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	o := options{port: 7979, nodes: 7000}
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	stop := flags.Bool("stop", false, "stop what is running in dir")
	flags.StringVar(&o.engine, "engine", testbed.Valkey91, "servers of the cluster: "+strings.Join(testbed.Engines, ", "))
	flags.StringVar(&o.dir, "dir", ".cache/run", "directory of the cluster and the logs")
	flags.StringVar(&o.proxy, "proxy", "bin/mithril", "the proxy's program")
	flags.Func("port", "port of the proxy (default 7979)", readPort(&o.port))
	flags.Func("nodes", "port of the first node (default 7000)", readPort(&o.nodes))
	flags.SetOutput(io.Discard) // an error is told once, without all the flags
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(out)
			flags.PrintDefaults()
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q is not a flag", flags.Arg(0))
	}
	if *stop {
		return end(o, out)
	}
	return start(o, out)
}

// readPort is the value of a flag; checkPorts says which numbers are ports.
func readPort(port *int) func(string) error {
	return func(text string) (err error) {
		if *port, err = strconv.Atoi(text); err != nil {
			return errors.New("expected a port number")
		}
		return nil
	}
}

func (o options) pidFile() string    { return filepath.Join(o.dir, "mithril.pid") }
func (o options) clusterDir() string { return filepath.Join(o.dir, "cluster") }
func (o options) logFile() string    { return filepath.Join(o.dir, "mithril.log") }

// start runs the cluster and the proxy, in place of what an earlier run has left.
func start(o options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*startTimeout)
	defer cancel()
	old, err := o.find()
	if err != nil {
		return err
	}
	if err := o.checkPorts(old); err != nil {
		return err
	}
	engine, err := testbed.Fetch(ctx, o.engine, func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) })
	if err != nil {
		return err
	}
	if old.String() != "" {
		fmt.Fprintf(out, "stopping %s\n", old)
	}
	if err := old.stop(o); err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(out, "starting %d %s nodes on ports %s, for their cluster bus\n", nodeCount, o.engine, o.nodePorts())
	cluster, err := testbed.Start(ctx, testbed.Options{
		Engine: o.engine, BasePort: o.nodes, Dir: o.clusterDir(), Detached: true,
	})
	if err != nil {
		return err
	}
	if err := o.startProxy(cluster); err != nil {
		return errors.Join(err, cluster.Stop())
	}
	fmt.Fprintf(out, `
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

// end stops the proxy and the cluster of an earlier run, and says what it has stopped.
func end(o options, out io.Writer) error {
	r, err := o.find()
	if err != nil {
		return err
	}
	if err := r.stop(o); err != nil {
		return err
	}
	if what := r.String(); what != "" {
		fmt.Fprintf(out, "stopped %s\n", what)
	} else {
		fmt.Fprintf(out, "nothing was running in %s\n", o.dir)
	}
	return nil
}

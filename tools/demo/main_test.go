package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// freePorts are seven in a row with those of their buses.
func freePorts(t *testing.T) int {
	t.Helper()
	ports, err := testbed.FreePorts(nodeCount + 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ports.Release)
	return ports.Base
}

func listen(t *testing.T, port int) {
	t.Helper()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

// TestPortsAreCheckedFirst: whoever has a port taken is told which one and what to set, and
// nothing has been started, stopped or written by then.
func TestPortsAreCheckedFirst(t *testing.T) {
	base := freePorts(t)
	proxy, last := base+nodeCount, base+nodeCount-1
	nodes := fmt.Sprintf("%d to %d and %d to %d", base, last, base+10000, last+10000)
	listen(t, base+2)
	listen(t, base+10003)
	for _, test := range []struct {
		port, nodes any
		want        string
	}{
		{proxy, base, fmt.Sprintf("of the nodes' ports, %s, in use: %d, %d; set others with NODES=", nodes, base+2, base+10003)},
		{base + 10003, base + 20, fmt.Sprintf("port %d of the proxy is in use; set another one with PORT=", base+10003)},
		{base + 1, base, fmt.Sprintf("port %d of the proxy is a node's: those are %s; set another one with PORT= or NODES=", base+1, nodes)},
		{base + 10001, base, fmt.Sprintf("port %d of the proxy is a node's: those are %s; set another one with PORT= or NODES=", base+10001, nodes)},
		{0, base, "port 0 of the proxy: expected 1 to 65535, set it with PORT="},
		{proxy, 55531, "port 55531 of the first of 6 nodes: expected 1 to 55530, for their bus is 10000 above; set it with NODES="},
		{"abc", base, `invalid value "abc" for flag -port: expected a port number`},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		var out strings.Builder
		err := run([]string{"-dir", dir, "-port", fmt.Sprint(test.port), "-nodes", fmt.Sprint(test.nodes), "-proxy", "no/mithril"}, &out)
		if err == nil || err.Error() != test.want || out.String() != "" {
			t.Errorf("port %v, nodes %v:\n%v, want\n%s", test.port, test.nodes, err, test.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("port %v, nodes %v: there is a directory already", test.port, test.nodes)
		}
	}
	old := running{port: proxy, nodes: []int{base + 2, base + 3}}
	if err := (options{port: proxy, nodes: base}).checkPorts(old); err != nil {
		t.Errorf("ports that are to be free: %v", err)
	}
}

// TestDemo starts, replaces and stops a cluster with a proxy in front of it.
func TestDemo(t *testing.T) {
	base, dir := freePorts(t), t.TempDir()
	proxy, last := base+nodeCount, base+nodeCount-1
	binary := filepath.Join(t.TempDir(), "mithril")
	build(t, binary)
	demo := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := run(append([]string{"-dir", dir, "-port", fmt.Sprint(proxy), "-nodes", fmt.Sprint(base), "-proxy", binary}, args...), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := demo("-stop"); out != "nothing was running in "+dir+"\n" {
		t.Errorf("before it starts: %s", out)
	}
	t.Cleanup(func() { demo("-stop") })
	if out := demo(); !strings.Contains(out, fmt.Sprintf("The proxy serves on port %d,", proxy)) {
		t.Errorf("it says %s", out)
	}
	six := fmt.Sprintf(" and %d nodes on ports %d to %d\n", nodeCount, base, last)
	if out := demo(); !strings.Contains(out, fmt.Sprintf("\nstopping the proxy on port %d (process ", proxy)) || !strings.Contains(out, six) {
		t.Errorf("in place of another one: %s", out)
	}
	if out := demo("-stop"); !strings.HasPrefix(out, fmt.Sprintf("stopped the proxy on port %d (process ", proxy)) || !strings.HasSuffix(out, six) {
		t.Errorf("at the end: %s", out)
	}
}

func build(t *testing.T, binary string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-o", binary, "mithril/cmd/mithril").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

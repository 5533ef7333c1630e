package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// tcpSocket is a line of /proc/net/tcp (proc(5), the kernel's
// Documentation/networking/proc_net_tcp.rst).
type tcpSocket struct {
	localPort, remotePort int
	keepalive             bool // the keepalive timer runs
	timerTicks            int64
}

// establishedSockets are the TCP connections that a process has.
func establishedSockets(pid int) (list []tcpSocket, err error) {
	const established, keepaliveTimer = "01", "02"
	owned := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			owned[target] = true
		}
	}
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != established || !owned["socket:["+fields[9]+"]"] {
			continue
		}
		timer, ticks, _ := strings.Cut(fields[5], ":")
		s := tcpSocket{localPort: portOf(fields[1]), remotePort: portOf(fields[2]), keepalive: timer == keepaliveTimer}
		if s.timerTicks, err = strconv.ParseInt(ticks, 16, 64); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func portOf(addr string) int {
	_, text, _ := strings.Cut(addr, ":")
	port, _ := strconv.ParseInt(text, 16, 32)
	return int(port)
}

// wantKeepalive waits until the client's connection and those to nodes have a keepalive
// timer that ends within secs, or none for 0.
func wantKeepalive(t *testing.T, p *harness.Proxy, cluster *testbed.Cluster, secs int64) {
	t.Helper()
	const ticksPerSecond = 100
	_, text, _ := net.SplitHostPort(p.Addr)
	port, _ := strconv.Atoi(text)
	harness.Eventually(t, harness.Patience, fmt.Sprintf("keepalive of %d s", secs), func() error {
		sockets, err := establishedSockets(p.PID)
		clients, nodes := 0, 0
		for _, s := range sockets {
			switch {
			case s.localPort == port:
				clients++
			case isNode(cluster, s.remotePort):
				nodes++
			}
			longest := secs * ticksPerSecond
			if s.keepalive != (secs > 0) || s.timerTicks > longest || s.timerTicks < longest/2 {
				return fmt.Errorf("a socket is %+v", s)
			}
		}
		if clients == 0 || nodes == 0 {
			return errors.Join(err, fmt.Errorf("%d connections of clients, %d to nodes", clients, nodes))
		}
		return nil
	})
}

func isNode(cluster *testbed.Cluster, port int) bool {
	for _, n := range cluster.Nodes() {
		if n.Port == port {
			return true
		}
	}
	return false
}

func TestKeepaliveIsSet(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		for _, secs := range []int64{77, 0} {
			p := e.Start(t, harness.Options{Args: []string{"--tcp-keepalive", fmt.Sprint(secs)}})
			harness.MustDo(t, p.Dial(t), "MSET", "a", "1", "b", "2", "c", "3")
			wantKeepalive(t, p, e.Cluster, secs)
		}
	})
}

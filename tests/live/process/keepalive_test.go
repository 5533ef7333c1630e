package process

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// wantKeepalive waits until the client's connection and those to nodes have a keepalive
// timer that ends within secs, or none for 0.
func wantKeepalive(t *testing.T, p *harness.Proxy, cluster *testbed.Cluster, secs int64) {
	t.Helper()
	_, text, _ := net.SplitHostPort(p.Addr)
	port, _ := strconv.Atoi(text)
	harness.Eventually(t, harness.Patience, fmt.Sprintf("keepalive of %d s", secs), func() error {
		sockets, err := p.Sockets()
		clients, nodes := 0, 0
		for _, s := range sockets {
			switch {
			case int(s.Local.Port()) == port:
				clients++
			case isNode(cluster, int(s.Remote.Port())):
				nodes++
			}
			longest := time.Duration(secs) * time.Second
			if s.Keepalive != (secs > 0) || s.Timer > longest || s.Timer < longest/2 {
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

package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// visitors come at the same time.
const visitors = 4

// visit has clients come, ask for keys of all shards and leave first, in turn in each way
// there is: before they ask, behind a request, and behind a reply.
func visit(t *testing.T, p *harness.Proxy, clients int) {
	t.Helper()
	var running sync.WaitGroup
	for v := range visitors {
		running.Go(func() {
			for i := v; i < clients && !t.Failed(); i += visitors {
				if err := visitOnce(p.Addr, i); err != nil {
					t.Errorf("visit %d: %v", i, err)
				}
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func visitOnce(addr string, i int) error {
	c, err := net.Dial("tcp4", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	request := testbed.AppendCommand(nil, "GET", fmt.Sprint("key", i))
	switch i % 4 {
	case 0:
		return nil
	case 1:
		_, err = c.Write(testbed.AppendCommand(request, "MGET", "a", "b", "c", fmt.Sprint("key", i)))
	case 2:
		if _, err = c.Write(request); err == nil {
			c.(*net.TCPConn).SetLinger(0) // a reset
		}
	case 3:
		// PING is answered, whatever the nodes do.
		if _, err = c.Write([]byte("PING\r\n")); err == nil {
			c.SetReadDeadline(time.Now().Add(harness.Patience))
			_, err = io.ReadFull(c, make([]byte, len("+PONG\r\n")))
		}
		if err == nil {
			_, err = c.Write(request)
		}
	}
	return err
}

// awaitDescriptors waits until the proxy has no client, and as many descriptors as before.
func awaitDescriptors(t *testing.T, p *harness.Proxy, most int, timeout time.Duration) {
	t.Helper()
	harness.Eventually(t, timeout, "the proxy to close the connections of clients that have left", func() error {
		if n := p.Clients(); n > 0 {
			return fmt.Errorf("%d are open or in CLOSE_WAIT", n)
		}
		if n := p.Descriptors(); n > most {
			return fmt.Errorf("it has %d descriptors, it had %d", n, most)
		}
		return nil
	})
}

// TestCase_I01_NoHeapOfCloseWait: many short sessions, and the clients close first. Soon
// after nothing is left of them, while all is well and while a primary is down. One
// that hangs answers nothing, and a client that has left may still be reading: then it
// takes longer.
func TestCase_I01_NoHeapOfCloseWait(t *testing.T) {
	const (
		soon     = 2 * time.Second // one, and one for a machine that does other things too
		nodeMost = 8               // descriptors more: all connections to nodes may be new
	)
	clients := harness.Size(20_000, 200_000)
	for shard, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) {
			cluster := testbed.RunCluster(t, testbed.Options{Replicas: testbed.NoReplicas, Config: []string{"cluster-require-full-coverage no"}})
			p := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Checked: true})
			visit(t, p, 100)
			if err := p.AwaitNoClients(); err != nil {
				t.Fatal(err)
			}
			before := p.Descriptors()

			visit(t, p, clients)
			awaitDescriptors(t, p, before+nodeMost, soon)

			if err := cluster.Pause(shard); err != nil {
				t.Fatal(err)
			}
			visit(t, p, clients/20)
			if p.Clients() == 0 {
				t.Error("no client was left waiting for the node that hangs")
			}
			awaitDescriptors(t, p, before+nodeMost, 4*harness.Patience)
			if err := cluster.Kill(shard); err != nil {
				t.Fatal(err)
			}
			harness.Eventually(t, harness.Patience, "the proxy to notice", func() error {
				if p.LinesWith(`msg="connection to node lost"`) == 0 {
					return errors.New("its log does not say so")
				}
				return nil
			})

			visit(t, p, clients/4)
			awaitDescriptors(t, p, before+nodeMost, soon)
			wantIdle(t, p)
		})
	}
}

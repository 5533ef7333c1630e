package pipes

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_PIPE1_ConnectionsOfWorkers: with backend-sharding no each worker has backend-conns
// connections to a node, with yes all of them have one for each protocol, however many
// clients come.
func TestContract_PIPE1_ConnectionsOfWorkers(t *testing.T) {
	const lanes = 3
	options := harness.Options{Args: []string{"--backend-conns", fmt.Sprint(lanes)}}
	harness.EachProxy(t, options, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		for protocols, proto := range []int{2, 3} {
			// So many that each connection of each worker has some.
			for range 40 * e.Layout.Workers {
				c := p.DialProto(t, proto)
				for _, number := range slotOfShard {
					harness.MustDo(t, c, "SET", tag(number), "v")
				}
			}
			want := (protocols + 1) * lanes * e.Layout.Workers
			if e.Layout.Sharding == "yes" {
				want = protocols + 1
			}
			for shard := range slotOfShard {
				n, err := e.Cluster.Primary(shard)
				if err != nil {
					t.Fatal(err)
				}
				if got := connectionsTo(t, testbed.MustDial(t, n.Addr()), p); got != want {
					t.Errorf("RESP%d: node %d has %d connections, want %d", proto, n.Index, got, want)
				}
			}
		}
	})
}

// TestCase_I09_PortsAreNotUsedUp: much short work with connections that are not shared, for clients
// that come and go. The connections are used again, and none is left behind in TIME_WAIT.
func TestCase_I09_PortsAreNotUsedUp(t *testing.T) {
	const (
		workers    = 8
		largeBytes = 300 << 10 // of a request that does not share its connection
	)
	rounds := harness.Size(25, 2000)
	harness.EachProxy(t, harness.Options{}, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		var nodes []*testbed.Conn
		var ports []int
		for shard := range slotOfShard {
			n, err := e.Cluster.Primary(shard)
			if err != nil {
				t.Fatal(err)
			}
			nodes, ports = append(nodes, testbed.MustDial(t, n.Addr())), append(ports, n.Port)
		}
		count := func() (made, waiting int) {
			for i, c := range nodes {
				n, err := harness.TimeWaits(ports[i])
				if err != nil {
					t.Fatal(err)
				}
				made, waiting = made+infoNumber(t, c, "total_connections_received"), waiting+n
			}
			return made, waiting
		}
		large := strings.Repeat("x", largeBytes)
		visit := func(rounds int) {
			var running sync.WaitGroup
			for i := range workers {
				running.Go(func() {
					for range rounds {
						if err := shortWork(p, i, large); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
		}
		visit(2)
		made, waiting := count()
		visit(rounds)
		madeThen, waitingThen := count()
		// More may have been needed at the same time than before.
		if more, most := madeThen-made, len(nodes)*(workers+1); more > most {
			t.Errorf("%d connections more were made for %d clients, want %d at most", more, rounds*workers, most)
		}
		if more, most := waitingThen-waiting, 2*len(nodes); more > most {
			t.Errorf("%d ports more are in TIME_WAIT", more)
		}
	})
}

// shortWork is a client that writes a large value to one node, asks for it and for keys of others, and
// leaves.
func shortWork(p *harness.Proxy, i int, large string) error {
	c, err := testbed.Dial(p.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	key := fmt.Sprint(tag(slotOfShard[i%len(slotOfShard)]), "large", i)
	if got, err := c.Do("SET", key, large); err != nil || got != "OK" {
		return fmt.Errorf("SET: %v, %w", got, err)
	}
	if got, err := c.Do("STRLEN", key); err != nil || got != int64(len(large)) {
		return fmt.Errorf("STRLEN: %v, %w", got, err)
	}
	if got, err := c.Do("FUNCTION", "LIST"); err != nil {
		return fmt.Errorf("FUNCTION LIST: %v, %w", got, err)
	}
	_, err = c.Do("MGET", tag(slotOfShard[0]), tag(slotOfShard[1]), tag(slotOfShard[2]))
	return err
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// resumeWithin is how long after the cluster's own promotion a slot may still be without
// service.
const resumeWithin = time.Second

// TestPrimaryIsKilled kills a primary under load. What is in flight on it gets one clear
// error each, the other shards notice nothing, and service resumes with the promotion,
// although the only seed is gone.
func TestPrimaryIsKilled(t *testing.T) {
	cluster := testbed.RunCluster(t, testbed.Options{
		Config: []string{"cluster-node-timeout 1000", "cluster-require-full-coverage no"},
	})
	slots := []int{500, 8000, 16000} // by shard
	for shard, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) {
			victim, err := cluster.Primary(shard)
			if err != nil {
				t.Fatal(err)
			}
			p := harness.StartAt(t, engine, victim.Addr())
			c := p.Dial(t)
			key := tag(slots[shard])
			for _, number := range slots {
				await(t, c, "OK", "SET", tag(number), "0")
			}
			load := startLoad(t, p, slots[(shard+1)%3], slots[(shard+2)%3])
			killInFlight(t, c, victim, key)
			err = errors.Join(awaitResumption(t, c, cluster, shard, victim.Index, key), load.await(20))
			if err := errors.Join(err, load.stop()); err != nil {
				t.Error(err)
			}
			harness.Eventually(t, harness.Patience, "the log to tell of it", func() error {
				if p.LinesWith(`msg="primaries changed"`, "new=127.0.0.1:", "gone="+victim.Addr()) != 1 {
					return errors.New(p.Log())
				}
				return nil
			})
			if err := cluster.Restart(t.Context(), victim.Index); err != nil {
				t.Fatal(err)
			}
			if err := cluster.WaitOK(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// killInFlight kills a node that has requests it has not read.
func killInFlight(t *testing.T, c *testbed.Conn, victim *testbed.Node, key string) {
	t.Helper()
	const inFlight = 100
	if err := victim.Pause(); err != nil {
		t.Fatal(err)
	}
	for range inFlight {
		c.Send("INCR", key)
	}
	c.Send("PING")
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Patience, "the requests to reach the node", func() error { return unreadAt(victim.Port) })
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for i := range inFlight {
		reply, err := c.Receive()
		e, isError := reply.(testbed.Error)
		if err != nil || !isError || !strings.Contains(string(e), victim.Addr()) {
			t.Fatalf("reply %d: %v, %v, want an error that names the node", i, reply, err)
		}
		if strings.Contains(string(e), "the outcome of the command is unknown") {
			unknown++
		}
	}
	if unknown == 0 {
		t.Error("no reply says that its outcome is unknown")
	}
	if reply, err := c.Receive(); err != nil || reply != "PONG" {
		t.Fatalf("behind the errors: %v, %v", reply, err)
	}
}

// unreadAt returns nil if a connection of a port has bytes that its process has not read.
func unreadAt(port int) error {
	n, err := harness.UnreadAt(port)
	if err == nil && n == 0 {
		err = errors.New("its sockets are empty")
	}
	return err
}

// awaitResumption sets the key again and again. Every try ends soon, with an error that
// says what is wrong, and with success at most resumeWithin after the promotion.
func awaitResumption(t *testing.T, c *testbed.Conn, cluster *testbed.Cluster, shard, old int, key string) error {
	t.Helper()
	promotion := make(chan error, 1)
	go func() {
		_, err := cluster.WaitFailover(context.WithoutCancel(t.Context()), shard, old)
		promotion <- err
	}()
	var promoted time.Time
	for {
		_, err := c.Do("SET", key, "1")
		switch {
		case err == nil:
			return nil
		case strings.HasPrefix(err.Error(), "TRYAGAIN "), strings.HasPrefix(err.Error(), "CLUSTERDOWN "), strings.HasPrefix(err.Error(), "ERR connection to node"):
		default:
			return fmt.Errorf("while no primary is there: %w", err)
		}
		select {
		case err := <-promotion:
			if promoted = time.Now(); err != nil {
				return err
			}
		default:
		}
		if !promoted.IsZero() && time.Since(promoted) > resumeWithin {
			return fmt.Errorf("%v after the promotion: %w", time.Since(promoted), err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

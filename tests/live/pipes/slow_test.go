package pipes

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_I10_OneNodeSlow: many sessions on all shards, and one primary is stopped. The sessions of
// the others keep their latency, those that wait take memory for what they have sent and not for
// what they might, and all of them get their replies when it goes on.
func TestCase_I10_OneNodeSlow(t *testing.T) {
	const (
		rounds    = 10
		slack     = 50 * time.Millisecond // the machine does other things too
		ownBytes  = 48 << 10              // of a session that waits: a chunk of input, its requests, and what the runtime adds
		baseBytes = 24 << 20
		sets      = 100 // of a session that waits; more than it may have open
	)
	sessions := harness.Size(300, 5000)
	cluster := testbed.RunCluster(t, testbed.Options{
		Replicas: testbed.NoReplicas, Config: []string{"cluster-node-timeout 60000", "cluster-require-full-coverage no"},
	})
	harness.EachLayout(t, func(t *testing.T, engine string, l harness.Layout) {
		p := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Workers: l.Workers, Sharding: l.Sharding})
		var lively, stuck []*testbed.Conn
		for i := range sessions {
			c := p.Dial(t)
			c.SetTimeout(6 * harness.Patience)
			if shard := i % 3; shard == 0 {
				stuck = append(stuck, c)
			} else {
				lively = append(lively, c)
			}
		}
		askEach(t, lively, 1)
		before := askEach(t, lively, rounds)
		resume := harness.Hold(t, cluster, 0)
		resident := p.RSS()
		request := []byte{}
		for i := range sets {
			request = testbed.AppendCommand(request, "SET", fmt.Sprint(tag(slotOfShard[0]), i), strings.Repeat("x", 1000))
		}
		var writing sync.WaitGroup
		for _, c := range stuck {
			writing.Go(func() {
				if err := c.Write(request); err != nil {
					t.Error(err)
				}
			})
		}
		meanwhile := askEach(t, lively, rounds)
		grown := p.RSS() - resident
		t.Logf("p50 %v and p99 %v, before %v and %v; %d KB more for %d sessions that wait",
			at(meanwhile, 0.5), at(meanwhile, 0.99), at(before, 0.5), at(before, 0.99), grown>>10, len(stuck))
		if at(meanwhile, 0.99) > 3*at(before, 0.99)+slack {
			t.Errorf("the sessions of other shards take %v, before it was %v", at(meanwhile, 0.99), at(before, 0.99))
		}
		if most := int64(baseBytes + ownBytes*len(stuck)); grown > most {
			t.Errorf("the proxy has grown by %d KB, want %d at most", grown>>10, most>>10)
		}
		resume()
		writing.Wait()
		for i, c := range stuck {
			for k := range sets {
				if got, err := c.Receive(); err != nil || got != "OK" {
					t.Fatalf("session %d, reply %d: %v, %v", i, k, got, err)
				}
			}
		}
	})
}

// askEach has every session, one after the other, set and get keys of the second and the third shard, and returns
// how long the requests took, sorted.
func askEach(t *testing.T, sessions []*testbed.Conn, rounds int) (took []time.Duration) {
	t.Helper()
	for round := range rounds {
		for i, c := range sessions {
			key, value := fmt.Sprint(tag(slotOfShard[1+i%2]), i), fmt.Sprint(round)
			began := time.Now()
			if got, err := c.Do("SET", key, value); err != nil || got != "OK" {
				t.Fatalf("SET: %v, %v", got, err)
			}
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	return took
}

// at is a quantile of sorted durations.
func at(took []time.Duration, share float64) time.Duration {
	return took[min(len(took)-1, int(share*float64(len(took))))]
}

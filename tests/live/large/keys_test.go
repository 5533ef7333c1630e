package large

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_L04_KeysOfManyKeys asks for all keys when they are many: a client whose output limit
// allows it gets them, joined without being copied; another one is closed as soon as what has
// come in is too much, and nobody else with it.
func TestCase_L04_KeysOfManyKeys(t *testing.T) {
	const (
		batch = 50_000 // keys of one script, so that its node does not seem to be dead
		limit = 16 << 20
		slack = 16 << 20 // blocks that are not full, and what is not ours
	)
	each := harness.Size(50_000, 1_700_000) // keys of a shard
	pad := harness.Size(400, 20)            // bytes of a key, and some
	harness.One(t, testbed.Valkey91, harness.IOUring, func(t *testing.T, e *harness.Env) {
		open := e.Start(t, harness.Options{})
		c := open.Dial(t)
		c.SetTimeout(time.Minute)
		for _, tag := range []string{"a", "b", "c"} { // one of each shard
			key := "{" + tag + "}" + strings.Repeat("k", pad)
			for first := 0; first < each; first += batch {
				harness.MustDo(t, c, "EVAL", "for i = 1, ARGV[2] do redis.call('set', KEYS[1] .. ARGV[1] + i, '') end", 1, key, first, batch)
			}
		}
		others := startNeighbours(t, open, 2)
		base, whole := open.RSS(), int64(3*each*(pad+10))
		keys, _ := harness.MustDo(t, c, "KEYS", "{*}k*").([]any)
		waits := others.take()
		others.end()
		if grown := open.PeakRSS() - base; len(keys) != 3*each || grown > whole*3/2+slack {
			t.Errorf("%d keys of %d, and %d MB of memory for %d MB", len(keys), 3*each, grown>>20, whole>>20)
		}
		if wait := waits.at(1); wait > deafWaitMax || len(waits) == 0 {
			t.Errorf("a neighbour has waited %v, at most %v are allowed", wait, deafWaitMax)
		}
		t.Logf("%d MB of memory for %d MB; neighbours: %v", (open.PeakRSS()-base)>>20, whole>>20, waits)

		bounded := e.Start(t, harness.Options{Args: []string{"--client-output-buffer-limit", "normal", fmt.Sprint(limit), "0", "0"}})
		c, other := bounded.Dial(t), bounded.Dial(t)
		base = bounded.RSS()
		if reply, err := c.Do("KEYS", "*"); err == nil {
			t.Errorf("a reply of %T, beyond the limit", reply)
		}
		harness.Eventually(t, harness.Patience, "the log to say so", func() error {
			if n := bounded.LinesWith("client closed", "output limit reached"); n != 1 {
				return fmt.Errorf("%d clients were closed at the limit", n)
			}
			return nil
		})
		harness.MustDo(t, other, "SET", "a", "1")
		if n, _ := harness.MustDo(t, other, "DBSIZE").(int64); int(n) < 3*each+1 {
			t.Errorf("%d keys, want %d at least", n, 3*each+1)
		}
		if grown := bounded.PeakRSS() - base; grown > 2*limit+slack {
			t.Errorf("%d MB of memory, the limit is %d MB", grown>>20, limit>>20)
		}
		if n := bounded.LinesWith("connection to node lost"); n != 0 {
			t.Errorf("%d connections to nodes were lost", n)
		}
		t.Logf("%d MB of memory, the limit is %d MB", (bounded.PeakRSS()-base)>>20, limit>>20)
	})
}

package pipes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// slotOfShard has a slot of each shard of a cluster as the test bed makes it.
var slotOfShard = []int{500, 8000, 16000}

// unread wants nothing to have come that was not read.
func unread(t *testing.T, c *testbed.Conn) {
	t.Helper()
	c.SetTimeout(unchanged)
	defer c.SetTimeout(testbed.DefaultTimeout)
	if got, err := c.Receive(); err == nil {
		t.Fatalf("%v has overtaken the reply before it", got)
	}
}

// TestCase_C07_LocalAnswersKeepTheirPlace: what the proxy answers itself, and what other nodes have
// answered long since, waits for the replies before it.
func TestCase_C07_LocalAnswersKeepTheirPlace(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c, other := e.Proxy.Dial(t), e.Proxy.Dial(t)
		var keys []string // of each shard
		for _, number := range slotOfShard {
			keys = append(keys, tag(number)+"k")
		}
		harness.MustDo(t, c, "MSET", keys[1], "b", keys[2], "c")
		slots, err := c.DoRaw(testbed.AppendCommand(nil, "CLUSTER", "SLOTS"), 1)
		if err != nil {
			t.Fatal(err)
		}
		slots = slices.Clone(slots)
		for _, slow := range []int{0, 2} { // that of the first request, and that of the last key of the MGET
			before := []any{"OK", "PONG", "v"}
			resume := harness.Hold(t, e.Cluster, slow)
			c.Send("SET", keys[0], "v")
			c.Send("PING")
			c.Send("GET", keys[0])
			c.Send("CLUSTER", "SLOTS")
			c.Send("MGET", keys[0], keys[1], keys[2])
			c.Send("ECHO", "x")
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := harness.AwaitRead(c.NetConn()); err != nil {
				t.Fatal(err)
			}
			harness.MustDo(t, other, "SET", keys[1], "b") // others go on
			if slow == 0 {
				unread(t, c)
				resume()
			}
			for i, want := range before {
				if got, err := c.Receive(); err != nil || got != want {
					t.Fatalf("shard %d is slow: reply %d is %v, %v, want %v", slow, i, got, err, want)
				}
			}
			if got, err := c.DoRaw(nil, 1); err != nil || string(got) != string(slots) {
				t.Fatalf("CLUSTER SLOTS: %s, %v", harness.Clip(got), err)
			}
			if slow != 0 {
				unread(t, c)
				resume()
			}
			if got, err := c.Receive(); err != nil || fmt.Sprint(got) != "[v b c]" {
				t.Fatalf("MGET: %v, %v", got, err)
			}
			if got, err := c.Receive(); err != nil || got != "x" {
				t.Fatalf("ECHO: %v, %v", got, err)
			}
		}
	})
}

// TestCase_C09_OneDeadlineForAPipeline: a thousand requests are queued at a node that does not
// answer any more. All of them fail when the time is over, not one after the other.
func TestCase_C09_OneDeadlineForAPipeline(t *testing.T) {
	const (
		queued = 1000
		limit  = 300 * time.Millisecond
		most   = 3 * limit // a machine may do other things too
	)
	options := harness.Options{Args: []string{"--backend-timeout-ms", fmt.Sprint(limit.Milliseconds())}}
	harness.EachProxy(t, options, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		key, other := tag(slotOfShard[0])+"k", tag(slotOfShard[1])+"k"
		c, lively := p.Dial(t), p.Dial(t)
		harness.MustDo(t, c, "SET", other, "v")
		for range queued { // so that it may have as many open
			c.Send("SET", key, "v")
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for range queued {
			if got, err := c.Receive(); err != nil || got != "OK" {
				t.Fatalf("SET: %v, %v", got, err)
			}
		}
		resume := harness.Hold(t, e.Cluster, 0)
		for range queued {
			c.Send("GET", key)
		}
		c.Send("GET", other)
		began := time.Now()
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := harness.MustDo(t, lively, "GET", other); got != "v" {
			t.Errorf("GET at another node: %v", got)
		}
		for i := range queued {
			got, err := c.Receive()
			text, _ := got.(testbed.Error)
			if took := time.Since(began); err != nil || !strings.Contains(string(text), "no reply within backend-timeout-ms") || took < limit || took > most {
				t.Fatalf("reply %d: %v, %v, after %v", i, got, err, took)
			}
		}
		if got, err := c.Receive(); err != nil || got != "v" {
			t.Errorf("behind the errors: %v, %v", got, err)
		}
		resume()
		harness.Eventually(t, harness.Patience, "the node to be used again", func() error {
			_, err := c.Do("GET", key)
			return err
		})
	})
}

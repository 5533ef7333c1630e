package harness

import (
	"testing"
	"time"

	"mithril/tools/testbed"
)

// TestHoldKeepsThePrimary holds a node for longer than a cluster waits that is not told to.
func TestHoldKeepsThePrimary(t *testing.T) {
	const key, timeout = "a", "500"
	c := testbed.RunCluster(t, testbed.Options{Config: []string{nodeTimeout + " " + timeout}})
	before, err := c.Primary(ShardOf(t, c, key))
	if err != nil {
		t.Fatal(err)
	}
	resume := HoldOwner(t, c, key)
	if n := before.State(); n != testbed.Paused {
		t.Fatalf("the owner of the key is %v", n)
	}
	time.Sleep(3 * time.Second)
	resume()
	if after, err := c.Primary(before.Index % c.Shards); err != nil || after != before {
		t.Errorf("another node, or none, is the primary: %v", err)
	}
	for _, n := range c.Nodes() {
		if got := MustDo(t, testbed.MustDial(t, n.Addr()), "CONFIG", "GET", nodeTimeout).([]any)[1]; got != timeout {
			t.Errorf("%s of node %s is %v, want %s again", nodeTimeout, n.Addr(), got, timeout)
		}
	}
}

package harness

import "mithril/tools/testbed"

const (
	nodeTimeout = "cluster-node-timeout" // ms

	heldTimeout = "600000" // while a node is held: longer than any test holds one
)

// Hold stops the primary of a shard (SIGSTOP) until the test ends or resume is called. Nobody
// takes it for dead meanwhile, so that no replica takes over, however slow the machine is.
func Hold(tb TB, c *testbed.Cluster, shard int) (resume func()) {
	tb.Helper()
	n, err := c.Primary(shard)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	before, _ := MustDo(tb, testbed.MustDial(tb, n.Addr()), "CONFIG", "GET", nodeTimeout).([]any)
	if len(before) != 2 {
		tb.Fatalf("CONFIG GET %s answers %v", nodeTimeout, before)
	}
	setNodeTimeout(tb, c, heldTimeout)
	if err := n.Pause(); err != nil {
		tb.Fatalf("%v", err)
	}
	held := true
	resume = func() {
		tb.Helper()
		if !held {
			return
		}
		held = false
		if err := n.Resume(); err != nil {
			tb.Fatalf("%v", err)
		}
		setNodeTimeout(tb, c, before[1]) // n answers by now, so that it is late for nobody
	}
	tb.Cleanup(resume)
	return resume
}

// HoldOwner is Hold for the primary that has a key.
func HoldOwner(tb TB, c *testbed.Cluster, key string) (resume func()) {
	tb.Helper()
	return Hold(tb, c, ShardOf(tb, c, key))
}

// setNodeTimeout sets how long a node may be silent before the others take it for dead.
func setNodeTimeout(tb TB, c *testbed.Cluster, ms any) {
	tb.Helper()
	for _, n := range c.Nodes() {
		MustDo(tb, testbed.MustDial(tb, n.Addr()), "CONFIG", "SET", nodeTimeout, ms)
	}
}

// ShardOf is the number of the shard that has a key.
func ShardOf(tb TB, c *testbed.Cluster, key string) int {
	tb.Helper()
	slot := MustDo(tb, testbed.MustDial(tb, c.Addrs()[0]), "CLUSTER", "KEYSLOT", key).(int64)
	for _, s := range c.Status() {
		for _, r := range s.Slots {
			if int64(r.First) <= slot && slot <= int64(r.Last) {
				return s.Shard
			}
		}
	}
	tb.Fatalf("no node owns the key %q", key)
	return 0
}

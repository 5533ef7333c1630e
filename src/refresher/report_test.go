package refresher

import "testing"

// The log names the nodes that own slots now and did not before, or the other way round, and no slots that move.
func TestPrimariesThatChangeAreLogged(t *testing.T) {
	t.Parallel()
	a, b, c := newFakeNode(t), newFakeNode(t), newFakeNode(t)
	r := start(t, Options{Bootstrap: []string{a.addr, b.addr, c.addr}})
	epoch := 2
	serve := func(owners ...span) {
		epoch++
		for _, n := range []*fakeNode{a, b, c} {
			n.serveMap(epoch, owners...)
		}
		r.refresh()
	}
	first := span{0, 8191, []named{a.as("a")}}
	serve(first, span{8192, 16383, []named{b.as("b"), c.as("c")}})
	r.awaitMap()
	serve(span{0, 8192, []named{a.as("a")}}, span{8193, 16383, []named{b.as("b"), c.as("c")}})
	if n := r.log.count("primaries changed"); n != 0 {
		t.Errorf("%d lines for a slot that has moved:\n%s", n, r.log)
	}
	serve(first, span{8192, 16383, []named{c.as("c"), b.as("b")}})
	if n := r.log.count(`"primaries changed" new=` + c.addr + ` gone=` + b.addr); n != 1 {
		t.Errorf("%d lines for a failover, want 1:\n%s", n, r.log)
	}
	serve(first, span{8192, 12000, []named{c.as("c")}}, span{12001, 16383, []named{b.as("b")}})
	if n := r.log.count(`"primaries changed" new=` + b.addr + ` gone=""`); n != 1 {
		t.Errorf("%d lines for a new shard, want 1:\n%s", n, r.log)
	}
}

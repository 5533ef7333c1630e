package routing

import (
	"fmt"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_A11_AWriteIsSeenOnce writes what shows if it is done twice, on every shard and at
// every step of a slot's migration, when it meets redirects and scripts are asked about.
func TestCase_A11_AWriteIsSeenOnce(t *testing.T) {
	const moving = 300
	tag := tagOfSlot(moving)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		round := 0
		writes := func(tag string) {
			round++
			key := func(kind string) string { return fmt.Sprintf("{%s}%s%d", tag, kind, round) }
			do(t, c, "XADD", key("stream"), "*", "f", "v")
			do(t, c, "LPUSH", key("list"), "x")
			if n := do(t, c, "LLEN", key("list")); n != int64(1) {
				t.Errorf("LLEN of a key in {%s}: %v, want 1", tag, n)
			}
			if n := do(t, c, "XLEN", key("stream")); n != int64(1) {
				t.Errorf("XLEN of a key in {%s}: %v, want 1", tag, n)
			}
			for i, words := range [][]any{{"INCR", key("n")}, {"EVAL", increments, 1, key("n")}, {"EVALSHA", shaOf(increments), 1, key("n")}} {
				if n := do(t, c, words...); n != int64(i+1) {
					t.Errorf("%v of a key in {%s}: %v, want %d", words[0], tag, n, i+1)
				}
			}
		}
		for _, tag := range spread(12) {
			writes(tag)
		}
		fill(t, c, tagged(tag, 12))
		move := testbed.Move{Slot: moving, From: 0, To: 1, Batch: 8, Hook: func(testbed.MoveStep) error {
			writes(tag)
			return nil
		}}
		if err := e.Cluster.MoveSlotLegacy(t.Context(), move); err != nil {
			t.Error(err)
		}
		move.From, move.To = 1, 0
		if err := e.Cluster.MoveSlotLegacy(t.Context(), move); err != nil {
			t.Error(err)
		}
	})
}

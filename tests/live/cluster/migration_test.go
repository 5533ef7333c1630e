package cluster

import (
	"errors"
	"fmt"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// fill puts keys into the slots, so that a migration takes several batches.
func fill(t *testing.T, c *testbed.Conn, slots ...int) {
	t.Helper()
	for _, number := range slots {
		prefix := tag(number)
		for i := range 20 {
			harness.MustDo(t, c, "SET", fmt.Sprint(prefix, i), i)
		}
	}
}

// TestContract_REDIR1_MovesUnderLoad moves slots to another primary, and one back, while
// clients use them. They must not notice: no redirect reaches them, nothing is lost or
// doubled, and order is kept.
func TestContract_REDIR1_MovesUnderLoad(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		control := e.Proxy.Dial(t)
		fill(t, control, 100, 101)
		redirected := infoNumber(t, control, "redirections")
		load := startLoad(t, e.Proxy, 100, 101, 8000, 16000)
		err := func() error {
			for _, move := range []testbed.Move{{Slot: 100, From: 0, To: 1}, {Slot: 101, From: 0, To: 2}, {Slot: 100, From: 1, To: 0}} {
				move.Batch = 5
				move.Hook = func(step testbed.MoveStep) error {
					switch step {
					case testbed.MoveMigrating, testbed.MoveBatch, testbed.MoveEmptied, testbed.MoveTargetOwns, testbed.MoveSourceGaveUp:
						return load.await(2)
					}
					return nil
				}
				if err := e.Cluster.MoveSlotLegacy(t.Context(), move); err != nil {
					return err
				}
			}
			return load.await(2)
		}()
		if err := errors.Join(err, load.stop()); err != nil {
			t.Error(err)
		}
		if n := infoNumber(t, control, "redirections") - redirected; n < 100 {
			t.Errorf("the streams met %d redirects: this has tested nothing", n)
		}
		back := testbed.Move{Slot: 101, From: 2, To: 0}
		if err := e.Cluster.MoveSlotLegacy(t.Context(), back); err != nil {
			t.Error(err)
		}
	})
}

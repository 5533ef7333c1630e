package harness

import (
	"errors"
	"testing"

	"mithril/tools/testbed"
)

func TestMain(m *testing.M) { Main(m) }

// TestNoProxyOutlivesADisturbance: cells share a proxy until one of them has disturbed its
// cluster; the next one gets another, in front of a cluster that is whole.
func TestNoProxyOutlivesADisturbance(t *testing.T) {
	var last *Proxy
	cell := func(name string, same bool, act func(t *testing.T, e *Env) error) {
		t.Run(name, func(t *testing.T) {
			One(t, testbed.Valkey91, Epoll, func(t *testing.T, e *Env) {
				if (e.Proxy == last) != same {
					t.Errorf("the proxy is the last one: %t, want %t", !same, same)
				}
				last = e.Proxy
				if err := act(t, e); err != nil {
					t.Error(err)
				}
			})
		})
	}
	untouched := func(*testing.T, *Env) error { return nil }
	cell("first", false, untouched)
	for _, d := range []struct {
		name string
		act  func(t *testing.T, e *Env) error
	}{
		{"restarted", func(t *testing.T, e *Env) error { return e.Cluster.Restart(t.Context(), 3) }},
		{"killed", func(t *testing.T, e *Env) error {
			return errors.Join(e.Cluster.Kill(3), e.Cluster.Restart(t.Context(), 3))
		}},
		{"paused", func(t *testing.T, e *Env) error { return errors.Join(e.Cluster.Pause(4), e.Cluster.Resume(4)) }},
		{"moved", func(t *testing.T, e *Env) error { return e.Cluster.MoveSlotsAtomic(t.Context(), 0, 0, 0, 2) }},
		{"moved back", func(t *testing.T, e *Env) error {
			return e.Cluster.MoveSlotLegacy(t.Context(), testbed.Move{Slot: 0, From: 2, To: 0})
		}},
		{"failed over", func(t *testing.T, e *Env) error {
			_, err := e.Cluster.Failover(t.Context(), 1)
			return err
		}},
	} {
		cell(d.name, true, d.act)
		cell("after it was "+d.name, false, func(t *testing.T, e *Env) error {
			if err := e.Cluster.WaitOK(t.Context()); err != nil {
				return err
			}
			_, err := e.Proxy.Dial(t).Do("DBSIZE")
			return err
		})
	}
}

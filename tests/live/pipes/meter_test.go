package pipes

import (
	"fmt"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// unchanged is how long nothing must have happened before it counts as stopped.
const unchanged = 50 * time.Millisecond

// meter counts the requests that a proxy has taken from its clients, by its INFO. It takes into
// account that it asks itself.
type meter struct {
	conn *testbed.Conn
	base int
}

func newMeter(t *testing.T, p *harness.Proxy) *meter {
	t.Helper()
	m := &meter{conn: p.Dial(t)}
	m.base = infoNumber(t, m.conn, "total_commands_processed")
	return m
}

// taken is how many requests were taken since the meter began.
func (m *meter) taken(t *testing.T) int {
	t.Helper()
	m.base++
	return infoNumber(t, m.conn, "total_commands_processed") - m.base
}

// await waits until so many requests are taken.
func (m *meter) await(t *testing.T, want int) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "requests to be taken", func() error {
		if n := m.taken(t); n != want {
			return fmt.Errorf("%d are, want %d", n, want)
		}
		return nil
	})
}

// stays wants no other request to be taken.
func (m *meter) stays(t *testing.T, want int) {
	t.Helper()
	time.Sleep(unchanged)
	if n := m.taken(t); n != want {
		t.Errorf("%d requests are taken, want %d", n, want)
	}
}

// settles waits until no more requests are taken, and returns their number.
func (m *meter) settles(t *testing.T) int {
	t.Helper()
	for last := m.taken(t); ; {
		time.Sleep(unchanged)
		now := m.taken(t)
		if now == last {
			return now
		}
		last = now
	}
}

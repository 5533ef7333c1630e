package large

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// neighbours are sessions that set and get small values all the time and measure how long
// each takes.
type neighbours struct {
	stop  chan struct{}
	group sync.WaitGroup
	mu    sync.Mutex
	took  []time.Duration
	ended atomic.Bool
}

// pause is how long a neighbour rests between two requests, so that the machine is not
// busy with them alone.
const pause = time.Millisecond

func startNeighbours(t *testing.T, p *harness.Proxy, count int) *neighbours {
	t.Helper()
	n := &neighbours{stop: make(chan struct{})}
	for i := range count {
		c := p.Dial(t)
		n.group.Add(1)
		go n.ask(t, c, i)
	}
	t.Cleanup(n.end)
	return n
}

func (n *neighbours) ask(t *testing.T, c *testbed.Conn, i int) {
	defer n.group.Done()
	for round := 0; ; round++ {
		select {
		case <-n.stop:
			return
		case <-time.After(pause):
		}
		key, value := fmt.Sprintf("neighbour:%d:%d", i, round%50), fmt.Sprint(i, ":", round)
		start := time.Now()
		_, err := c.Do("SET", key, value)
		if err == nil {
			var got any
			got, err = c.Do("GET", key)
			if err == nil && fmt.Sprintf("%s", got) != value {
				err = fmt.Errorf("GET answered %q, want %q", got, value)
			}
		}
		if err != nil {
			t.Errorf("neighbour %d: %v", i, err)
			return
		}
		n.note(time.Since(start) / 2)
	}
}

func (n *neighbours) note(d time.Duration) {
	n.mu.Lock()
	n.took = append(n.took, d)
	n.mu.Unlock()
}

// take returns how long requests have taken since the last call, sorted.
func (n *neighbours) take() latencies {
	n.mu.Lock()
	defer n.mu.Unlock()
	took := n.took
	n.took = nil
	slices.Sort(took)
	return took
}

func (n *neighbours) end() {
	if !n.ended.Swap(true) {
		close(n.stop)
		n.group.Wait()
	}
}

type latencies []time.Duration

func (l latencies) at(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(share*float64(len(l))))]
}

func (l latencies) String() string {
	return fmt.Sprintf("%d requests, p50 %v, p99 %v, most %v", len(l), l.at(0.5), l.at(0.99), l.at(1))
}

package pipes

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_I08_NodeIsFull: a node takes no more connections: it says so unasked and hangs up. That is
// no reply to anybody. Requests to it fail with an error that says why, those to others do not,
// the node is not dialled all the time, and is used again when it has room.
func TestCase_I08_NodeIsFull(t *testing.T) {
	const (
		clients  = 24
		observed = time.Second
	)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		full, err := e.Cluster.Primary(0)
		if err != nil {
			t.Fatal(err)
		}
		control := testbed.MustDial(t, full.Addr())
		var stopping atomic.Bool
		var running sync.WaitGroup
		var refused, served atomic.Int64
		for i := range clients {
			c := e.Proxy.Dial(t)
			running.Go(func() { askAll(t, c, i, &stopping, &refused, &served) })
		}
		end := func() { stopping.Store(true); running.Wait() }
		defer end()
		awaitMore(t, "clients to be served", &served)

		allowed := harness.MustDo(t, control, "CONFIG", "GET", "maxclients").([]any)[1]
		harness.MustDo(t, control, "CONFIG", "SET", "maxclients", 1)
		restore := func() { harness.MustDo(t, control, "CONFIG", "SET", "maxclients", allowed) }
		defer restore()
		harness.MustDo(t, control, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		awaitMore(t, "requests to be refused", &refused)
		awaitMore(t, "others to be served meanwhile", &served)
		turnedAway := infoNumber(t, control, "rejected_connections")
		time.Sleep(observed)
		// 20 ms, doubling to a second, for each worker and protocol; and the map is asked for.
		if n := infoNumber(t, control, "rejected_connections") - turnedAway; n > 20*e.Layout.Workers {
			t.Errorf("the node was dialled %d times in %v", n, observed)
		}

		restore()
		c := e.Proxy.Dial(t)
		harness.Eventually(t, harness.Patience, "the node to be used again", func() error {
			_, err := c.Do("GET", tag(slotOfShard[0]))
			return err
		})
		end()
		if n := connectionsTo(t, control, e.Proxy); n > e.Layout.Workers || n == 0 || e.Layout.Sharding == "yes" && n != 1 {
			t.Errorf("%d connections to the node with the layout %v", n, e.Layout)
		}
	})
}

// askAll sets and gets keys of all shards until it is told to stop. Every reply is its own value, or
// an error of the proxy that names the node.
func askAll(t *testing.T, c *testbed.Conn, client int, stopping *atomic.Bool, refused, served *atomic.Int64) {
	for round := 0; !stopping.Load(); round++ {
		var want []string
		for _, number := range slotOfShard {
			key, value := fmt.Sprint(tag(number), "client ", client), fmt.Sprintf("%d of client %d", round, client)
			c.Send("SET", key, value)
			c.Send("GET", key)
			want = append(want, "OK", value)
		}
		if err := c.Flush(); err != nil {
			t.Errorf("client %d: %v", client, err)
			return
		}
		for i := range want {
			got, err := c.Receive()
			reason, isError := got.(testbed.Error)
			switch {
			case err == nil && got == want[i]:
				served.Add(1)
			case err == nil && isError && i < 2 && isUnreachable(string(reason)):
				refused.Add(1)
			case err == nil && i == 1 && refused.Load() > 0 && strings.HasSuffix(fmt.Sprint(got), fmt.Sprint(" of client ", client)):
				// an older value, if the SET was refused and the GET was not
			default:
				t.Errorf("client %d, round %d, reply %d: %v, %v, want %s", client, round, i, got, err, want[i])
				return
			}
		}
	}
}

// isUnreachable says that an error of the proxy tells of a node that takes no connection, or of the
// connection that was closed when this began.
func isUnreachable(text string) bool {
	return strings.HasPrefix(text, "TRYAGAIN node ") && strings.Contains(text, " cannot be reached (") ||
		strings.HasPrefix(text, "ERR connection to node ") && strings.HasSuffix(text, "the outcome of the command is unknown")
}

// awaitMore waits until a count grows by some.
func awaitMore(t *testing.T, what string, count *atomic.Int64) {
	t.Helper()
	goal := count.Load() + 100
	harness.Eventually(t, harness.Patience, what, func() error {
		if n := count.Load(); n < goal {
			return fmt.Errorf("%d, want %d", n, goal)
		}
		return nil
	})
}

package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mithril/src/slot"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// fooSlot is the slot of the key foo.
const fooSlot = 12182

// hopsMax is how many redirects of one request are followed: max-redirects.
const hopsMax = 7

// A node that always says MOVED and names itself ends neither in a loop nor in a redirect
// for the client. Such an answer makes the proxy dial anew: perhaps another process has
// the address now.
func TestContract_REDIR1_MovedToItself(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node := newFake(t)
		p := harness.StartAt(t, engine, node.addr)
		c := p.Dial(t)
		await(t, c, nil, "GET", "foo")
		node.script(func([]any) string { return fmt.Sprintf("-MOVED %d %s\r\n", fooSlot, node.addr) })
		before, conns := node.times("GET"), node.servedConns()
		reply, err := c.Do("GET", "foo")
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("TRYAGAIN slot %d ", fooSlot)) {
			t.Errorf("GET: %v, %v, want TRYAGAIN", reply, err)
		}
		if n := node.times("GET") - before; n != 1+hopsMax {
			t.Errorf("the node was asked %d times, want %d", n, 1+hopsMax)
		}
		if n := node.servedConns() - conns; n < 1 || n > hopsMax {
			t.Errorf("%d new connections served the request, want 1 to %d", n, hopsMax)
		}
		// It recovers by itself.
		node.script(func([]any) string { return "+well\r\n" })
		if got := harness.MustDo(t, c, "GET", "foo"); got != "well" {
			t.Errorf("afterwards: %v", got)
		}
	})
}

// After MOVED the slot leads to the node that was named, at once and although the map
// still says otherwise. After ASK it does not.
func TestContract_REDIR1_MovedChangesTheRoute(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node, other := newFake(t), newFake(t)
		other.script(func([]any) string { return "+other\r\n" })
		p := harness.StartAt(t, engine, node.addr)
		c := p.Dial(t)
		await(t, c, nil, "GET", "foo")
		for _, kind := range []string{"ASK", "MOVED"} {
			const tries = 10
			node.script(func([]any) string { return fmt.Sprintf("-%s %d %s\r\n", kind, fooSlot, other.addr) })
			before := node.times("GET")
			for range tries {
				if got := harness.MustDo(t, c, "GET", "foo"); got != "other" {
					t.Errorf("GET: %v", got)
				}
			}
			want := map[string]int{"ASK": tries, "MOVED": 1}[kind]
			if n := node.times("GET") - before; n != want {
				t.Errorf("after %s the old node was asked %d times, want %d", kind, n, want)
			}
		}
	})
}

// A few redirects in a row are followed for a client that waits for its reply. With later
// requests in flight the second redirect ends in TRYAGAIN, since they could overtake it.
func TestContract_REDIR1_SecondRedirect(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node, other := newFake(t), newFake(t)
		p := harness.StartAt(t, engine, node.addr)
		c := p.Dial(t)
		await(t, c, nil, "GET", "foo")
		bounce := func() {
			left := 3
			toOther := fmt.Sprintf("-MOVED %d %s\r\n", fooSlot, other.addr)
			node.script(func([]any) string { return toOther })
			other.script(func(args []any) string {
				if left--; left >= 0 {
					return fmt.Sprintf("-ASK %d %s\r\n", fooSlot, other.addr)
				}
				return fmt.Sprintf("+%s\r\n", args[1])
			})
		}
		bounce()
		if got := harness.MustDo(t, c, "GET", "foo"); got != "foo" {
			t.Errorf("GET: %v", got)
		}
		if n := other.times("ASKING"); n != 3 {
			t.Errorf("ASKING was sent %d times, want 3", n)
		}
		bounce()
		replies, err := c.Pipeline([]any{"GET", "foo"}, []any{"GET", "{foo}2"})
		if err != nil {
			t.Fatal(err)
		}
		for i, reply := range replies {
			if e, ok := reply.(testbed.Error); ok && !strings.HasPrefix(string(e), "TRYAGAIN ") {
				t.Errorf("reply %d: %v", i, reply)
			}
		}
		if _, ok := replies[0].(testbed.Error); !ok {
			t.Errorf("the first of two requests in flight follows a second redirect: %v", replies)
		}
	})
}

// A redirect that cannot be read ends in an error, and nothing is dialed.
func TestContract_REDIR1_MalformedRedirect(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node, bystander := newFake(t), newFake(t)
		p := harness.StartAt(t, engine, node.addr)
		c := p.Dial(t)
		await(t, c, nil, "GET", "foo")
		for _, redirect := range []string{
			"MOVED", "ASK", "MOVED ", "MOVED 12182", "MOVED x " + bystander.addr, "MOVED 16384 " + bystander.addr, "MOVED -1 " + bystander.addr,
			"MOVED 12182 127.0.0.1", "MOVED 12182 127.0.0.1:", "MOVED 12182 127.0.0.1:0", "MOVED 12182 127.0.0.1:70000",
			"MOVED 12182 127.0.0.1:x", "MOVED 12182  " + bystander.addr, "ASK 12182 " + bystander.addr + "x", "ASK 12182 no host:1",
		} {
			node.script(func([]any) string { return "-" + redirect + "\r\n" })
			reply, err := c.Do("GET", "foo")
			if want := testbed.Error("ERR node " + node.addr + " sent a malformed redirect"); err != want {
				t.Errorf("%q: %v, %v, want %q", redirect, reply, err, want)
			}
		}
		if n := bystander.servedConns(); n != 0 {
			t.Errorf("%d connections were made", n)
		}
		node.script(func([]any) string { return "-MOVED 12182 no-such-name.invalid:7000\r\n" })
		if reply, err := c.Do("GET", "foo"); err == nil || !strings.HasPrefix(err.Error(), "TRYAGAIN ") {
			t.Errorf("a redirect to a name that nobody knows: %v, %v", reply, err)
		}
	})
}

// A redirect without a host means the host of the node that answers.
func TestContract_REDIR1_RedirectWithoutHost(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		node, other := newFake(t), newFake(t)
		other.script(func([]any) string { return "+there\r\n" })
		p := harness.StartAt(t, engine, node.addr)
		c := p.Dial(t)
		await(t, c, nil, "GET", "foo")
		for _, host := range []string{"", "?", "127.0.0.1", "[127.0.0.1]"} {
			for _, kind := range []string{"ASK", "MOVED"} {
				node.script(func([]any) string { return fmt.Sprintf("-%s %d %s:%d\r\n", kind, fooSlot, host, other.port) })
				if got := harness.MustDo(t, c, "GET", "foo"); got != "there" {
					t.Errorf("%s with the host %q: %v", kind, host, got)
				}
			}
		}
	})
}

// TestContract_REDIR1_Ask stops a migration half-way: the importing node has the slot's
// keys and the map is as before. That must neither change the route nor make the proxy ask
// for the map all the time.
func TestContract_REDIR1_Ask(t *testing.T) {
	const number = 200
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		moved, stays := tag(number)+"moved", tag(number)+"stays"
		harness.MustDo(t, c, "MSET", moved, "1", stays, "2", tag(number+1), "3")
		half := testbed.Move{Slot: number, From: 0, To: 1, Batch: 1}
		half.Hook = func(step testbed.MoveStep) error {
			if step != testbed.MoveEmptied {
				return nil
			}
			before, began := mapRequests(t, e.Cluster), time.Now()
			for time.Since(began) < 300*time.Millisecond {
				for key, want := range map[string]string{moved: "1", stays: "2", tag(number + 1): "3"} {
					if got := harness.MustDo(t, c, "GET", key); got != want {
						t.Errorf("GET %s: %v, want %s", key, got, want)
					}
				}
				harness.MustDo(t, c, "SET", tag(number)+"new", "4")
			}
			// Debounced by 100 ms; each refresh may ask several nodes.
			if n := mapRequests(t, e.Cluster) - before; n > 6*len(e.Cluster.Nodes()) {
				t.Errorf("the map was asked for %d times in %v", n, time.Since(began))
			}
			return nil
		}
		if err := e.Cluster.MoveSlotLegacy(t.Context(), half); err != nil {
			t.Fatal(err)
		}
		half.Hook, half.From, half.To = nil, 1, 0
		if err := e.Cluster.MoveSlotLegacy(t.Context(), half); err != nil {
			t.Fatal(err)
		}
		if got := harness.MustDo(t, c, "MGET", moved, stays, tag(number)+"new"); fmt.Sprint(got) != "[1 2 4]" {
			t.Errorf("at the end: %v", got)
		}
	})
}

// mapRequests counts what nodes were asked for the map, by their own counters.
func mapRequests(t *testing.T, cluster *testbed.Cluster) (n int) {
	t.Helper()
	for _, node := range cluster.Nodes() {
		c, err := node.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for line := range strings.Lines(harness.MustDo(t, c, "INFO", "commandstats").(string)) {
			if after, found := strings.CutPrefix(line, "cmdstat_cluster|slots:calls="); found {
				var calls int
				fmt.Sscan(after, &calls)
				n += calls
			}
		}
	}
	return n
}

func TestFooSlot(t *testing.T) {
	if got := slot.Of([]byte("foo")); got != fooSlot {
		t.Errorf("slot of foo is %d", got)
	}
}

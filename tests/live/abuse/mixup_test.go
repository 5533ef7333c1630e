package abuse

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

const (
	// busyLimit is the proxy's backend-timeout-ms while scripts keep nodes busy, and
	// busyTime for how long each does.
	busyLimit = 200 * time.Millisecond
	busyTime  = 600 * time.Millisecond

	busyScript = "local t = os.clock(); while os.clock() - t < %f do end; return 'the script of %d'"
)

// TestCase_C01_RepliesReachTheirClient: a script keeps a node busy for longer than the
// proxy waits for a reply. Its client gets one error. The others get what is theirs, or an
// error as well if they have asked the same node, and never a part of another's reply:
// all values say whose they are.
func TestCase_C01_RepliesReachTheirClient(t *testing.T) {
	const clients = 12
	scripts := harness.Size(4, 200)
	args := []string{"--backend-timeout-ms", fmt.Sprint(busyLimit.Milliseconds())}
	eachEngine(t, args, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		var stop atomic.Bool
		var running sync.WaitGroup
		var owners []*owner
		for i := range clients {
			o := &owner{conn: p.Dial(t), name: fmt.Sprintf("client %d", i), depth: 1 + i%4*10}
			o.conn.SetTimeout(3 * patience) // a busy node answers no greeting either
			owners = append(owners, o)
			running.Go(func() { o.run(t, &stop) })
		}
		c := p.Dial(t)
		for i := range scripts {
			keepBusy(t, c, i)
		}
		stop.Store(true)
		running.Wait()
		served, lost := 0, 0
		for _, o := range owners {
			if o.served == 0 {
				t.Errorf("%s was never served", o.name)
			}
			served, lost = served+o.served, lost+o.lost
		}
		if lost == 0 {
			t.Error("no request was lost with a busy node's connection: the scripts have not met the others")
		}
		t.Logf("%d replies were compared, %d requests lost with a connection", served, lost)
	})
}

// keepBusy runs a script that takes too long, at one node after the other.
func keepBusy(t *testing.T, c *testbed.Conn, number int) {
	t.Helper()
	c.SetTimeout(3 * patience)
	c.Send("EVAL", fmt.Sprintf(busyScript, busyTime.Seconds(), number), 1, fmt.Sprint("script", number))
	c.Send("ECHO", fmt.Sprint("behind ", number))
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := c.Receive()
	if reply, ok := got.(testbed.Error); err != nil || !ok || !isLost(reply) {
		t.Errorf("script %d: %v, %v, want an error for want of a reply", number, got, err)
	}
	if got, err := c.Receive(); err != nil || got != fmt.Sprint("behind ", number) {
		t.Errorf("behind script %d: %v, %v", number, got, err)
	}
	for range 2 { // until the node is well again, so that the next one meets all the others
		time.Sleep(busyTime)
	}
}

// isLost says that a reply tells of a node that does not answer.
func isLost(reply testbed.Error) bool {
	lost := func(beginning string) bool { return strings.HasPrefix(string(reply), beginning) }
	return lost("ERR connection to node ") || lost("TRYAGAIN node ") || lost("ERR node ") && strings.Contains(string(reply), " cannot be reached ")
}

// owner is a client whose values carry its name.
type owner struct {
	conn  *testbed.Conn
	name  string
	depth int // rounds asked at once

	round, served, lost int
}

const ownerKeys = 20

func (o *owner) key(i int) string { return fmt.Sprintf("%s/%d", o.name, i%ownerKeys) }

// value is what a key has in a round: it says so, and its length is its own.
func (o *owner) value(i, round int) string {
	return fmt.Sprintf("%s round %d %s", o.key(i), round, long(round*7919%5000))
}

func (o *owner) run(t *testing.T, stop *atomic.Bool) {
	for !stop.Load() && !t.Failed() {
		if err := o.step(); err != nil {
			t.Errorf("%s, round %d: %v", o.name, o.round, err)
		}
	}
}

// step asks some rounds of requests at once and looks at every reply.
func (o *owner) step() error {
	first := o.round
	for range o.depth {
		i := o.round
		o.conn.Send("SET", o.key(i), o.value(i, i))
		o.conn.Send("ECHO", o.value(i, i))
		o.conn.Send("GET", o.key(i+1))
		o.conn.Send("MGET", o.key(i+2), o.key(i+3), o.key(i+4))
		o.round++
	}
	if err := o.conn.Flush(); err != nil {
		return err
	}
	for i := first; i < o.round; i++ {
		err := o.expect("SET", func(reply any) bool { return reply == "OK" })
		if err == nil {
			err = o.expect("ECHO", func(reply any) bool { return reply == o.value(i, i) })
		}
		if err == nil {
			err = o.expect("GET", func(reply any) bool { return o.mine(reply, i+1) })
		}
		if err == nil {
			err = o.expect("MGET", func(reply any) bool {
				list, ok := reply.([]any)
				return ok && len(list) == 3 && o.mine(list[0], i+2) && o.mine(list[1], i+3) && o.mine(list[2], i+4)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mine says that a reply is one of the values that key i has had. Which one, a lost
// SET leaves open.
func (o *owner) mine(reply any, i int) bool {
	if reply == nil {
		return i < 2*ownerKeys || o.lost > 0
	}
	text, ok := reply.(string)
	var round int
	if !ok || !strings.HasPrefix(text, o.key(i)+" round ") {
		return false
	}
	if _, err := fmt.Sscanf(text[len(o.key(i)):], " round %d ", &round); err != nil || round >= o.round || round%ownerKeys != i%ownerKeys {
		return false
	}
	return text == o.value(i, round)
}

func (o *owner) expect(what string, right func(reply any) bool) error {
	reply, err := o.conn.Receive()
	if err != nil {
		return err
	}
	if e, ok := reply.(testbed.Error); ok && isLost(e) {
		o.lost++
		return nil
	}
	if !right(reply) {
		return fmt.Errorf("%s: %.200v", what, reply)
	}
	o.served++
	return nil
}

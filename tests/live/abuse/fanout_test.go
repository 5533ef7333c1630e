package abuse

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const (
	splitKeys  = 10
	splitDepth = 20 // requests of one write
)

// splits writes MSETs and MGETs of keys in as many slots, right and wrong ones, and
// compares the replies.
type splits struct {
	conn  *testbed.Conn
	count int
}

// next is the next request with its reply.
func (s *splits) next() (request []any, want any) {
	i := s.count
	s.count++
	name, value := "MGET", fmt.Sprint("value ", i-i%2, long(i%4*50))
	if i%2 == 0 {
		name, value = "MSET", fmt.Sprint("value ", i, long((i+1)%4*50))
	}
	request = []any{name}
	var values []any
	for k := range splitKeys {
		request = append(request, fmt.Sprint("split ", k))
		if name == "MSET" {
			request = append(request, value)
		}
		values = append(values, value)
	}
	switch {
	case i%20 == 18:
		return request[:len(request)-1], testbed.Error("ERR wrong number of arguments for 'mset' command")
	case i%40 == 19: // in place of the MGET behind a MSET that was refused
		return []any{"MGET", "split list", "split none"}, []any{nil, nil}
	case i%40 == 39: // a part fails
		return []any{"PFCOUNT", "split none", "split list"}, testbed.Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	case name == "MSET":
		return request, "OK"
	}
	return request, values
}

// run asks n requests, and now and then has a client ask the same and leave.
func (s *splits) run(t *testing.T, p *harness.Proxy, n int) {
	t.Helper()
	for end := s.count + n; s.count < end; {
		var requests [][]any
		var want []any
		for range splitDepth {
			request, reply := s.next()
			requests, want = append(requests, request), append(want, reply)
		}
		got, err := s.conn.Pipeline(requests...)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("request %d and before: %.300v, %v, want %.300v", s.count, got, err, want)
		}
		if s.count%(10*splitDepth) == 0 {
			if err := askAndLeave(p, s.count); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// askAndLeave has a client leave before its replies are in: at once, or by a reset.
func askAndLeave(p *harness.Proxy, i int) error {
	c, err := net.Dial("tcp4", p.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	mget, mset := []any{"MGET"}, []any{"MSET"}
	for k := range splitKeys {
		mget, mset = append(mget, fmt.Sprint("left ", k)), append(mset, fmt.Sprint("left ", k), long(1000))
	}
	_, err = c.Write(append(repeat(splitDepth, mset...), repeat(splitDepth, mget...)...))
	if i%3 == 0 {
		err = errors.Join(err, c.(*net.TCPConn).SetLinger(0))
	}
	return err
}

// TestCase_L03_SplitsLeaveNothing: requests in parts, wrong ones and such whose client
// leaves among them, take no memory that lasts.
func TestCase_L03_SplitsLeaveNothing(t *testing.T) {
	requests := harness.Size(30_000, 20_000_000/len(harness.Layouts))
	// What each visit leaves in the heap is collected when that has grown to 16 MB.
	grownMost := int64(harness.Size(2*mb, 24*mb))
	harness.EachProxy(t, harness.Options{}, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		s := &splits{conn: p.Dial(t)}
		mustDo(t, s.conn, "RPUSH", "split list", "of the wrong type")
		s.run(t, p, requests/3)
		awaitClients(t, p, 1)
		before := p.RSS()
		s.run(t, p, requests-requests/3)
		awaitClients(t, p, 1)
		awaitMemory(t, p, before, grownMost)
	})
}

// awaitClients waits until the proxy has no more than n clients.
func awaitClients(t *testing.T, p *harness.Proxy, n int) {
	t.Helper()
	harness.Eventually(t, patience, "clients that have left to be closed", func() error {
		if have := p.Clients(); have > n {
			return fmt.Errorf("there are %d", have)
		}
		return nil
	})
}

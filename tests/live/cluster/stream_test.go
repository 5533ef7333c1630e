package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// stream is a client that reads and writes keys of some slots without end and knows every
// reply beforehand: nobody else uses its keys. So a reply that is an error, out of order,
// lost or doubled is seen at once.
type stream struct {
	name  string
	conn  *testbed.Conn
	keys  []string // one per slot
	depth int      // rounds in flight
	count int64    // increments of each key's counter so far

	rounds atomic.Int64 // that have been answered
}

// round is one round of requests with their replies: per key a SET, a GET and an INCR,
// and an MGET and an MSET over all keys.
func (s *stream) round() (requests [][]any, want []any) {
	s.count++
	value := fmt.Sprint(s.name, s.count)
	mget, mset := []any{"MGET"}, []any{"MSET"}
	var values []any
	for _, key := range s.keys {
		requests = append(requests, []any{"SET", key, value}, []any{"GET", key}, []any{"INCR", key + "n"})
		want = append(want, "OK", value, s.count)
		mget, mset, values = append(mget, key), append(mset, key+"m", value), append(values, value)
	}
	return append(requests, mget, mset), append(want, values, "OK")
}

// step asks and checks depth rounds: all at once, or one request after the other when
// depth is 0.
func (s *stream) step() error {
	var requests [][]any
	var want []any
	for range max(s.depth, 1) {
		r, w := s.round()
		requests, want = append(requests, r...), append(want, w...)
	}
	var got []any
	var err error
	if s.depth > 0 {
		got, err = s.conn.Pipeline(requests...)
	} else {
		got, err = s.oneByOne(requests)
	}
	if err != nil {
		return err
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Errorf("round %d, %v: %#v, want %#v", s.rounds.Load(), requests[i], got[i], want[i])
		}
	}
	s.rounds.Add(int64(max(s.depth, 1)))
	return nil
}

func (s *stream) oneByOne(requests [][]any) (replies []any, err error) {
	for _, request := range requests {
		reply, err := s.conn.Do(request...)
		var e testbed.Error
		if errors.As(err, &e) {
			reply = e
		} else if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// load is several streams at once.
type load struct {
	streams  []*stream
	stopping chan struct{}
	running  sync.WaitGroup
	mu       sync.Mutex // guards err
	err      error
}

// startLoad streams over the slots in both protocols, request by request and pipelined.
func startLoad(t *testing.T, p *harness.Proxy, slots ...int) *load {
	t.Helper()
	l := &load{stopping: make(chan struct{})}
	for _, proto := range []int{2, 3} {
		for _, depth := range []int{0, 4} {
			s := &stream{name: fmt.Sprintf("RESP%d/depth%d/", proto, depth), conn: p.DialProto(t, proto), depth: depth}
			for _, number := range slots {
				key := tag(number) + s.name
				s.keys = append(s.keys, key)
				harness.MustDo(t, s.conn, "DEL", key+"n") // of an earlier load
			}
			l.streams = append(l.streams, s)
			l.running.Go(func() { l.run(s) })
		}
	}
	return l
}

func (l *load) run(s *stream) {
	for {
		select {
		case <-l.stopping:
			return
		default:
		}
		if err := s.step(); err != nil {
			l.mu.Lock()
			l.err = errors.Join(l.err, fmt.Errorf("%s: %w", s.name, err))
			l.mu.Unlock()
			return
		}
	}
}

func (l *load) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// stop ends the streams and returns what went wrong.
func (l *load) stop() error {
	close(l.stopping)
	l.running.Wait()
	return l.failed()
}

// await waits until every stream has got on by some rounds. It returns early when one has
// failed.
func (l *load) await(rounds int64) error {
	deadline := time.Now().Add(harness.Patience)
	for _, s := range l.streams {
		for goal := s.rounds.Load() + rounds; s.rounds.Load() < goal; time.Sleep(time.Millisecond) {
			if err := l.failed(); err != nil {
				return err
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s is stuck in round %d", s.name, s.rounds.Load()+1)
			}
		}
	}
	return nil
}

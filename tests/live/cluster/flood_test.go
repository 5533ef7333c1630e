package cluster

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const (
	floodKeys  = 1000
	floodBatch = 1000 // requests of one write

	// floodPause is for how long nothing must have been written before a writer counts as
	// held back.
	floodPause = 500 * time.Millisecond
)

// flood is a client that writes SETs without reading. Each reply tells what the key had
// before, so every one of them is checked for order.
type flood struct {
	conn    *testbed.Conn
	total   int
	written atomic.Int64
	done    chan error // has the outcome of write
}

func startFlood(t *testing.T, p *harness.Proxy, total int) *flood {
	t.Helper()
	f := &flood{conn: p.Dial(t), total: total, done: make(chan error, 1)}
	f.conn.SetTimeout(10 * time.Minute)
	go func() { f.done <- f.write() }()
	return f
}

func (f *flood) write() error {
	for i := range f.total {
		f.conn.Send("SET", fmt.Sprint("k", i%floodKeys), i, "GET")
		if (i+1)%floodBatch == 0 {
			if err := f.conn.Flush(); err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
			f.written.Store(int64(i + 1))
		}
	}
	return f.conn.Flush()
}

// awaitHeldBack waits until the proxy takes no more.
func (f *flood) awaitHeldBack(t *testing.T) {
	t.Helper()
	for last := int64(-1); ; time.Sleep(floodPause) {
		now := f.written.Load()
		if now == last {
			return
		}
		if now == int64(f.total) {
			t.Fatal("the proxy has taken everything")
		}
		last = now
	}
}

// read reads all replies.
func (f *flood) read(t *testing.T) {
	t.Helper()
	f.conn.SetTimeout(harness.Patience)
	for i := range f.total {
		var want any
		if i >= floodKeys {
			want = fmt.Sprint(i - floodKeys)
		}
		if got, err := f.conn.Receive(); err != nil || got != want {
			t.Fatalf("reply %d: %v, %v, want %v", i, got, err, want)
		}
	}
	if err := <-f.done; err != nil {
		t.Fatal(err)
	}
}

// TestCase_C06_PipeWithoutReading writes millions of SETs and only then reads, as
// redis-cli --pipe does. What the proxy holds meanwhile is the replies.
func TestCase_C06_PipeWithoutReading(t *testing.T) {
	total := harness.Size(1_000_000, 5_000_000)
	flooded(t, nil, func(t *testing.T, p *harness.Proxy) (bytesMost int64) {
		f := startFlood(t, p, total)
		if err := <-f.done; err != nil {
			t.Fatal(err)
		}
		f.done <- nil
		f.read(t)
		const replyBytes = 16
		return 64<<20 + int64(total)*replyBytes
	})
}

// TestCase_C06_BackPressure is the same with little room for replies: the writer is held
// back, nobody else is, and all goes on when it reads.
func TestCase_C06_BackPressure(t *testing.T) {
	const soft = 1 << 20
	total := harness.Size(1_000_000, 5_000_000)
	args := []string{"--client-output-buffer-limit", "normal", "1gb", fmt.Sprint(soft), "3600"}
	flooded(t, args, func(t *testing.T, p *harness.Proxy) (bytesMost int64) {
		f := startFlood(t, p, total)
		f.awaitHeldBack(t)
		other := p.Dial(t)
		for i := range 100 {
			if got := harness.MustDo(t, other, "SET", "other", i); got != "OK" {
				t.Fatalf("another client's SET: %v", got)
			}
		}
		f.read(t)
		return 64 << 20
	})
}

// flooded runs a test with a proxy of its own, whose growth it bounds.
func flooded(t *testing.T, args []string, test func(t *testing.T, p *harness.Proxy) (bytesMost int64)) {
	t.Helper()
	for _, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) {
			harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
				p := e.Start(t, harness.Options{Args: args})
				before := p.RSS()
				most := test(t, p)
				grown := p.PeakRSS() - before
				if grown > most {
					t.Errorf("the proxy grew by %d MiB, want %d at most", grown>>20, most>>20)
				}
				t.Logf("the proxy grew by %d MiB", grown>>20)
				harness.Eventually(t, time.Minute, "the memory to be given back", func() error {
					// What the heap may keep to spare is in it.
					if kept := p.RSS() - before; kept > 48<<20 {
						return fmt.Errorf("%d MiB more", kept>>20)
					}
					return nil
				})
			})
		})
	}
}

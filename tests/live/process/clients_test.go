package process

import (
	"io"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const tooManyClients = "-ERR max number of clients reached\r\n"

func TestMaxClients(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := alone(t, engine, "--maxclients", "3")
		if err := p.AwaitNoClients(); err != nil {
			t.Fatal(err)
		}
		var served []*testbed.Conn
		for range 3 {
			c := p.Dial(t)
			harness.MustDo(t, c, "PING")
			served = append(served, c)
		}
		for range 50 {
			if got := readAll(t, p.Addr, ""); got != tooManyClients {
				t.Fatalf("a client too many gets %q", got)
			}
		}
		for _, c := range served {
			harness.MustDo(t, c, "PING")
		}
		served[0].Close()
		awaitService(t, p)
	})
}

// awaitService waits until a new client is served.
func awaitService(t *testing.T, p *harness.Proxy) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "a new client to be served", func() error {
		c, err := testbed.Dial(p.Addr)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Do("PING")
		return err
	})
}

// TestIdleClientsAreCheap uses the shipped build: the checked one keeps more.
func TestIdleClientsAreCheap(t *testing.T) {
	const (
		clients   = 5000
		bytesMost = 40 << 20
	)
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := harness.Start(t, harness.Options{Engine: engine, NoWait: true, Args: []string{"--bootstrap", nowhere(t)}})
		harness.MustDo(t, p.Dial(t), "PING")
		before := p.RSS()
		for range clients {
			harness.MustDo(t, p.Dial(t), "PING")
		}
		if grown := p.RSS() - before; grown > bytesMost {
			t.Errorf("%d idle clients take %d KiB, want %d at most", clients, grown>>10, bytesMost>>10)
		} else {
			t.Logf("%d idle clients take %d KiB", clients, grown>>10)
		}
	})
}

func TestIdleClientIsClosed(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := alone(t, engine, "--timeout", "1")
		idle, busy := p.Dial(t), p.Dial(t)
		harness.MustDo(t, idle, "PING")
		began := time.Now()
		if err := idle.NetConn().SetReadDeadline(began.Add(harness.Patience)); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() {
			_, err := idle.NetConn().Read(make([]byte, 1))
			closed <- err
		}()
		for {
			harness.MustDo(t, busy, "PING")
			select {
			case err := <-closed:
				if took := time.Since(began); err != io.EOF || took < time.Second {
					t.Errorf("after %v: %v, want the connection to be closed after a second", took, err)
				}
				harness.MustDo(t, busy, "PING")
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
}

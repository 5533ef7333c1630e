package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func signal(t *testing.T, p *harness.Proxy, s os.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// awaitRefusal waits until the proxy accepts no more clients.
func awaitRefusal(t *testing.T, p *harness.Proxy) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "connections to be refused", func() error {
		c, err := testbed.Dial(p.Addr)
		if err == nil {
			c.Close()
			return errors.New("one was accepted")
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		return nil
	})
}

// wantExit waits for the end of the process and its status 0, and returns how long that
// took.
func wantExit(t *testing.T, p *harness.Proxy) time.Duration {
	t.Helper()
	began := time.Now()
	if status, err := p.AwaitExit(harness.Patience); err != nil || status != 0 {
		t.Fatalf("exit status %d, %v, want 0", status, err)
	}
	return time.Since(began)
}

func TestContract_CONF4_OpenSessionsAreServed(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--shutdown-timeout-secs", "60"}})
		first, second := p.Dial(t), p.Dial(t)
		harness.MustDo(t, first, "SET", "a", "1")
		signal(t, p, syscall.SIGTERM)
		awaitRefusal(t, p)
		if got := harness.MustDo(t, first, "MGET", "a", "b", "c"); fmt.Sprint(got) != "[1 <nil> <nil>]" {
			t.Errorf("MGET while shutting down: %v", got)
		}
		harness.MustDo(t, second, "SET", "b", "2")
		first.Close()
		if got := harness.MustDo(t, second, "GET", "b"); got != "2" {
			t.Errorf("GET while shutting down: %v", got)
		}
		second.Close()
		wantExit(t, p)
		if n := p.LinesWith(`msg="ending sessions"`); n != 0 {
			t.Errorf("sessions were ended:\n%s", p.Log())
		}
	})
}

func TestContract_CONF4_TimeoutEndsSessions(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := alone(t, engine, "--shutdown-timeout-secs", "1")
		c := p.Dial(t)
		harness.MustDo(t, c, "PING")
		signal(t, p, syscall.SIGINT)
		if took := wantExit(t, p); took < 900*time.Millisecond || took > 5*time.Second {
			t.Errorf("ended %v after the signal, want 1 s and little more", took)
		}
		if got := rest(t, c); got != "" {
			t.Errorf("%q was sent at the end", got)
		}
		wantEnding(t, p, 1, "shutdown-timeout-secs have passed")
	})
}

// wantEnding wants the log to say once how many sessions were ended, and why.
func wantEnding(t *testing.T, p *harness.Proxy, clients int, reason string) {
	t.Helper()
	if n := p.LinesWith(`msg="ending sessions"`, fmt.Sprintf("clients=%d ", clients), fmt.Sprintf("reason=%q", reason)); n != 1 {
		t.Errorf("%d lines say that %d sessions were ended because %s, want 1:\n%s", n, clients, reason, p.Log())
	}
}

// A second signal ends idle sessions at once. One whose request is with a node gets its
// reply first.
func TestContract_CONF4_SecondSignal(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--shutdown-timeout-secs", "60"}})
		idle, busy := p.Dial(t), p.Dial(t)
		harness.MustDo(t, idle, "SET", "a", "1")
		resume := harness.HoldOwner(t, e.Cluster, "a")
		busy.Send("GET", "a")
		if err := busy.Flush(); err != nil {
			t.Error(err)
		}
		signal(t, p, syscall.SIGTERM)
		awaitRefusal(t, p)
		signal(t, p, syscall.SIGTERM)
		got := rest(t, idle)
		resume()
		if reply := rest(t, busy); reply != "$1\r\n1\r\n" || got != "" {
			t.Errorf("the idle session got %q, the busy one %q", got, reply)
		}
		wantExit(t, p)
		wantEnding(t, p, 2, "another signal has come")
	})
}

func TestContract_CONF4_HangupOpensTheLogAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mithril.log")
	p := alone(t, harness.Auto, "--logfile", path)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	signal(t, p, syscall.SIGHUP)
	harness.Eventually(t, harness.Patience, "a new log file", func() error {
		_, err := os.Stat(path)
		return err
	})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	before, after := read(t, path+".1"), read(t, path)
	if !strings.Contains(before, "msg=listening") || strings.Contains(before, "msg=bye") {
		t.Errorf("the old log file holds\n%s", before)
	}
	if strings.Contains(after, "msg=listening") || !strings.Contains(after, "msg=bye") {
		t.Errorf("the new log file holds\n%s", after)
	}
	if p.Log() != "" {
		t.Errorf("standard output and error hold\n%s", p.Log())
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestContract_CONF4_ListsWhileItStops: clients that ask all workers for what they know, while one after the other has no
// clients any more, are served until the time is up, and nobody waits for an answer that does not come.
func TestContract_CONF4_ListsWhileItStops(t *testing.T) {
	const clients = 12
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Workers: 4, Args: []string{"--shutdown-timeout-secs", "1"}})
		results := make(chan error, clients)
		leaves := make(chan struct{})
		for i := range clients {
			c := p.Dial(t)
			go func() {
				for {
					_, err := c.Pipeline([]any{"CLIENT", "LIST"}, []any{"INFO"}, []any{"PING"})
					select {
					case <-leaves:
						if i > 0 {
							c.Close()
							results <- err
							return
						}
					default:
					}
					if err != nil {
						results <- nil // the time is up
						return
					}
				}
			}()
		}
		signal(t, p, syscall.SIGTERM)
		awaitRefusal(t, p)
		close(leaves)
		for range clients {
			if err := <-results; err != nil {
				t.Errorf("while it stops: %v", err)
			}
		}
		wantExit(t, p)
	})
}

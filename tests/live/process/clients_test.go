package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
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

const (
	prCapbsetDrop  = 24 // PR_CAPBSET_DROP of prctl(2)
	capSysResource = 24 // CAP_SYS_RESOURCE of capabilities(7): to raise a hard limit
)

// limitFiles makes the harness start the program with a limit on open files that it
// cannot raise.
func limitFiles(t *testing.T, limit int) {
	t.Helper()
	// Without the capability, programs started from here on keep their hard limits. It
	// fails for those who lack the right, who lack that capability as well.
	syscall.AllThreadsSyscall(syscall.SYS_PRCTL, prCapbsetDrop, capSysResource, 0)
	through(t, fmt.Sprintf(`ulimit -n %d; exec "$program" "$@"`, limit))
}

// TestFewDescriptors gives the proxy room for fewer clients than come. Descriptors for
// nodes are held back, so that those it serves are served in full.
func TestFewDescriptors(t *testing.T) {
	const (
		openFiles = 400
		come      = 300
	)
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		limitFiles(t, openFiles)
		p := e.Start(t, harness.Options{})
		room := loggedLimit(t, p, openFiles)
		for round := range 2 {
			served := 0
			var conns []*testbed.Conn
			for range come {
				c := p.DialFresh(t)
				conns = append(conns, c)
				switch err := setAndGet(c); err {
				case nil:
					served++
				case errTurnedAway:
				default:
					t.Fatal(err)
				}
			}
			if served != room {
				t.Errorf("round %d: %d of %d clients are served, want %d", round, served, come, room)
			}
			wantIdle(t, p)
			for _, c := range conns {
				c.Close()
			}
			if err := p.AwaitNoClients(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

var errTurnedAway = errors.New("turned away")

// setAndGet uses keys of several nodes. A client that is turned away may be told so, or
// find the connection reset because it had written.
func setAndGet(c *testbed.Conn) error {
	for _, key := range []string{"a", "b", "c", "d"} {
		_, err := c.Do("SET", key, key)
		switch {
		case err == nil:
		case err == testbed.Error("ERR max number of clients reached"), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
			return errTurnedAway
		default:
			return err
		}
	}
	return nil
}

// loggedLimit is the number of clients that the proxy says it has room for.
func loggedLimit(t *testing.T, p *harness.Proxy, openFiles int) int {
	t.Helper()
	for line := range strings.Lines(p.Log()) {
		_, after, found := strings.Cut(line, " maxclients=")
		if !found || !strings.Contains(line, "level=warning") || !strings.Contains(line, fmt.Sprintf("open-files=%d ", openFiles)) {
			continue
		}
		number, _, _ := strings.Cut(after, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 10 || n >= openFiles {
			t.Fatalf("room for %q clients", number)
		}
		return n
	}
	t.Fatalf("the log does not say that maxclients was lowered:\n%s", p.Log())
	return 0
}

// wantIdle finds a loop that spins although nothing is to be done.
func wantIdle(t *testing.T, p *harness.Proxy) {
	t.Helper()
	const window = 300 * time.Millisecond
	began, before := time.Now(), cpuTime(t, p)
	time.Sleep(window)
	if spent, passed := cpuTime(t, p)-before, time.Since(began); spent > passed/3 {
		t.Errorf("the idle proxy has used %v of CPU time in %v", spent, passed)
	}
}

// cpuTime is what the process has used: fields utime and stime of /proc/PID/stat, in
// ticks of 10 ms (proc(5)).
func cpuTime(t *testing.T, p *harness.Proxy) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func TestTooFewDescriptors(t *testing.T) {
	limitFiles(t, 128)
	got := run(t, "--bootstrap", nowhere(t), "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)))
	if got.status != 1 || !strings.Contains(got.stderr, "128 open files") || !strings.Contains(got.stderr, "ulimit -n") {
		t.Errorf("%+v", got)
	}
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

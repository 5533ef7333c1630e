package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

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

const (
	openFiles  = 128 // that the proxy may have
	workersFew = 2   // each holds descriptors back for nodes: more workers leave no room for clients
	come       = 300 // clients

	pausedLine = `msg="accepting clients paused"`
)

// TestCase_I03_BurstOfClients: more clients come at once than the proxy has descriptors
// for, before it has a single connection to a node. It takes no more of them at a time than
// leave the descriptors for nodes alone: those there is room for are served by every
// node, the others are told that they are too many. So it is again when they come again.
func TestCase_I03_BurstOfClients(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		limitFiles(t, openFiles)
		p := e.Start(t, harness.Options{Workers: workersFew, NoWait: true})
		awaitLog(t, p, `msg="cluster map found"`)
		room := loggedLimit(t, p)
		awaitInfo(t, p, fmt.Sprintf("maxclients:%d", room))
		for range 3 {
			if err := p.AwaitNoClients(); err != nil {
				t.Fatal(err)
			}
			signal(t, p, syscall.SIGSTOP) // so that all of them wait together
			conns := dialAll(t, p, come)
			for _, c := range conns {
				c.Send("MSET", "a", "1", "b", "2", "c", "3", "d", "4")
				c.Send("PING")
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			signal(t, p, syscall.SIGCONT)
			served := 0
			for i, c := range conns {
				switch got, err := c.Receive(); {
				case got == testbed.Error(strings.TrimSpace(tooManyClients[1:])), errors.Is(err, syscall.ECONNRESET):
					// A reset if its requests have come before it was told.
				case got == "OK":
					if got, err := c.Receive(); err != nil || got != "PONG" {
						t.Errorf("client %d, behind MSET: %v, %v", i, got, err)
					}
					served++
				default:
					t.Errorf("client %d: %v, %v", i, got, err)
				}
			}
			if served != room {
				t.Errorf("%d clients were served, want %d", served, room)
			}
			if p.LinesWith(pausedLine) > 0 {
				t.Fatal("the proxy has run out of descriptors")
			}
			wantIdle(t, p)
			for _, c := range conns {
				c.Close()
			}
		}
	})
}

// TestCase_I03_OutOfDescriptors takes even the last descriptor from the proxy when
// clients come. It rests until it has some again, and then tells them; the others are
// served in full, since descriptors for nodes are held back.
func TestCase_I03_OutOfDescriptors(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		limitFiles(t, openFiles)
		p := e.Start(t, harness.Options{Workers: workersFew, NoWait: true})
		awaitLog(t, p, `msg="cluster map found"`)
		room := loggedLimit(t, p)
		for range 2 { // it recovers by itself
			if err := p.AwaitNoClients(); err != nil {
				t.Fatal(err)
			}
			served := dialAll(t, p, room)
			for _, c := range served {
				harness.MustDo(t, c, "PING")
			}
			surplus := comeInVain(t, p, come-room)
			wantIdle(t, p)
			harness.MustDo(t, served[0], "PING")
			setLimit(t, p, openFiles)
			for i, c := range surplus {
				if got := rest(t, c); got != tooManyClients {
					t.Fatalf("client %d of %d too many gets %q", i, len(surplus), got)
				}
			}
			wantIdle(t, p)
			for _, c := range served { // needs connections to all primaries
				harness.MustDo(t, c, "MSET", "a", "1", "b", "2", "c", "3", "d", "4")
			}
			for _, c := range append(served, surplus...) {
				c.Close()
			}
		}
	})
}

// comeInVain takes all descriptors from the proxy, then has n clients connect. It returns
// when the proxy has failed to accept some.
func comeInVain(t *testing.T, p *harness.Proxy, n int) []*testbed.Conn {
	t.Helper()
	before := p.LinesWith(pausedLine)
	// An accept operation of io_uring that is in the kernel keeps the limit it began with.
	// It ends when so many clients come in one go that even that one is reached.
	signal(t, p, syscall.SIGSTOP)
	setLimit(t, p, 1)
	conns := dialAll(t, p, n)
	signal(t, p, syscall.SIGCONT)
	harness.Eventually(t, harness.Patience, "the proxy to run out of descriptors", func() error {
		if p.LinesWith(pausedLine) == before {
			return errors.New("its log does not say so")
		}
		return nil
	})
	return conns
}

// setLimit sets the soft limit on open files of the running proxy, which may have more
// of them: then it cannot open another one.
func setLimit(t *testing.T, p *harness.Proxy, openFiles uint64) {
	t.Helper()
	var limit unix.Rlimit
	err := unix.Prlimit(p.PID, unix.RLIMIT_NOFILE, nil, &limit)
	if err == nil {
		limit.Cur = openFiles
		err = unix.Prlimit(p.PID, unix.RLIMIT_NOFILE, &limit, nil)
	}
	if err != nil {
		t.Fatalf("prlimit: %v", err)
	}
}

func dialAll(t *testing.T, p *harness.Proxy, n int) []*testbed.Conn {
	t.Helper()
	var conns []*testbed.Conn
	for range n {
		conns = append(conns, p.DialFresh(t))
	}
	return conns
}

// loggedLimit is the number of clients that the proxy says it has room for.
func loggedLimit(t *testing.T, p *harness.Proxy) int {
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
	limitFiles(t, 64)
	got := run(t, "--bootstrap", nowhere(t), "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--worker-threads", "2")
	if got.status != 1 || !strings.Contains(got.stderr, "64 open files") || !strings.Contains(got.stderr, "ulimit -n") {
		t.Errorf("%+v", got)
	}
}

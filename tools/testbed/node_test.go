package testbed

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentEnv makes the test binary a parent that starts a node in the directory
// dirEnv, prints its process id and waits to be killed; see TestParentDies.
const (
	parentEnv = "TESTBED_PARENT"
	dirEnv    = "TESTBED_DIR"
)

// leaderEnv makes the test binary end its first thread only; see TestFirstThreadEnds.
const leaderEnv = "TESTBED_LEADER"

func init() {
	if os.Getenv(leaderEnv) != "" {
		runtime.LockOSThread() // in init this is the first thread
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// TestFirstThreadEnds: a process of which a thread is left is not down, for what it
// listens on is not free.
func TestFirstThreadEnds(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), leaderEnv+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	err := poll(t.Context(), "the first thread to end", func() error {
		if now, err := readStat(pid); err != nil || now.code != 'Z' {
			return fmt.Errorf("its state is %c (%v)", now.code, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now, err := readStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	p := process{PID: pid, Start: now.startTicks}
	if s := p.state(); s == Down {
		t.Errorf("it is %s, with %d threads", s, now.threads)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if s := p.state(); s != Down {
		t.Errorf("it is %s when it has ended", s)
	}
}

func TestMain(m *testing.M) {
	if mode := os.Getenv(parentEnv); mode != "" {
		n, err := StartNode(context.Background(), NodeOptions{Dir: os.Getenv(dirEnv), Detached: mode == "detached"})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(n.PID())
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestParentDies kills a process that has started a server: the server dies
// with it unless it is detached.
func TestParentDies(t *testing.T) {
	for mode, want := range map[string]State{"attached": Down, "detached": Running} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), parentEnv+"="+mode, dirEnv+"="+t.TempDir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s parent printed %q, want a process id", mode, line)
		}
		now, err := readStat(pid)
		if err != nil {
			t.Fatal(err)
		}
		server := process{PID: pid, Start: now.startTicks}
		cmd.Process.Kill()
		cmd.Wait()
		if err := server.await(want); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if mode == "detached" {
			time.Sleep(50 * time.Millisecond)
			if s := server.state(); s != Running {
				t.Errorf("the detached server is %s after its parent's death", s)
			}
		}
		server.kill()
	}
}

// TestThreadDies starts a node on a thread that ends: the node must not take
// the thread's death for its parent's.
func TestThreadDies(t *testing.T) {
	started := make(chan *Node)
	var start func()
	start = func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			go start() // the main thread would not end; held here, it runs nothing else
			time.Sleep(time.Second)
			return
		}
		n, err := StartNode(t.Context(), NodeOptions{})
		if err != nil {
			t.Error(err)
		}
		started <- n
	}
	go start()
	n := <-started
	if n == nil {
		t.FailNow()
	}
	defer n.Stop()
	time.Sleep(100 * time.Millisecond)
	if s := n.State(); s != Running {
		t.Fatalf("the node is %s after the death of the thread that started it", s)
	}
}

func TestNode(t *testing.T) {
	n := RunNode(t, NodeOptions{Engine: Redis70, Password: `p"w \1`, Config: []string{"databases 3"}})
	c, err := n.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mustDo(t, c, "SELECT", 2)
	if reply, err := c.Do("SELECT", 3); err != Error("ERR DB index is out of range") {
		t.Fatalf("SELECT 3 of 3 databases: %v, %v", reply, err)
	}
	if !strings.Contains(n.Log(), "Ready to accept connections") {
		t.Fatalf("log: %s", n.Log())
	}
	pid := n.PID()
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n.PID() == pid || n.State() != Running {
		t.Fatalf("after Restart the node is %s as process %d, before it was %d", n.State(), n.PID(), pid)
	}
	dir := n.Dir
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatalf("Stop left %s: %v", dir, err)
	}
	if err := n.Pause(); err == nil || err.Error() != "node "+n.Addr()+": the process is down" {
		t.Fatalf("Pause after Stop: %v", err)
	}
}

func TestFreePorts(t *testing.T) {
	a, err := FreePorts(6)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	b, err := FreePorts(6)
	if err != nil {
		t.Fatal(err)
	}
	if a.Base < b.Base+b.N && b.Base < a.Base+a.N {
		t.Fatalf("ranges from %d and from %d overlap", a.Base, b.Base)
	}
	if !portsAreFree(b.Base, b.N) {
		t.Fatalf("ports from %d are not free", b.Base)
	}
	if held, err := hold(b.Base); held != nil || err != nil {
		t.Fatalf("the range from %d is not held: %v", b.Base, err)
	}
	b.Release()
	again, err := FreePorts(6)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	none := -os.Getpid() // a name that no other process asks for
	for range 2 {
		held, err := hold(none)
		if held == nil || err != nil {
			t.Fatalf("a released name cannot be held: %v", err)
		}
		held.Close()
	}
	for _, n := range []int{0, 17} {
		if _, err := FreePorts(n); err == nil || err.Error() != fmt.Sprintf("free ports come in ranges of 1 to 16, not %d", n) {
			t.Errorf("FreePorts(%d): %v", n, err)
		}
	}
	n := RunNode(t, NodeOptions{Port: again.Base})
	if portsAreFree(again.Base, 1) {
		t.Errorf("port %d counts as free although %s listens on it", again.Base, n.Addr())
	}
}

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// State is what the kernel says of a server process.
type State int

const (
	Down    State = iota // no such process, or a zombie without other threads
	Running              // also while it sleeps in its event loop
	Paused               // stopped by SIGSTOP
)

var stateNames = [...]string{Down: "down", Running: "running", Paused: "paused"}

func (s State) String() string { return stateNames[s] }

const (
	pollInterval = 10 * time.Millisecond
	exitTimeout  = 10 * time.Second // from SIGKILL until the process is gone
)

// process is a server by id and start time (ticks since boot, proc(5)). Both
// together name one process for ever, so a signal never hits a process that
// got the id later. The zero process is Down.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"`
}

// spawnRequests go to the one thread that starts children; see spawnLoop.
var (
	spawnRequests = make(chan func())
	spawnOnce     sync.Once
)

// spawnLoop runs on a thread of its own that never ends. PR_SET_PDEATHSIG
// (prctl(2)) fires when the parent thread dies, not the parent process: a
// child started on an ordinary goroutine's thread would be killed whenever
// the Go runtime retires that thread.
func spawnLoop() {
	runtime.LockOSThread()
	for request := range spawnRequests {
		request()
	}
}

// spawn starts a program whose output goes to the end of the file at log. A
// detached child survives this process, any other is killed with it.
func spawn(program string, args []string, log string, detached bool) (process, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return process{}, err
	}
	defer output.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	started := make(chan error)
	spawnOnce.Do(func() { go spawnLoop() })
	spawnRequests <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return process{}, err
	}
	go cmd.Wait() // reaps it; its end is seen through state
	now, err := readStat(cmd.Process.Pid)
	if err != nil {
		return process{}, fmt.Errorf("%s ended at once: %w", program, err)
	}
	return process{PID: cmd.Process.Pid, Start: now.startTicks}, nil
}

func (p process) state() State {
	if p.PID == 0 {
		return Down
	}
	now, err := readStat(p.PID)
	switch {
	case err != nil || now.startTicks != p.Start:
		return Down
	case now.code == 'X', now.code == 'Z' && now.threads <= 1:
		return Down // a thread that ends behind the first one still holds the ports
	case now.code == 'T':
		return Paused
	}
	return Running
}

// signal sends sig if the process exists.
func (p process) signal(sig syscall.Signal) error {
	if p.state() == Down {
		return errors.New("the process is down")
	}
	return syscall.Kill(p.PID, sig)
}

// kill ends the process with SIGKILL and waits until it is gone. One that is
// down already is no error.
func (p process) kill() error {
	if p.state() == Down {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill -9 %d: %w", p.PID, err)
	}
	return p.await(Down)
}

// await waits until the kernel reports the state.
func (p process) await(want State) error {
	ctx, cancel := context.WithTimeout(context.Background(), exitTimeout)
	defer cancel()
	return poll(ctx, fmt.Sprintf("process %d to be %s", p.PID, want), func() error {
		if s := p.state(); s != want {
			return fmt.Errorf("it is %s", s)
		}
		return nil
	})
}

// stat is what is read of /proc/PID/stat.
type stat struct {
	code       byte // of the first thread's state
	threads    int
	startTicks uint64
}

// readStat reads /proc/PID/stat. The command in parentheses may hold anything,
// so fields count from the last parenthesis: state is field 3, num_threads
// field 20, starttime field 22.
func readStat(pid int) (s stat, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return s, fmt.Errorf("/proc/%d/stat has %d fields after the command, want 20 or more", pid, len(fields))
	}
	s.code = fields[0][0]
	if s.threads, err = strconv.Atoi(fields[17]); err != nil {
		return s, err
	}
	s.startTicks, err = strconv.ParseUint(fields[19], 10, 64)
	return s, err
}

// poll calls ready until it returns nil or ctx ends. The error then says
// what was waited for and what was missing last.
func poll(ctx context.Context, what string, ready func() error) error {
	for {
		last := ready()
		if last == nil {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w", what, ctx.Err(), last)
		}
	}
}

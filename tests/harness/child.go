package harness

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process that is killed with this one.
type child struct {
	cmd    *exec.Cmd
	log    logBuffer
	exited chan struct{} // closed when the process is gone and its output is in log
}

// spawn starts a program.
func spawn(path string, args []string) (*child, error) {
	return spawnCommand(exec.Command(path, args...))
}

// spawnCommand starts a program. Its parent, for PR_SET_PDEATHSIG (prctl(2)), is a thread,
// so that thread stays until the process is gone.
func spawnCommand(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &c.log, &c.log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) running() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// end signals the process and returns its exit status, after killing it if it is not
// gone in time.
func (c *child) end(timeout time.Duration) (status int, err error) {
	c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.exited:
	case <-time.After(timeout):
		c.cmd.Process.Signal(syscall.SIGQUIT) // the goroutines' stacks go to the log
		select {
		case <-c.exited:
		case <-time.After(killTimeout):
			c.cmd.Process.Kill()
			<-c.exited
		}
		return -1, fmt.Errorf("the process was not gone %v after SIGTERM", timeout)
	}
	return c.cmd.ProcessState.ExitCode(), nil
}

const killTimeout = 2 * time.Second

// logBuffer collects what a process writes.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mithril/tools/testbed"
)

const (
	readyTimeout = 10 * time.Second // from the start until commands reach every primary
	readyPoll    = 20 * time.Millisecond
	stopTimeout  = 10 * time.Second // from SIGTERM until it is killed
	logTailBytes = 2000
)

// program is what an arm runs; address and bootstrap flags are added to the arguments.
type program struct {
	name   string
	binary string
	args   []string
}

// arm is a running proxy.
type arm struct {
	program
	addr string
	pid  int
	log  string
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended
}

// launcher starts arms from one thread, which is pinned so that they inherit their processors, and which never
// ends, because a child with a death signal gets it when that thread ends (prctl(2)).
type launcher chan func()

func newLauncher(cpus cpuList) (launcher, error) {
	l := make(launcher)
	pinned := make(chan error)
	go func() {
		runtime.LockOSThread()
		if len(cpus) > 0 {
			pinned <- pinThread(0, cpus)
		} else {
			pinned <- nil
		}
		for start := range l {
			start()
		}
	}()
	return l, <-pinned
}

// start starts a program and waits until it serves the whole cluster.
func (l launcher) start(ctx context.Context, p program, port int, cluster *testbed.Cluster, dir string) (*arm, error) {
	a := &arm{
		program: p, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		log: filepath.Join(dir, strconv.Itoa(port)+".log"), gone: make(chan struct{}),
	}
	log, err := os.Create(a.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--bootstrap", strings.Join(cluster.Addrs(), ","),
	}, p.args...)
	a.cmd = exec.Command(p.binary, args...)
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	l <- func() { started <- a.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("arm %s: %w", p.name, err)
	}
	a.pid = a.cmd.Process.Pid
	go func() {
		a.cmd.Wait()
		close(a.gone)
	}()
	if err := a.awaitReady(ctx); err != nil {
		a.stop()
		return nil, a.explain(err)
	}
	return a, nil
}

// awaitReady polls until keys of every shard are answered.
func (a *arm) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := a.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-a.gone:
			return fmt.Errorf("the process ended: %v", a.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(readyPoll):
		}
	}
}

// probe reads a few keys that lie on all shards, whichever way slots are dealt out.
func (a *arm) probe(ctx context.Context) error {
	conn, err := testbed.DialContext(ctx, a.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	for key := range 32 {
		if _, err := conn.Do("GET", key); err != nil {
			return err
		}
	}
	return nil
}

// stop asks the process to end and waits for that.
func (a *arm) stop() {
	a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.gone:
	case <-time.After(stopTimeout):
		a.cmd.Process.Kill()
		<-a.gone
	}
}

// explain adds the arm's name and the end of its log to an error.
func (a *arm) explain(err error) error {
	text, _ := os.ReadFile(a.log)
	text = bytes.TrimSpace(text[max(0, len(text)-logTailBytes):])
	return fmt.Errorf("arm %s: %w; its log ends in:\n%s", a.name, err, text)
}

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

// portsPerArm is one to listen on and site.sparePort.
const portsPerArm = 2

// arm is a running proxy, or in its place a server.
type arm struct {
	program
	addr  string
	ports testbed.Ports
	pid   int // 0 without a process
	log   string
	cmd   *exec.Cmd
	gone  chan struct{} // closed when the process has ended
	info  *testbed.Conn // nil until it is needed; see ask
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

// start starts a program and waits until it serves all its servers.
func (l launcher) start(ctx context.Context, p program, servers *servers, dir string) (*arm, error) {
	a := &arm{program: p}
	if p.command == nil {
		a.addr = servers.plainAddrs()[0]
		return a, nil
	}
	var err error
	if a.ports, err = testbed.FreePorts(portsPerArm); err != nil {
		return nil, err
	}
	err = a.launch(l, site{a.ports.Base, a.ports.Base + 1, dir, servers})
	if err == nil {
		err = a.awaitReady(ctx)
	}
	if err != nil {
		err = a.explain(err)
		a.stop()
		return nil, err
	}
	return a, nil
}

// launch starts the process.
func (a *arm) launch(l launcher, s site) error {
	a.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	a.log = filepath.Join(s.dir, strconv.Itoa(s.port)+".log")
	command, err := a.command(s)
	if err != nil {
		return err
	}
	log, err := os.Create(a.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	l <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return err
	}
	a.cmd, a.pid, a.gone = cmd, cmd.Process.Pid, make(chan struct{})
	go func() {
		cmd.Wait()
		close(a.gone)
	}()
	return nil
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

// stop asks the process, if there is one, to end and waits for that.
func (a *arm) stop() {
	defer a.ports.Release()
	if a.info != nil {
		a.info.Close()
	}
	if a.cmd == nil {
		return
	}
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
	if a.cmd == nil {
		return fmt.Errorf("arm %s: %w", a.name, err)
	}
	text, _ := os.ReadFile(a.log)
	text = bytes.TrimSpace(text[max(0, len(text)-logTailBytes):])
	return fmt.Errorf("arm %s: %w; its log ends in:\n%s", a.name, err, text)
}

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tracingDir is where the kernel describes its tracepoints (tracefs).
const tracingDir = "/sys/kernel/tracing"

// tracepoints are what is counted of a proxy, by the fields of counts. Every way of sending passes the second one,
// io_uring's included.
var tracepoints = [...]string{"raw_syscalls/sys_enter", "sock/sock_send_length"}

// counts are what a proxy did between two points.
type counts struct {
	systemCalls int64
	sends       int64 // on sockets, to clients and to nodes
}

// counter counts with perf events (perf_event_open(2)) while it is open. The kernel adds some cost to each event that
// is counted, and none when nothing is: so counting has slices of its own, and arms are measured without it. Unlike
// ptrace, which stops a thread at each call, it leaves the batches as they are.
type counter struct {
	events [len(tracepoints)][]int // a descriptor for every thread
}

// newCounter counts what the process's threads do, and those that they start. It needs root, or CAP_PERFMON and a
// readable tracefs.
func newCounter(pid int) (*counter, error) {
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, err
	}
	c := &counter{}
	for i, name := range tracepoints {
		attr, err := tracepoint(name)
		for _, thread := range threads {
			if err == nil {
				err = c.open(i, attr, thread.Name())
			}
		}
		if err != nil {
			c.close()
			return nil, fmt.Errorf("tracepoint %s: %w", name, err)
		}
	}
	return c, nil
}

// countable returns why the calls of a process cannot be counted, or nil.
func countable(pid int) error {
	c, err := newCounter(pid)
	if err == nil {
		c.close()
	}
	return err
}

func tracepoint(name string) (*unix.PerfEventAttr, error) {
	text, err := os.ReadFile(filepath.Join(tracingDir, "events", name, "id"))
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return &unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Size: unix.PERF_ATTR_SIZE_VER0, Config: id, Bits: unix.PerfBitInherit}, err
}

func (c *counter) open(event int, attr *unix.PerfEventAttr, thread string) error {
	tid, err := strconv.Atoi(thread)
	if err != nil {
		return err
	}
	fd, err := unix.PerfEventOpen(attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.ESRCH) {
		return nil // it ended since the directory was read
	}
	if err == nil {
		c.events[event] = append(c.events[event], fd)
	}
	return err
}

// read returns the counts since newCounter.
func (c *counter) read() (counts, error) {
	var sums [len(tracepoints)]int64
	for i, fds := range c.events {
		for _, fd := range fds {
			var value [8]byte
			if n, err := unix.Read(fd, value[:]); err != nil || n != len(value) {
				return counts{}, fmt.Errorf("read the counter of %s: %d bytes, %w", tracepoints[i], n, err)
			}
			sums[i] += int64(binary.NativeEndian.Uint64(value[:]))
		}
	}
	return counts{systemCalls: sums[0], sends: sums[1]}, nil
}

func (c *counter) close() {
	for _, fds := range c.events {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCallsAreCounted counts calls of this process, which sends on no other socket.
func TestCallsAreCounted(t *testing.T) {
	counter, err := newCounter(os.Getpid())
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(err.Error(), "tracepoint raw_syscalls/sys_enter: ") {
			t.Errorf("counting fails with %v", err)
		}
		return // this machine does not let us count, and a result would say why
	}
	defer counter.close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	before, errBefore := counter.read()
	const writes = 100 // nobody reads, so the socket takes few
	for range writes {
		unix.Write(pair[0], []byte("x"))
	}
	const threads, each = 50, 100 // more threads at once than there were before
	var all, done sync.WaitGroup
	all.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			all.Done()
			all.Wait()
			for range each {
				unix.Getppid()
			}
		})
	}
	done.Wait()
	after, errAfter := counter.read()
	calls, sends := after.systemCalls-before.systemCalls, after.sends-before.sends
	if sends != writes || calls < writes+threads*each || calls > 2*(writes+threads*each) || errBefore != nil || errAfter != nil {
		t.Errorf("%d calls and %d sends are counted, want %d and more, and %d (%v, %v)", calls, sends, writes+threads*each, writes, errBefore, errAfter)
	}
}

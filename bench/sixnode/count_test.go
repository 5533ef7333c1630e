package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
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
	const writes, others = 100, 500 // nobody reads, so the socket takes few
	for range writes {
		unix.Write(pair[0], []byte("x"))
	}
	done := make(chan bool)
	go func() { // a thread that may have to be started first
		for range others {
			unix.Getppid()
		}
		close(done)
	}()
	<-done
	after, errAfter := counter.read()
	calls, sends := after.systemCalls-before.systemCalls, after.sends-before.sends
	if sends != writes || calls < writes+others || calls > 2*(writes+others) || errBefore != nil || errAfter != nil {
		t.Errorf("%d calls and %d sends are counted, want %d and more, and %d (%v, %v)", calls, sends, writes+others, writes, errBefore, errAfter)
	}
}

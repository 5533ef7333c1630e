package sys

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

// watchChild runs an epoll engine for which the kernel refuses to watch any more sockets
// from some time on, and prints how its operations end.
func watchChild(errno unix.Errno) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	region, err := Map(1 << 30)
	must(err)
	arena, err := buf.NewArena(region, 4)
	must(err)
	p, err := NewEpoll(arena, Options{})
	must(err)
	events := make([]ring.Event, 16)
	var got []ring.Event
	await := func(kind ring.EventKind) ring.Event {
		for deadline := Now() + int64(patience); Now() < deadline; {
			for i, e := range got {
				if e.Kind == kind {
					got = slices.Delete(got, i, i+1)
					return e
				}
			}
			n := p.Turn(nil, ring.Wait{Deadline: deadline}, events)
			got = append(got, events[:n]...)
		}
		panic("no " + eventName(kind))
	}
	give := func(op ring.Op) { p.Turn([]ring.Op{op}, ring.Wait{}, nil) }
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(err)
		return len(entries)
	}
	listen := func() ring.Socket {
		l, err := Listen(loopback, ListenOptions{})
		must(err)
		return l
	}

	watched := listen()
	give(ring.Op{Kind: ring.OpAccept, Socket: watched, Token: listenerToken})
	must(refuseWatches(p.fd, errno))
	before := descriptors()

	give(ring.Op{Kind: ring.OpAccept, Socket: listen(), Token: listenerToken})
	fmt.Printf("accept: %s\n", await(ring.AcceptEnded).Err)
	give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: LocalAddr(watched)})
	e := await(ring.Connected)
	fmt.Printf("connect: %s, socket %d\n", e.Err, e.Socket)
	client := await(ring.Accepted).Socket // of that connect: what is watched goes on
	give(ring.Op{Kind: ring.OpRecv, Socket: client, Token: sessionToken})
	fmt.Printf("recv: %s\n", await(ring.RecvEnded).Err)
	text, _ := arena.Copy([]byte("text"))
	give(ring.Op{Kind: ring.OpSend, Socket: client, Token: sessionToken, Out: []buf.Slice{text}})
	e = await(ring.Sent)
	fmt.Printf("send: %s, %d bytes\n", e.Err, e.N)
	give(ring.Op{Kind: ring.OpShutdown, Socket: client})
	give(ring.Op{Kind: ring.OpClose, Socket: client})
	fmt.Printf("left over: %d descriptors\n", descriptors()-before-1) // the second listener
}

// refuseWatches makes epoll_ctl fail with errno for one epoll descriptor from now on.
func refuseWatches(fd int, errno unix.Errno) error {
	const numberAt, firstArgumentAt = 0, 16 // struct seccomp_data, the argument's lower half
	return installFilter([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberAt},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_EPOLL_CTL, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: firstArgumentAt},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(fd), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}

// installFilter puts a seccomp filter in front of the system calls of all threads, as
// containers do (seccomp(2)).
func installFilter(filter []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// A socket that the kernel does not let epoll watch is refused by an event. All others go
// on, and no descriptor stays behind.
func TestSocketsThatCannotBeWatched(t *testing.T) {
	const reason = "the kernel has no memory for it or reached fs.epoll.max_user_watches"
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.ENOMEM} {
		lines := spawn(t, fmt.Sprintf("watch:%d", errno))
		for operation, want := range map[string]string{
			"accept": reason, "connect": reason + ", socket -1", "recv": reason, "send": reason + ", 0 bytes", "left over": "0 descriptors",
		} {
			if got := lines[operation]; got != want {
				t.Errorf("%v, %s: %q, want %q", errno, operation, got, want)
			}
		}
	}
}

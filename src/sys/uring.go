package sys

import (
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

const (
	submissionsDefault = 4096
	completionsDefault = 16384

	// waitCapNs bounds a minimum wait without a deadline. The kernel ends a minimum
	// wait at once when no general limit is given and nothing arrives.
	waitCapNs = 1e9

	// Close waits up to 10 times 10 ms for the kernel to cancel what is armed.
	closeTriesMax = 10
	closeTryNs    = 10e6
)

// Uring is the io_uring engine. It is made on, and used by, one thread to which
// its goroutine stays locked; Wake alone may be called from any.
type Uring struct {
	q       *queue
	arena   *buf.Arena
	base    uint64 // address of the arena's first byte
	buffers *bufferRing
	options Options
	minWait bool // the kernel knows minimum waits
	message bool // engines wake each other by messages

	sockets []uringSocket // by descriptor
	parked  names
	later   backlog
	wakeFD  int
	now     int64
	counts  Counters
}

// NewUring makes an io_uring engine on the calling thread. mem is the memory the
// arena lives in. The error names cause and remedy.
func NewUring(a *buf.Arena, mem buf.Memory, o Options) (*Uring, error) {
	if err := checkPreemption(); err != nil {
		return nil, err
	}
	submissions, completions := o.submissions, o.completions
	if submissions == 0 {
		submissions, completions = submissionsDefault, completionsDefault
	}
	q, err := newQueue(submissions, completions)
	if err != nil {
		return nil, fmt.Errorf("sys: %w", err)
	}
	u := &Uring{q: q, arena: a, options: o, wakeFD: -1}
	u.base = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem.Bytes()))))
	u.minWait = q.features&featMinTimeout != 0 && !o.noMinWait
	u.message = messageWorks() && !o.noMessage
	if u.buffers, err = newBufferRing(q, a, mem); err != nil {
		u.Close()
		return nil, fmt.Errorf("sys: %w", err)
	}
	// Not nonblocking: the ring would complete its read at once.
	if u.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		u.Close()
		return nil, fmt.Errorf("sys: cannot make an eventfd: %w", err)
	}
	u.sockets = make([]uringSocket, 256)
	u.armWake()
	u.now = Now()
	return u, nil
}

// checkPreemption refuses a Go runtime that cannot interrupt a thread: a worker
// waits in a system call the scheduler does not know of, and only a signal makes
// it take part in a garbage collection.
func checkPreemption() error {
	if hasGodebug(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
		return fmt.Errorf("sys: GODEBUG=asyncpreemptoff=1 would make the process hang at its first garbage collection; unset it")
	}
	return nil
}

// Turn is ring.Ring's.
func (u *Uring) Turn(ops []ring.Op, wait ring.Wait, events []ring.Event) int {
	u.buffers.lend()
	for i := range ops {
		u.do(&ops[i])
	}
	u.unpark()
	n := u.later.take(events)
	u.q.long = false
	for {
		done := u.enter(wait, n > 0, len(events)-n)
		n += u.harvest(events[n:])
		u.now = Now()
		if n > 0 || done || wait.Deadline <= u.now {
			return n
		}
	}
}

// enter submits and waits once as wait asks, for at most room events; ready says
// that there is an event already. It reports true when no further wait is wanted.
func (u *Uring) enter(wait ring.Wait, ready bool, room int) (done bool) {
	timeout := int64(-1)
	switch wait.Deadline {
	case 0:
		timeout = 0
	case ring.Forever:
	default:
		timeout = max(wait.Deadline-Now(), 0)
	}
	if available := int(u.q.available()); ready || available > 0 || timeout == 0 {
		if available < room || u.q.tail != u.q.submitted {
			u.check(u.q.reap())
		}
		return true
	}
	want := uint32(max(min(wait.Min, room, len(u.q.cqes)), 1))
	if wait.Window <= 0 || want == 1 {
		u.check(u.q.wait(1, 0, timeout))
		return false
	}
	if timeout < 0 {
		timeout = waitCapNs
	}
	u.waitMany(want, min(wait.Window, timeout), timeout)
	return false
}

// waitMany waits for want events until window nanoseconds have passed, from then on
// for the first one until timeout.
func (u *Uring) waitMany(want uint32, window, timeout int64) {
	start := Now()
	for waited := int64(0); ; {
		if u.minWait {
			u.check(u.q.wait(want, window-waited, timeout-waited))
		} else {
			u.check(u.q.wait(want, 0, window-waited))
		}
		available := u.q.available()
		if available >= want {
			return
		}
		if waited = Now() - start; waited < window {
			continue // interrupted
		}
		if available == 0 && !u.minWait && waited < timeout {
			u.check(u.q.wait(1, 0, timeout-waited))
		}
		return
	}
}

// check panics on an error of io_uring_enter that no later call can mend.
func (u *Uring) check(errno unix.Errno) {
	switch errno {
	case 0, unix.ETIME:
	case unix.EINTR: // by the scheduler or the garbage collector
		u.q.long = true
	case unix.EAGAIN, unix.EBUSY: // short of memory, or the completion ring is full
	default:
		panic("sys: io_uring_enter: " + errno.Error())
	}
}

// Now is ring.Ring's.
func (u *Uring) Now() int64 { return u.now }

// CPU is ring.Ring's.
func (u *Uring) CPU() int64 { return threadTime() }

// Peer is ring.Ring's.
func (u *Uring) Peer(s ring.Socket) netip.AddrPort { return peerAddr(s) }

// Local is ring.Ring's.
func (u *Uring) Local(s ring.Socket) netip.AddrPort { return LocalAddr(s) }

// Left is ring.Ring's.
func (u *Uring) Left(s ring.Socket) bool { return peerLeft(s) }

// Wake is ring.Ring's.
func (u *Uring) Wake() { signalEvent(u.wakeFD) }

// Counters are the engine's counts so far.
func (u *Uring) Counters() Counters {
	u.counts.Waits = u.q.enters
	return u.counts
}

// Close ends the engine. Sockets stay open, except those still connecting.
func (u *Uring) Close() {
	u.cancelAll()
	for fd := range u.sockets {
		if u.sockets[fd].send == sendConnect {
			unix.Close(fd)
		}
	}
	u.sockets = nil
	u.q.close()
	if u.buffers != nil {
		u.buffers.unmap()
	}
	if u.wakeFD >= 0 {
		unix.Close(u.wakeFD)
	}
}

// cancelAll ends what is in the kernel and waits for it, so that the arena's memory
// is not written to any more. Closing the ring alone would leave that to a thread
// of the kernel's, for some time later.
func (u *Uring) cancelAll() {
	slot := u.q.next()
	slot.opcode = opAsyncCancel
	slot.fd = -1
	slot.opFlags = cancelAll | cancelAny
	slot.userData = uint64(makeUserData(actCancelAll, 0, 0))
	for range closeTriesMax {
		u.check(u.q.wait(1, 0, closeTryNs))
		head, tail := *u.q.cqHead, atomic.LoadUint32(u.q.cqTail)
		canceled := false
		for ; head != tail; head++ {
			c := &u.q.cqes[head&u.q.cqMask]
			canceled = canceled || userData(c.userData).action() == actCancelAll
		}
		u.q.consume(head)
		if canceled && !u.q.overflowed() {
			u.check(u.q.reap())
			return
		}
	}
}

// known is the record of a descriptor that an operation names. One the engine has
// not met is taken to be a socket made elsewhere.
func (u *Uring) known(fd ring.Socket) *uringSocket {
	s := u.at(fd)
	if s.life == lifeClosed {
		s.open()
		setNonblock(fd, false)
	}
	return s
}

// at is the record of a descriptor, made if need be.
func (u *Uring) at(s ring.Socket) *uringSocket {
	for int(s) >= len(u.sockets) {
		u.sockets = append(u.sockets, make([]uringSocket, len(u.sockets))...)
	}
	return &u.sockets[s]
}

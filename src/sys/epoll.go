package sys

import (
	"fmt"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

const (
	// pollEventsMax is how many sockets one wait reports at most.
	pollEventsMax = 512

	// acceptsMax is how many connections one listener gives in one turn at most.
	acceptsMax = 64

	// pollMask is what every socket is registered for, once: edges, so that neither
	// stopping nor resuming an operation needs a system call.
	pollMask = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

	// wakeGeneration marks the wake descriptor; no socket reaches it.
	wakeGeneration = -1
)

// Epoll is the epoll engine, for kernels and containers without io_uring. It obeys
// the same contract, except that Wait.Min and Wait.Window do not make it gather.
type Epoll struct {
	fd      int
	arena   *buf.Arena
	base    uint64 // address of the arena's first byte
	options Options
	wakeFD  int
	precise bool // the kernel has epoll_pwait2

	sockets []epollSocket // by descriptor
	ready   names         // sockets to be read or accepted from, without waiting
	parked  names         // sockets whose OpRecv waits for receive chunks
	blocked []blockedSend
	free    []int32     // unused entries of blocked
	chunks  []buf.Block // receive chunks nobody references; the last one is used next
	later   backlog
	polled  []unix.EpollEvent
	limit   timespec // of the wait; the struct is on the heap, where it does not move
	vectors []iovec
	long    bool // the scheduler is told of waits; see doc.go
	now     int64
	counts  Counters
}

// epollSocket is a record with what only this engine needs.
type epollSocket struct {
	record
	blocked    int32 // the entry of its send in blocked, while send is sendSend
	registered bool  // known to epoll
	readable   bool  // there may be something to receive or accept
	hungUp     bool  // the end of the stream is in sight: read until it comes
	inReady    bool  // an entry of ready names it
	listens    bool  // its lasting operation is OpAccept
}

// NewEpoll makes an epoll engine.
func NewEpoll(a *buf.Arena, o Options) (*Epoll, error) {
	if err := checkPreemption(); err != nil {
		return nil, err
	}
	if a.ReceiveChunks() < 1 {
		return nil, fmt.Errorf("sys: epoll: no receive chunks")
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("sys: cannot make an epoll descriptor: %w", err)
	}
	p := &Epoll{
		fd: fd, arena: a, options: o, wakeFD: -1,
		base:    uint64(uintptr(unsafe.Pointer(&a.Bytes(buf.Slice{Len: 1})[0]))),
		sockets: make([]epollSocket, 256),
		polled:  make([]unix.EpollEvent, pollEventsMax),
		vectors: make([]iovec, sendSlicesMax),
		chunks:  make([]buf.Block, 0, a.ReceiveChunks()),
	}
	if p.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		p.Close()
		return nil, fmt.Errorf("sys: cannot make an eventfd: %w", err)
	}
	// By edges the counter need not be read: every Wake adds to it, which is one.
	wake := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(p.wakeFD), Pad: wakeGeneration}
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, p.wakeFD, &wake); err != nil {
		p.Close()
		return nil, fmt.Errorf("sys: cannot watch an eventfd: %w", err)
	}
	_, errno := p.pollPrecise(unix.RawSyscall6, 0)
	p.precise = errno == 0
	p.now = Now()
	return p, nil
}

// Turn is ring.Ring's.
func (p *Epoll) Turn(ops []ring.Op, wait ring.Wait, events []ring.Event) int {
	p.collect()
	for i := range ops {
		p.do(&ops[i])
	}
	p.unpark()
	n := p.later.take(events)
	p.long = false
	for {
		timeout := p.timeout(wait, n > 0 || len(p.ready) > 0)
		p.poll(timeout)
		n += p.later.take(events[n:])
		n += p.serve(events[n:])
		p.now = Now()
		if n > 0 || wait.Deadline <= p.now {
			return n
		}
	}
}

// timeout is for how many nanoseconds to wait, below 0 for ever.
func (p *Epoll) timeout(wait ring.Wait, ready bool) int64 {
	switch {
	case ready || wait.Deadline == 0:
		return 0
	case wait.Deadline == ring.Forever:
		return -1
	}
	return max(wait.Deadline-Now(), 0)
}

// poll waits and notes what the kernel reports.
func (p *Epoll) poll(timeout int64) {
	p.counts.Waits++
	wait := unix.RawSyscall6
	if p.long {
		wait = unix.Syscall6
	}
	var n uintptr
	var errno unix.Errno
	if p.precise {
		n, errno = p.pollPrecise(wait, timeout)
	} else {
		n, errno = p.pollCoarse(wait, timeout)
	}
	if errno == unix.EINTR { // by the scheduler or the garbage collector
		p.long = true
		return
	}
	if errno != 0 {
		panic("sys: epoll_wait: " + errno.Error())
	}
	for i := range n {
		p.note(&p.polled[i])
	}
}

// syscall6 is a system call, of which the scheduler is told or not.
type syscall6 func(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, errno unix.Errno)

// pollPrecise is epoll_pwait2 (Linux 5.11).
func (p *Epoll) pollPrecise(wait syscall6, timeout int64) (uintptr, unix.Errno) {
	limit := &p.limit
	if *limit = (timespec{sec: timeout / 1e9, nsec: timeout % 1e9}); timeout < 0 {
		limit = nil
	}
	n, _, errno := wait(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.polled[0])), uintptr(len(p.polled)), uintptr(unsafe.Pointer(limit)), 0, 0)
	return n, errno
}

// pollCoarse is epoll_pwait, whose limit is in milliseconds.
func (p *Epoll) pollCoarse(wait syscall6, timeout int64) (uintptr, unix.Errno) {
	if timeout > 0 {
		timeout = min((timeout+999_999)/1_000_000, 1<<31-1)
	}
	n, _, errno := wait(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.polled[0])), uintptr(len(p.polled)), uintptr(timeout), 0, 0)
	return n, errno
}

// Now is ring.Ring's.
func (p *Epoll) Now() int64 { return p.now }

// CPU is ring.Ring's.
func (p *Epoll) CPU() int64 { return threadTime() }

// Peer is ring.Ring's.
func (p *Epoll) Peer(s ring.Socket) netip.AddrPort { return peerAddr(s) }

// Local is ring.Ring's.
func (p *Epoll) Local(s ring.Socket) netip.AddrPort { return LocalAddr(s) }

// Left is ring.Ring's.
func (p *Epoll) Left(s ring.Socket) bool { return peerLeft(s) }

// Wake is ring.Ring's.
func (p *Epoll) Wake() { signalEvent(p.wakeFD) }

// Bell is ring.Ring's.
func (p *Epoll) Bell() ring.Socket { return ring.Socket(p.wakeFD) }

// Counters are the engine's counts so far.
func (p *Epoll) Counters() Counters { return p.counts }

// Close ends the engine. Sockets stay open, except those still connecting.
func (p *Epoll) Close() {
	for fd := range p.sockets {
		if p.sockets[fd].send == sendConnect {
			unix.Close(fd)
		}
	}
	p.sockets = nil
	unix.Close(p.fd)
	if p.wakeFD >= 0 {
		unix.Close(p.wakeFD)
	}
}

// known is the record of a descriptor that an operation names, watched by epoll unless
// the kernel refuses that: then the operation must fail. One the engine has not met is
// taken to be a socket made elsewhere.
func (p *Epoll) known(fd ring.Socket) (*epollSocket, unix.Errno) {
	s := p.at(fd)
	if s.life == lifeClosed {
		s.open()
	}
	if !s.registered {
		return s, p.register(s, fd)
	}
	return s, 0
}

// register makes epoll watch a socket. It fails when the kernel has no memory (ENOMEM) or
// the user has as many watches as fs.epoll.max_user_watches allows (ENOSPC).
func (p *Epoll) register(s *epollSocket, fd ring.Socket) unix.Errno {
	event := unix.EpollEvent{Events: pollMask, Fd: int32(fd), Pad: int32(s.generation)}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_ADD, uintptr(fd), uintptr(unsafe.Pointer(&event)), 0, 0)
	if errno != 0 && errno != unix.ENOMEM && errno != unix.ENOSPC {
		panic("sys: epoll cannot watch a socket: " + errno.Error())
	}
	s.registered = errno == 0
	return errno
}

// at is the record of a descriptor, made if need be.
func (p *Epoll) at(fd ring.Socket) *epollSocket {
	for int(fd) >= len(p.sockets) {
		p.sockets = append(p.sockets, make([]epollSocket, len(p.sockets))...)
	}
	return &p.sockets[fd]
}

// open makes the record that of a new socket.
func (s *epollSocket) open() {
	s.record.open()
	*s = epollSocket{record: s.record}
}

// collect takes the receive chunks that have come back to the arena.
func (p *Epoll) collect() {
	for {
		chunk, ok := p.arena.TakeReturned()
		if !ok {
			return
		}
		p.chunks = append(p.chunks, chunk)
	}
}

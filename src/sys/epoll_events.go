package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

// note takes down what epoll reports of one descriptor.
func (p *Epoll) note(e *unix.EpollEvent) {
	if e.Pad == wakeGeneration {
		p.later.put(woken())
		return
	}
	fd := ring.Socket(e.Fd)
	s := &p.sockets[fd]
	if s.generation != uint32(e.Pad) || s.life == lifeClosed {
		p.counts.Stale++
		return
	}
	if e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.hungUp = true
	}
	if e.Events&unix.EPOLLOUT != 0 || s.hungUp {
		switch s.send {
		case sendConnect:
			p.settleConnect(s, fd)
		case sendSend:
			p.retry(s, fd)
		}
	}
	if e.Events&unix.EPOLLIN != 0 || s.hungUp {
		s.readable = true
		p.makeReady(s, fd)
	}
}

// settleConnect ends an OpConnect whose socket has become writable or failed.
func (p *Epoll) settleConnect(s *epollSocket, fd ring.Socket) {
	var failure int32
	size := uint32(unsafe.Sizeof(failure))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_ERROR, uintptr(unsafe.Pointer(&failure)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 {
		errno = unix.Errno(failure)
	}
	s.send = sendIdle
	if errno != 0 {
		s.forget()
		unix.Close(int(fd))
		p.later.put(connectFailed(s.sendToken, errno))
		return
	}
	connectSettled(int(fd), &p.options)
	p.later.put(connected(fd, s.sendToken))
}

// serve gives every ready socket one chance: one chunk for a connection, some
// connections for a listener. Sockets with more to give stay on the list. It
// returns how many events it stored.
func (p *Epoll) serve(events []ring.Event) int {
	n, served := 0, 0
	for count := len(p.ready); served < count && n < len(events); served++ {
		q := p.ready[served]
		s := &p.sockets[q.socket]
		if s.generation != q.generation {
			continue
		}
		s.inReady = false
		if s.arm != armArmed {
			continue
		}
		if s.listens {
			n += p.serveListener(s, q.socket, events[n:])
			s = &p.sockets[q.socket] // the records may have moved
		} else if p.serveStream(s, q.socket, &events[n]) {
			n++
		}
		p.makeReady(s, q.socket)
	}
	p.ready.drop(served)
	return n
}

func (p *Epoll) serveListener(s *epollSocket, fd ring.Socket, events []ring.Event) int {
	n := 0
	for n < min(len(events), acceptsMax) {
		accepted, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
		switch {
		case errno == 0:
			p.at(ring.Socket(accepted)).open()
			s = &p.sockets[fd] // the records may have moved
			events[n] = acceptedAs(ring.Socket(accepted), s.armToken)
			n++
			if s.acceptedLast() {
				s.toArm(armIdle)
				p.later.put(acceptEnded(fd, s.armToken, ring.ErrNone))
				return n
			}
		case errno == unix.EAGAIN:
			s.readable = false
			return n
		case s.life == lifeOpen && acceptRetries(errno):
		default:
			s.toArm(armIdle)
			events[n] = acceptEnded(fd, s.armToken, s.reason(errno))
			return n + 1
		}
	}
	return n
}

// serveStream receives once and reports whether it stored an event.
func (p *Epoll) serveStream(s *epollSocket, fd ring.Socket, e *ring.Event) bool {
	last := len(p.chunks) - 1
	if last < 0 {
		p.counts.NoBuffers++
		*e = recvEnded(fd, s.armToken, s.reasonNoBuffers())
		s.toArm(armIdle)
		return true
	}
	chunk := p.chunks[last]
	whole := p.arena.Whole(chunk)
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(p.base+whole.Off), uintptr(whole.Len), unix.MSG_DONTWAIT, 0, 0)
	n := int(r)
	switch {
	case errno == unix.EAGAIN:
		s.readable, s.hungUp = false, false
		return false
	case errno != 0 || n == 0:
		*e = recvEnded(fd, s.armToken, s.reason(errno))
		s.toArm(armIdle)
		return true
	}
	// A short read has emptied the socket: what comes later makes another edge. Not
	// so the end of the stream, which may have been reported already.
	s.readable = n == int(whole.Len) || s.hungUp
	*e = received(fd, s.armToken, p.arena.Received(chunk, n))
	p.chunks = p.chunks[:last]
	return true
}

package sys

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/ring"
)

// harvest turns completions into events until events is full or no more are there,
// and returns how many it stored. What is left waits in the completion ring.
func (u *Uring) harvest(events []ring.Event) int {
	if u.q.overflowed() {
		u.counts.Overflows++
	}
	head, tail := *u.q.cqHead, atomic.LoadUint32(u.q.cqTail)
	n := 0
	for head != tail && n < len(events) {
		c := &u.q.cqes[head&u.q.cqMask]
		head++
		if u.complete(c, &events[n]) {
			n++
		}
	}
	u.q.consume(head)
	return n
}

// complete handles one completion and reports whether it stored an event.
func (u *Uring) complete(c *cqe, e *ring.Event) bool {
	data := userData(c.userData)
	switch data.action() {
	case actWake:
		u.armWake()
		*e = woken()
		return true
	case actRung:
		*e = woken()
		return true
	case actBell:
		u.bellFailed(data.socket(), unix.Errno(-c.res))
		return false
	}
	fd := data.socket()
	s := &u.sockets[fd]
	if s.generation != data.generation() {
		u.stale(c, data.action())
		return false
	}
	switch data.action() {
	case actRecv:
		return u.completeRecv(s, fd, c, e)
	case actSend:
		s.send = sendIdle
		if c.res >= 0 {
			*e = sent(fd, s.sendToken, uint32(c.res), ring.ErrNone)
		} else {
			*e = sent(fd, s.sendToken, 0, s.reason(unix.Errno(-c.res)))
		}
		return true
	case actAccept:
		return u.completeAccept(s, fd, c, e)
	case actConnect:
		return u.completeConnect(s, fd, c, e)
	case actCancel:
		// It found nothing to cancel: either the operation has ended, or it was just
		// then on its way between two attempts and goes on.
		if s.arm == armStopping {
			u.cancel(s, fd)
		}
		return false
	}
	panic("sys: completion of an unknown operation")
}

// stale handles a completion for a socket that has been closed meanwhile.
func (u *Uring) stale(c *cqe, a action) {
	switch a {
	case actCancel: // it came too late, as intended
		return
	case actClose:
		panic("sys: close of a socket failed: " + unix.Errno(-c.res).Error())
	}
	u.counts.Stale++
	if c.flags&cqeBuffer != 0 {
		u.takeBack(c)
	}
}

// takeBack returns a chunk that the kernel gave up with nothing in it for us.
func (u *Uring) takeBack(c *cqe) {
	u.buffers.lent--
	u.buffers.put(buf.Block(c.flags >> cqeBufferShift))
}

func (u *Uring) completeRecv(s *uringSocket, fd ring.Socket, c *cqe, e *ring.Event) bool {
	if c.res > 0 {
		invariant.Assert(c.flags&cqeBuffer != 0, "sys: received bytes without a buffer")
		u.buffers.lent--
		data := u.arena.Received(buf.Block(c.flags>>cqeBufferShift), int(c.res))
		*e = received(fd, s.armToken, data)
		if c.flags&cqeMore == 0 {
			u.rearmRecv(s, fd)
		}
		return true
	}
	if c.flags&cqeBuffer != 0 {
		u.takeBack(c)
	}
	reason := s.reason(unix.Errno(-c.res))
	if c.res == -int32(unix.ENOBUFS) {
		u.counts.NoBuffers++
		reason = s.reasonNoBuffers()
	}
	s.toArm(armIdle)
	*e = recvEnded(fd, s.armToken, reason)
	return true
}

// rearmRecv goes on after the kernel has ended a receive operation by itself,
// because its completion ring was full.
func (u *Uring) rearmRecv(s *uringSocket, fd ring.Socket) {
	switch {
	case s.arm == armStopping:
		s.toArm(armIdle)
		u.later.put(recvEnded(fd, s.armToken, ring.ErrCanceled))
	case u.buffers.lent == 0:
		u.park(s, fd)
	default:
		u.armRecv(s, fd)
	}
}

func (u *Uring) completeAccept(s *uringSocket, fd ring.Socket, c *cqe, e *ring.Event) bool {
	if c.res >= 0 {
		accepted := ring.Socket(c.res)
		u.at(accepted).open()
		s = u.at(fd) // the records may have moved
		*e = acceptedAs(accepted, s.armToken)
		if c.flags&cqeMore == 0 {
			u.reacceptOrEnd(s, fd)
		}
		return true
	}
	if s.arm == armArmed && s.life == lifeOpen && acceptRetries(unix.Errno(-c.res)) {
		if c.flags&cqeMore == 0 {
			u.armAccept(s, fd)
		}
		return false
	}
	s.toArm(armIdle)
	*e = acceptEnded(fd, s.armToken, s.reason(unix.Errno(-c.res)))
	return true
}

// reacceptOrEnd goes on after the kernel has ended an accept operation by itself.
func (u *Uring) reacceptOrEnd(s *uringSocket, fd ring.Socket) {
	last, stopping := s.acceptedLast(), s.arm == armStopping
	if !last && !stopping {
		u.armAccept(s, fd)
		return
	}
	reason := ring.ErrNone
	if stopping {
		reason = ring.ErrCanceled
	}
	s.toArm(armIdle)
	u.later.put(acceptEnded(fd, s.armToken, reason))
}

func (u *Uring) completeConnect(s *uringSocket, fd ring.Socket, c *cqe, e *ring.Event) bool {
	s.send = sendIdle
	if c.res < 0 {
		token := s.sendToken
		s.forget()
		unix.Close(int(fd))
		*e = connectFailed(token, unix.Errno(-c.res))
		return true
	}
	connectSettled(int(fd), &u.options)
	*e = connected(fd, s.sendToken)
	return true
}

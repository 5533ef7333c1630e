package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/ring"
)

// blockedSlices is how many slices of a send that found the socket full are kept:
// with room back they go out, and their Sent event makes the caller send the rest.
// The caller's own list is gone by then.
const blockedSlices = 16

// blockedSend is a send that waits for room.
type blockedSend struct {
	count  int
	slices [blockedSlices]buf.Slice
}

// do carries out one operation, all but what must wait for the peer.
func (p *Epoll) do(op *ring.Op) {
	switch op.Kind {
	case ring.OpSend:
		p.send(op)
	case ring.OpRecv:
		p.recv(op)
	case ring.OpRecvStop, ring.OpAcceptStop:
		p.stop(op.Socket)
	case ring.OpAccept:
		p.accept(op)
	case ring.OpConnect:
		p.connect(op)
	case ring.OpShutdown:
		p.shutdown(op.Socket)
	case ring.OpClose:
		p.close(op.Socket)
	case ring.OpBell:
		signalEvent(int(op.Socket))
	default:
		panic("sys: unknown operation")
	}
}

func (p *Epoll) accept(op *ring.Op) {
	s, errno := p.known(op.Socket)
	s.listens = true
	if errno != 0 {
		p.later.put(acceptEnded(op.Socket, op.Token, s.reason(errno)))
		return
	}
	setNonblock(op.Socket, true) // another engine may have had it
	s.armToken, s.accepts = op.Token, op.Max
	s.toArm(armArmed)
	p.makeReady(s, op.Socket)
}

func (p *Epoll) recv(op *ring.Op) {
	s, errno := p.known(op.Socket)
	if errno != 0 {
		p.later.put(recvEnded(op.Socket, op.Token, s.reason(errno)))
		return
	}
	s.armToken = op.Token
	if s.starved || len(p.chunks) == 0 {
		p.park(s, op.Socket)
		return
	}
	s.toArm(armArmed)
	p.makeReady(s, op.Socket)
}

// park holds an OpRecv back until receive chunks are there.
func (p *Epoll) park(s *epollSocket, fd ring.Socket) {
	s.toArm(armParked)
	if !s.inParked {
		s.inParked = true
		p.parked = append(p.parked, name{socket: fd, generation: s.generation})
	}
}

// unpark arms as many parked sockets as there are chunks for.
func (p *Epoll) unpark() {
	taken := 0
	for quota := len(p.chunks); quota > 0 && taken < len(p.parked); taken++ {
		q := p.parked[taken]
		s := &p.sockets[q.socket]
		if s.generation != q.generation {
			continue
		}
		s.starved, s.inParked = false, false
		if s.arm == armParked {
			s.toArm(armArmed)
			p.makeReady(s, q.socket)
			quota--
		}
	}
	p.parked.drop(taken)
}

// makeReady puts an armed socket with something to receive on the ready list.
func (p *Epoll) makeReady(s *epollSocket, fd ring.Socket) {
	if s.arm == armArmed && s.readable && !s.inReady {
		s.inReady = true
		p.ready = append(p.ready, name{socket: fd, generation: s.generation})
	}
}

// stop ends the lasting operation of a socket, if it has one.
func (p *Epoll) stop(fd ring.Socket) {
	s := p.at(fd)
	if s.arm == armIdle {
		return
	}
	s.toArm(armIdle)
	if s.listens {
		p.later.put(acceptEnded(fd, s.armToken, ring.ErrCanceled))
	} else {
		p.later.put(recvEnded(fd, s.armToken, ring.ErrCanceled))
	}
}

// send tries at once. Only a send that finds no room at all waits.
func (p *Epoll) send(op *ring.Op) {
	s, errno := p.known(op.Socket)
	invariant.Assert(s.send == sendIdle, "sys: two sends in flight on one socket")
	invariant.Assert(len(op.Out) > 0, "sys: a send of nothing")
	s.sendToken = op.Token
	if errno != 0 { // whoever waits for room could not be told
		p.later.put(s.sent(op.Socket, 0, errno))
		return
	}
	n, errno := p.transmit(op.Socket, op.Out)
	if errno == unix.EAGAIN {
		s.send = sendSend
		s.blocked = p.block(op.Out)
		return
	}
	p.later.put(s.sent(op.Socket, n, errno))
}

// sent is the event that ends a send.
func (s *epollSocket) sent(fd ring.Socket, n uint32, errno unix.Errno) ring.Event {
	if errno != 0 {
		return sent(fd, s.sendToken, 0, s.reason(errno))
	}
	return sent(fd, s.sendToken, n, ring.ErrNone)
}

// transmit hands slices to the kernel, as many bytes as there is room for.
func (p *Epoll) transmit(fd ring.Socket, out []buf.Slice) (uint32, unix.Errno) {
	const flags = unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT
	if len(out) == 1 {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(p.base+out[0].Off), uintptr(out[0].Len), flags, 0, 0)
		return uint32(n), errno
	}
	out = out[:min(len(out), sendSlicesMax)]
	for i := range out {
		p.vectors[i] = iovec{base: p.base + out[i].Off, len: uint64(out[i].Len)}
	}
	header := msghdr{iov: uint64(uintptr(unsafe.Pointer(&p.vectors[0]))), iovLen: uint64(len(out))}
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&header)), flags)
	return uint32(n), errno
}

// block keeps the first slices of a send and returns the number of its entry.
func (p *Epoll) block(out []buf.Slice) int32 {
	if len(p.free) == 0 {
		p.free = append(p.free, int32(len(p.blocked)))
		p.blocked = append(p.blocked, blockedSend{})
	}
	last := len(p.free) - 1
	i := p.free[last]
	p.free = p.free[:last]
	b := &p.blocked[i]
	b.count = copy(b.slices[:], out)
	return i
}

// retry goes on with a send that waits, now that there is room or an error.
func (p *Epoll) retry(s *epollSocket, fd ring.Socket) {
	b := &p.blocked[s.blocked]
	n, errno := p.transmit(fd, b.slices[:b.count])
	if errno == unix.EAGAIN {
		return
	}
	p.free = append(p.free, s.blocked)
	s.send = sendIdle
	p.later.put(s.sent(fd, n, errno))
}

func (p *Epoll) connect(op *ring.Op) {
	fd, errno := openStream(op.Addr.Addr(), unix.SOCK_NONBLOCK, &p.options)
	if errno != 0 {
		p.later.put(connectFailed(op.Token, errno))
		return
	}
	var address sockaddr
	if address.encode(op.Addr) != nil {
		errno = unix.ENETUNREACH
	} else {
		_, _, errno = unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address)), uintptr(address.length()))
	}
	if errno != 0 && errno != unix.EINPROGRESS {
		unix.Close(fd)
		p.later.put(connectFailed(op.Token, errno))
		return
	}
	s := p.at(ring.Socket(fd))
	s.open()
	// Only now: a socket that is not connecting yet counts as hung up. What has
	// happened meanwhile is reported with the next wait.
	if errno := p.register(s, ring.Socket(fd)); errno != 0 {
		s.forget()
		unix.Close(fd)
		p.later.put(connectFailed(op.Token, errno))
		return
	}
	s.send, s.sendToken = sendConnect, op.Token
}

func (p *Epoll) shutdown(fd ring.Socket) {
	s := p.at(fd)
	s.life = lifeShut
	unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), unix.SHUT_RDWR, 0) // ENOTCONN: the peer was first
	if s.arm == armParked {
		p.stop(fd)
	}
}

func (p *Epoll) close(fd ring.Socket) {
	s := p.at(fd)
	invariant.Assert(s.idle(), "sys: close of a socket with operations in flight")
	s.forget()
	_, _, errno := unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	if errno == unix.EBADF {
		panic("sys: close of a socket failed: " + errno.Error())
	}
}

package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/ring"
)

// sendSlicesMax is how many slices one send carries at most (UIO_MAXIOV); what is
// beyond makes it a short send.
const sendSlicesMax = 1024

// sendBytesMax is how many bytes one send carries at most. The kernel reports a send when
// all of it is out, and the reader of a long reply shall be seen to make progress.
const sendBytesMax = 1 << 20

// sendFlags: no SIGPIPE, and the kernel goes on until all is sent.
const sendFlags = unix.MSG_NOSIGNAL | unix.MSG_WAITALL

// do carries out one operation: most become a submission.
func (u *Uring) do(op *ring.Op) {
	switch op.Kind {
	case ring.OpSend:
		u.send(op)
	case ring.OpRecv:
		u.recv(op)
	case ring.OpRecvStop, ring.OpAcceptStop:
		u.stop(op.Socket)
	case ring.OpAccept:
		u.accept(op)
	case ring.OpConnect:
		u.connect(op)
	case ring.OpShutdown:
		u.shutdown(op.Socket)
	case ring.OpClose:
		u.close(op.Socket)
	case ring.OpBell:
		u.bell(op.Socket)
	default:
		panic("sys: unknown operation")
	}
}

// submission is a slot for an operation on a known socket.
func (u *Uring) submission(s *uringSocket, fd ring.Socket, a action) *sqe {
	slot := u.q.next()
	s.submission = u.q.tail - 1
	slot.fd = int32(fd)
	slot.userData = uint64(makeUserData(a, s.generation, fd))
	return slot
}

func (u *Uring) accept(op *ring.Op) {
	s := u.known(op.Socket)
	setNonblock(op.Socket, false) // another engine may have had it
	s.armToken, s.lasting, s.accepts = op.Token, actAccept, op.Max
	s.toArm(armArmed)
	u.armAccept(s, op.Socket)
}

func (u *Uring) armAccept(s *uringSocket, fd ring.Socket) {
	slot := u.submission(s, fd, actAccept)
	slot.opcode = opAccept
	if s.accepts == 0 { // else one by one: the kernel would take all that there are
		slot.ioprio = acceptMultishot
	}
	slot.opFlags = unix.SOCK_CLOEXEC
}

func (u *Uring) recv(op *ring.Op) {
	s := u.known(op.Socket)
	s.armToken, s.lasting = op.Token, actRecv
	if s.starved || u.buffers.lent == 0 {
		u.park(s, op.Socket)
		return
	}
	s.toArm(armArmed)
	u.armRecv(s, op.Socket)
}

func (u *Uring) armRecv(s *uringSocket, fd ring.Socket) {
	slot := u.submission(s, fd, actRecv)
	slot.opcode = opRecv
	slot.flags = sqeBufferSelect
	slot.ioprio = recvMultishot
	slot.bufGroup = bufferGroup
}

// park holds an OpRecv back until receive chunks are there: in the kernel it would
// end at once, again and again.
func (u *Uring) park(s *uringSocket, fd ring.Socket) {
	s.toArm(armParked)
	if !s.inParked {
		s.inParked = true
		u.parked = append(u.parked, name{socket: fd, generation: s.generation})
	}
}

// unpark arms as many parked sockets as there are chunks for.
func (u *Uring) unpark() {
	taken := 0
	for quota := u.buffers.lent; quota > 0 && taken < len(u.parked); taken++ {
		p := u.parked[taken]
		s := &u.sockets[p.socket]
		if s.generation != p.generation {
			continue
		}
		s.starved, s.inParked = false, false
		if s.arm == armParked {
			s.toArm(armArmed)
			u.armRecv(s, p.socket)
			quota--
		}
	}
	u.parked.drop(taken)
}

// stop ends the lasting operation of a socket, if it has one.
func (u *Uring) stop(fd ring.Socket) {
	s := u.at(fd)
	switch s.arm {
	case armParked:
		u.endParked(s, fd)
	case armArmed:
		s.toArm(armStopping)
		u.cancel(s, fd)
	case armIdle, armStopping:
	}
}

func (u *Uring) endParked(s *uringSocket, fd ring.Socket) {
	s.toArm(armIdle)
	u.later.put(recvEnded(fd, s.armToken, ring.ErrCanceled))
}

// cancel asks the kernel to end the lasting operation of a socket, and only that:
// a send in flight goes on.
func (u *Uring) cancel(s *uringSocket, fd ring.Socket) {
	slot := u.submission(s, fd, actCancel)
	slot.opcode = opAsyncCancel
	slot.flags = sqeCQESkipSuccess
	slot.fd = -1
	slot.addr = uint64(makeUserData(s.lasting, s.generation, fd))
}

func (u *Uring) send(op *ring.Op) {
	s := u.known(op.Socket)
	invariant.Assert(s.send == sendIdle, "sys: two sends in flight on one socket")
	invariant.Assert(len(op.Out) > 0, "sys: a send of nothing")
	s.send, s.sendToken = sendSend, op.Token
	if len(op.Out) == 1 {
		slot := u.submission(s, op.Socket, actSend)
		slot.opcode = opSend
		slot.addr = u.base + op.Out[0].Off
		slot.len = min(op.Out[0].Len, sendBytesMax)
		slot.opFlags = sendFlags
		return
	}
	header := u.gather(op.Out[:min(len(op.Out), sendSlicesMax)])
	slot := u.submission(s, op.Socket, actSend)
	slot.opcode = opSendmsg
	slot.addr = header
	slot.len = 1
	slot.opFlags = sendFlags
}

// gather writes a message header and the list of slices to the scratch and returns
// the header's address.
func (u *Uring) gather(out []buf.Slice) uint64 {
	const headerBytes = int(unsafe.Sizeof(msghdr{}))
	p := u.q.reserve(headerBytes + len(out)*int(unsafe.Sizeof(iovec{})))
	header := (*msghdr)(p)
	first := unsafe.Add(p, headerBytes)
	vectors := unsafe.Slice((*iovec)(first), len(out))
	used, room := 0, uint32(sendBytesMax)
	for ; used < len(out) && room > 0; used++ {
		n := min(out[used].Len, room)
		vectors[used] = iovec{base: u.base + out[used].Off, len: uint64(n)}
		room -= n
	}
	*header = msghdr{iov: uint64(uintptr(first)), iovLen: uint64(used)}
	return uint64(uintptr(p))
}

func (u *Uring) connect(op *ring.Op) {
	fd, errno := openStream(op.Addr.Addr(), 0, &u.options)
	if errno != 0 {
		u.later.put(connectFailed(op.Token, errno))
		return
	}
	address := (*sockaddr)(u.q.reserve(int(unsafe.Sizeof(sockaddr{}))))
	if address.encode(op.Addr) != nil {
		unix.Close(fd)
		u.later.put(connectFailed(op.Token, unix.ENETUNREACH))
		return
	}
	s := u.at(ring.Socket(fd))
	s.open()
	s.send, s.sendToken = sendConnect, op.Token
	slot := u.submission(s, ring.Socket(fd), actConnect)
	slot.opcode = opConnect
	slot.addr = uint64(uintptr(unsafe.Pointer(address)))
	slot.off = uint64(address.length())
}

// shutdown happens at once, but not before the operations already given for the
// socket. The ring's own shutdown would run on another thread, at any time.
func (u *Uring) shutdown(fd ring.Socket) {
	s := u.at(fd)
	if u.q.pending(s.submission) {
		u.q.submit()
	}
	s.life = lifeShut
	unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), unix.SHUT_RDWR, 0) // ENOTCONN: the peer was first
	if s.arm == armParked {
		u.endParked(s, fd)
	}
}

func (u *Uring) close(fd ring.Socket) {
	s := u.at(fd)
	invariant.Assert(s.idle(), "sys: close of a socket with operations in flight")
	slot := u.submission(s, fd, actClose)
	slot.opcode = opClose
	slot.flags = sqeCQESkipSuccess
	s.forget()
}

// armWake lets the next Wake complete a read.
func (u *Uring) armWake() {
	slot := u.q.next()
	slot.opcode = opRead
	slot.fd = int32(u.wakeFD)
	slot.addr = uint64(uintptr(unsafe.Pointer(&u.q.control.woke)))
	slot.len = uint32(unsafe.Sizeof(u.q.control.woke))
	slot.userData = uint64(makeUserData(actWake, 0, 0))
}

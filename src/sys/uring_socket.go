package sys

import (
	"golang.org/x/sys/unix"

	"mithril/src/invariant"
	"mithril/src/ring"
)

// armState is where the lasting operation of a socket stands: OpAccept of a
// listener, OpRecv of a connection. The table is in doc.go.
type armState uint8

const (
	armIdle     armState = iota // no operation
	armArmed                    // in the kernel
	armParked                   // held here until receive chunks are back
	armStopping                 // in the kernel, with a cancellation on its way
)

// armEdges[from] has the bit of every state that may follow.
var armEdges = [...]uint8{
	armIdle:     1<<armArmed | 1<<armParked,
	armArmed:    1<<armIdle | 1<<armParked | 1<<armStopping,
	armParked:   1<<armIdle | 1<<armArmed,
	armStopping: 1 << armIdle,
}

// sendState is what a socket has in flight towards its peer.
type sendState uint8

const (
	sendIdle    sendState = iota
	sendConnect           // OpConnect
	sendSend              // OpSend
)

// lifeState is how far a socket is on its way to the end.
type lifeState uint8

const (
	lifeClosed lifeState = iota // not open, or not known to the engine
	lifeOpen
	lifeShut // OpShutdown was given: what ends now has been canceled
)

// uringSocket is what the engine knows of one descriptor.
type uringSocket struct {
	armToken   ring.Token
	sendToken  ring.Token
	generation uint32 // counts the sockets that had this number
	submission uint32 // number of the last submission that names the socket
	lasting    action // what armToken belongs to: actAccept or actRecv
	arm        armState
	send       sendState
	life       lifeState
	inParked   bool // an entry of the list of parked sockets names it
}

func (s *uringSocket) toArm(next armState) {
	invariant.Assert(armEdges[s.arm]&(1<<next) != 0, "sys: a recv or accept was given twice, or ended twice")
	s.arm = next
}

// open makes the record that of a new socket. The number may be marked open still:
// an accepted socket can be handed to another worker, whose engine closes it.
func (s *uringSocket) open() {
	invariant.Assert(s.arm == armIdle && s.send == sendIdle, "sys: a new socket has the number of one with operations in flight")
	if s.life != lifeClosed {
		s.forget()
	}
	s.life = lifeOpen
}

// forget makes the record that of no socket.
func (s *uringSocket) forget() {
	s.life = lifeClosed
	s.inParked = false
	s.generation = (s.generation + 1) & ring.GenerationMask
}

// ended is why an operation of the socket ended with a result of 0 or below.
func (s *uringSocket) ended(res int32) ring.Err {
	if s.life == lifeShut {
		return ring.ErrCanceled
	}
	return errOf(unix.Errno(-res))
}

// userData of a submission names the operation, the socket and its generation:
//
//	63      56 55                32 31                 0
//	| action | generation          | descriptor          |
type userData uint64

// action is the operation in a userData.
type action uint8

const (
	actAccept action = iota + 1
	actConnect
	actRecv
	actSend
	actCancel
	actClose
	actWake
	actCancelAll
)

func makeUserData(a action, generation uint32, fd ring.Socket) userData {
	return userData(a)<<56 | userData(generation&ring.GenerationMask)<<32 | userData(uint32(fd))
}

func (u userData) action() action      { return action(u >> 56) }
func (u userData) generation() uint32  { return uint32(u>>32) & ring.GenerationMask }
func (u userData) socket() ring.Socket { return ring.Socket(uint32(u)) }

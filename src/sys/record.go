package sys

import (
	"golang.org/x/sys/unix"

	"mithril/src/invariant"
	"mithril/src/ring"
)

// armState is where the lasting operation of a socket stands: OpAccept of a
// listener, OpRecv of a connection. The drawing is in doc.go.
type armState uint8

const (
	armIdle     armState = iota // no operation
	armArmed                    // accepting or receiving
	armParked                   // an OpRecv held back until receive chunks are there
	armStopping                 // io_uring: armed, with a cancellation on its way
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

// record is what an engine knows of one descriptor.
type record struct {
	armToken   ring.Token
	sendToken  ring.Token
	generation uint32 // counts the sockets that had this number
	accepts    uint32 // connections that its OpAccept may still take; 0: any number
	arm        armState
	send       sendState
	life       lifeState
	starved    bool // its last OpRecv ended with ErrNoBuffers: the next one queues up
	inParked   bool // an entry of the list of parked sockets names it
}

func (s *record) toArm(next armState) {
	invariant.Assert(armEdges[s.arm]&(1<<next) != 0, "sys: a recv or accept was given twice, or ended twice")
	s.arm = next
}

// open makes the record that of a new socket. The number may be marked open still:
// an accepted socket can be handed to another worker, whose engine closes it.
func (s *record) open() {
	invariant.Assert(s.idle(), "sys: a new socket has the number of one with operations in flight")
	s.forget()
	s.life = lifeOpen
}

// acceptedLast counts a connection that OpAccept has taken and says that it was the last
// one wanted.
func (s *record) acceptedLast() bool {
	if s.accepts == 0 {
		return false
	}
	s.accepts--
	return s.accepts == 0
}

// idle says that the socket has no operation armed or in flight.
func (s *record) idle() bool { return s.arm == armIdle && s.send == sendIdle }

// forget makes the record that of no socket.
func (s *record) forget() {
	s.life = lifeClosed
	s.starved, s.inParked = false, false
	s.generation = (s.generation + 1) & ring.GenerationMask
}

// reason is why an operation of the socket ended with errno.
func (s *record) reason(errno unix.Errno) ring.Err {
	if s.life == lifeShut {
		return ring.ErrCanceled
	}
	return errOf(errno)
}

// reasonNoBuffers is why an OpRecv ended that found no receive chunk.
func (s *record) reasonNoBuffers() ring.Err {
	s.starved = true
	if s.life == lifeShut || s.arm == armStopping {
		return ring.ErrCanceled
	}
	return ring.ErrNoBuffers
}

// name tells a socket from earlier ones that had its number.
type name struct {
	socket     ring.Socket
	generation uint32
}

// names is a queue of sockets.
type names []name

// drop removes the first n.
func (q *names) drop(n int) {
	if n > 0 {
		*q = append((*q)[:0], (*q)[n:]...)
	}
}

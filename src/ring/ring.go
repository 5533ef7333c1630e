package ring

import (
	"net/netip"

	"mithril/src/buf"
)

// Ring does the input and output of one worker. All methods but Wake are called
// from the worker's thread only.
type Ring interface {
	// Turn hands over ops, waits as wait says and stores up to len(events) events,
	// whose number it returns. Events that did not fit come with the next Turn,
	// which then does not wait.
	Turn(ops []Op, wait Wait, events []Event) int

	// Now is the time in nanoseconds of a monotonic clock, read once when the last
	// Turn returned.
	Now() int64

	// CPU is how much processor time the worker's thread has used, in nanoseconds. It
	// may cost a system call.
	CPU() int64

	// Peer is the remote address of an accepted socket; the zero AddrPort if it is
	// gone already.
	Peer(s Socket) netip.AddrPort

	// Local is the address of this side of an accepted socket; the zero AddrPort if it is
	// gone already.
	Local(s Socket) netip.AddrPort

	// Left says of a connection that its peer will send nothing more, or that the
	// connection is broken, even if received bytes are before that or nothing is being
	// received. It is for now and then: it costs a system call.
	Left(s Socket) bool

	// Wake makes the current or next wait return with a Woken event. It may be
	// called from any thread; several calls may yield one event.
	Wake()

	// Bell is what an OpBell names to wake this engine. It is the same for as long as the
	// engine is open.
	Bell() Socket
}

// Socket is the engine's number of a socket (a file descriptor in the kernel
// engines). NoSocket is none.
type Socket int32

// NoSocket is not a socket.
const NoSocket Socket = -1

// Forever is a Deadline that never comes.
const Forever int64 = 1<<63 - 1

// Wait says how long Turn may block.
type Wait struct {
	// Deadline is the time, on the clock of Now, at which Turn returns even without
	// an event. Forever waits for an event; 0 does not block at all.
	Deadline int64
	// Min and Window let events gather: with Window above 0, Turn returns when Min
	// events are there, or when Window nanoseconds have passed and at least one is.
	// With Window 0 one event is enough.
	Min    int
	Window int64
}

// OpKind names an operation.
type OpKind uint8

// The operations. The comment names the events that answer each.
const (
	// OpAccept accepts connections on the listening Socket, Max of them if that is not 0:
	// Accepted, AcceptEnded.
	OpAccept OpKind = iota + 1
	// OpAcceptStop ends an armed OpAccept: its AcceptEnded carries ErrCanceled.
	OpAcceptStop
	// OpConnect opens a new socket and connects it to Addr: Connected.
	OpConnect
	// OpRecv receives: Received, RecvEnded.
	OpRecv
	// OpRecvStop ends an armed OpRecv: its RecvEnded carries ErrCanceled. Received
	// events may still come before it. Without an armed OpRecv it does nothing.
	OpRecvStop
	// OpSend sends the bytes of Out in order: Sent.
	OpSend
	// OpShutdown closes both directions, so that the peer sees the end and armed
	// operations finish. It has no event.
	OpShutdown
	// OpClose gives the socket back. It has no event.
	OpClose
	// OpBell wakes another engine, the one whose Bell the Socket is: the current or next wait
	// of that engine returns with a Woken event. Several may yield one event. It has no
	// event here. Given before the sends of a turn it does not have to wait for them, which is
	// some microseconds for each.
	OpBell
)

// Op is one operation.
type Op struct {
	Kind   OpKind
	Socket Socket
	Token  Token
	Out    []buf.Slice
	Addr   netip.AddrPort
	Max    uint32 // connections
}

// EventKind names an event.
type EventKind uint8

// The events.
const (
	// Accepted: Socket is the new connection; Token is the listener's.
	Accepted EventKind = iota + 1
	// AcceptEnded: the listener accepts no more until OpAccept is given again. ErrNone
	// means that Max connections have been accepted.
	AcceptEnded
	// Connected: Err is ErrNone and Socket the new connection, or Err says why not
	// and there is no socket.
	Connected
	// Received: Data holds what arrived, at least one byte.
	Received
	// RecvEnded: nothing more is received for this OpRecv. ErrNone means that the
	// peer has closed its sending side.
	RecvEnded
	// Sent: N bytes were sent, or Err says what went wrong; N may be short.
	Sent
	// Woken: Wake was called, or another engine was given an OpBell. It has no token.
	Woken
)

// Event answers an operation.
type Event struct {
	Kind   EventKind
	Err    Err
	Socket Socket
	N      uint32
	Token  Token
	Data   buf.Slice
}

// Err is why an operation ended, in the terms a worker acts on.
type Err uint8

// The errors.
const (
	ErrNone        Err = iota
	ErrCanceled        // ended by OpRecvStop, OpAcceptStop or OpShutdown
	ErrNoBuffers       // every receive chunk is in use
	ErrReset           // the peer or the network broke the connection
	ErrRefused         // nobody listens there
	ErrUnreachable     // no route, or the network is down
	ErrTimedOut        // the peer did not answer in time
	ErrDescriptors     // the process or the system has no more descriptors
	ErrResources       // the kernel has no memory for the operation, or fs.epoll.max_user_watches is reached
	ErrOther           // anything else
)

var errNames = [...]string{
	ErrNone:        "no error",
	ErrCanceled:    "canceled",
	ErrNoBuffers:   "no receive buffer free",
	ErrReset:       "connection reset",
	ErrRefused:     "connection refused",
	ErrUnreachable: "host unreachable",
	ErrTimedOut:    "timed out",
	ErrDescriptors: "too many open files",
	ErrResources:   "the kernel has no memory for it or reached fs.epoll.max_user_watches",
	ErrOther:       "i/o error",
}

// String is the error in words, as log lines and error replies show it.
func (e Err) String() string { return errNames[e] }

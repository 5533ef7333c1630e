package worker

import (
	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/ring"
)

// endState is where the worker's end of a socket is in its life; doc.go draws it.
type endState uint8

const (
	endOpening endState = iota
	endOpen
	endJoining
	endGone
	endStates
)

var endAllowed = [endStates]uint8{
	endOpening: 1<<endOpen | 1<<endJoining | 1<<endGone,
	endOpen:    1 << endJoining,
	endJoining: 1 << endGone,
	endGone:    0,
}

// recvState is what the ring has been asked to receive on a socket.
type recvState uint8

const (
	recvOff      recvState = iota
	recvArmed              // received bytes come as they arrive
	recvStopping           // asked to stop; bytes may still come
	recvOver               // the peer has closed its side, or the connection is broken
)

// end is the worker's end of one socket.
type end struct {
	socket ring.Socket
	token  ring.Token
	state  endState
	recv   recvState
	out    buf.Gather // handed to the ring; empty when no send is in flight

	expected uint64 // the epoch of expectation that counts it, 0 if none
}

func (e *end) become(next endState) {
	invariant.Assert(endAllowed[e.state]&(1<<next) != 0, "worker: transition of a socket that the table does not have")
	e.state = next
}

// sending says that a send is in flight.
func (e *end) sending() bool { return e.out.Bytes() > 0 }

// receive asks for received bytes, unless they come already.
func (w *Worker) receive(e *end) {
	if e.state == endOpen && e.recv == recvOff {
		e.recv = recvArmed
		w.ops = append(w.ops, ring.Op{Kind: ring.OpRecv, Socket: e.socket, Token: e.token})
	}
}

// pause asks that received bytes stop coming.
func (w *Worker) pause(e *end) {
	if e.state == endOpen && e.recv == recvArmed {
		e.recv = recvStopping
		w.ops = append(w.ops, ring.Op{Kind: ring.OpRecvStop, Socket: e.socket, Token: e.token})
	}
}

// send hands everything in pending to the ring. No send may be in flight.
func (w *Worker) send(e *end, pending *buf.Gather) {
	invariant.Assert(e.state == endOpen && !e.sending(), "worker: second send in flight on a socket")
	e.out, *pending = *pending, e.out
	w.submitSend(e)
}

func (w *Worker) submitSend(e *end) {
	w.ops = append(w.ops, ring.Op{Kind: ring.OpSend, Socket: e.socket, Token: e.token, Out: e.out.Slices()})
	w.sends++
}

// shut begins the end of the socket. What the ring still has for it is awaited.
func (w *Worker) shut(e *end) {
	switch e.state {
	case endOpening:
		// The connect ends by itself; join sees to the rest.
		e.become(endJoining)
	case endOpen:
		e.become(endJoining)
		if e.socket == ring.NoSocket {
			return // another worker has it
		}
		w.ops = append(w.ops, ring.Op{Kind: ring.OpShutdown, Socket: e.socket, Token: e.token})
	}
}

// joined closes the socket once nothing is in flight on it any more, and says so.
func (w *Worker) joined(e *end, connecting bool) bool {
	if e.state != endJoining || connecting || e.sending() || e.recv == recvArmed || e.recv == recvStopping {
		return false
	}
	if e.socket != ring.NoSocket {
		w.ops = append(w.ops, ring.Op{Kind: ring.OpClose, Socket: e.socket, Token: e.token})
	}
	e.become(endGone)
	return true
}

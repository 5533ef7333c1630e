package sys

import (
	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

// The events, one constructor each, for both engines.

// noData is the Data of an event that has none.
var noData = buf.Slice{Block: buf.NoBlock}

func acceptedAs(s ring.Socket, listener ring.Token) ring.Event {
	return ring.Event{Kind: ring.Accepted, Socket: s, Token: listener, Data: noData}
}

func acceptEnded(s ring.Socket, t ring.Token, err ring.Err) ring.Event {
	return ring.Event{Kind: ring.AcceptEnded, Err: err, Socket: s, Token: t, Data: noData}
}

func connected(s ring.Socket, t ring.Token) ring.Event {
	return ring.Event{Kind: ring.Connected, Socket: s, Token: t, Data: noData}
}

func connectFailed(t ring.Token, errno unix.Errno) ring.Event {
	return ring.Event{Kind: ring.Connected, Err: errOf(errno), Socket: ring.NoSocket, Token: t, Data: noData}
}

func received(s ring.Socket, t ring.Token, data buf.Slice) ring.Event {
	return ring.Event{Kind: ring.Received, Socket: s, N: data.Len, Token: t, Data: data}
}

func recvEnded(s ring.Socket, t ring.Token, err ring.Err) ring.Event {
	return ring.Event{Kind: ring.RecvEnded, Err: err, Socket: s, Token: t, Data: noData}
}

func sent(s ring.Socket, t ring.Token, n uint32, err ring.Err) ring.Event {
	return ring.Event{Kind: ring.Sent, Err: err, Socket: s, N: n, Token: t, Data: noData}
}

func woken() ring.Event {
	return ring.Event{Kind: ring.Woken, Socket: ring.NoSocket, Data: noData}
}

// backlog is a queue of events that have no room in the current turn's slice.
type backlog struct {
	events []ring.Event
	head   int
}

func (b *backlog) put(e ring.Event) { b.events = append(b.events, e) }

// take moves queued events into events and returns how many.
func (b *backlog) take(events []ring.Event) int {
	n := copy(events, b.events[b.head:])
	b.head += n
	if b.head == len(b.events) {
		b.events, b.head = b.events[:0], 0
	}
	return n
}

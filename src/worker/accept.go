package worker

import (
	"net/netip"

	"mithril/src/invariant"
	"mithril/src/ring"
)

const (
	// TurnedAwayMax is how many clients too many a worker has at once for each of its
	// listeners. Each takes a descriptor until it has been told, and descriptors beyond
	// those of MaxClients are held back for nodes. The others wait to be accepted.
	TurnedAwayMax = 8

	// acceptRetry is how long a listener rests when the process is out of descriptors.
	acceptRetry = 100 * millisecond
)

// acceptState is what a listener has been asked to do.
type acceptState uint8

const (
	acceptOff      acceptState = iota // it rests, or its end has been told
	acceptAny                         // to take connections as they come
	acceptFew                         // to take a few
	acceptStopping                    // to stop; connections may still come
	acceptStates
)

var acceptAllowed = [acceptStates]uint8{
	acceptOff:      1<<acceptAny | 1<<acceptFew,
	acceptAny:      1<<acceptOff | 1<<acceptStopping,
	acceptFew:      1<<acceptOff | 1<<acceptStopping,
	acceptStopping: 1 << acceptOff,
}

func (w *Worker) acceptBecomes(listener int, next acceptState) {
	state := &w.accepting[listener]
	invariant.Assert(acceptAllowed[*state]&(1<<next) != 0, "worker: transition of a listener that the table does not have")
	*state = next
}

// accept makes a listener go on. While there may be more clients than MaxClients soon,
// connections are taken a few at a time: an engine asked for any number takes all that
// wait, and with them every descriptor there is.
func (w *Worker) accept(listener int) {
	if w.accepting[listener] != acceptOff || w.draining {
		return
	}
	op := ring.Op{
		Kind:   ring.OpAccept,
		Socket: w.Listeners[listener],
		Token:  ring.MakeToken(ring.KindListener, 0, uint32(listener)),
	}
	next := acceptAny
	if w.crowded() {
		if w.turnedAway >= TurnedAwayMax {
			return // until one of them is gone
		}
		next, op.Max = acceptFew, uint32(TurnedAwayMax-w.turnedAway)
	}
	w.acceptBecomes(listener, next)
	w.ops = append(w.ops, op)
}

// crowded says that a burst of clients can be too many.
func (w *Worker) crowded() bool { return w.Shared.Clients.Load()+w.AcceptBurst > w.MaxClients }

// stopAccepting asks a listener to stop, unless it has stopped or been asked.
func (w *Worker) stopAccepting(listener int) {
	if state := w.accepting[listener]; state != acceptAny && state != acceptFew {
		return
	}
	w.acceptBecomes(listener, acceptStopping)
	w.ops = append(w.ops, ring.Op{
		Kind: ring.OpAcceptStop, Socket: w.Listeners[listener], Token: ring.MakeToken(ring.KindListener, 0, uint32(listener)),
	})
}

func (w *Worker) acceptEnded(ev *ring.Event) {
	listener := int(ev.Token.Index())
	w.acceptBecomes(listener, acceptOff)
	if w.draining {
		w.closeListener(listener)
		return
	}
	if ev.Err != ring.ErrNone && ev.Err != ring.ErrCanceled {
		if !w.turnedOff {
			w.turnedOff = true
			w.Log.Warn("accepting clients paused", "worker", w.Number, "reason", ev.Err.String())
		}
		w.timers.Arm(w.now+acceptRetry, timerAccept|uint64(listener))
		return
	}
	w.accept(listener)
}

func (w *Worker) closeListener(listener int) {
	w.closing++
	w.ops = append(w.ops, ring.Op{
		Kind: ring.OpClose, Socket: w.Listeners[listener], Token: ring.MakeToken(ring.KindListener, 0, uint32(listener)),
	})
}

// accepted gives a new connection to a worker, or turns the client away.
func (w *Worker) accepted(ev *ring.Event) {
	w.turnedOff = false
	id := w.Shared.LastID.Add(1)
	if refusal := w.refusal(w.Shared.Clients.Add(1), ev.Socket); refusal != "" {
		w.turnAway(w.admit(ev.Socket, id), refusal)
	} else {
		w.placeClient(ev.Socket, id)
	}
	if listener := int(ev.Token.Index()); w.accepting[listener] == acceptAny && w.crowded() {
		w.stopAccepting(listener) // and go on with a few
	}
}

// refusal is why a new client is not served, "" if it is.
func (w *Worker) refusal(clients int64, socket ring.Socket) string {
	switch {
	case clients > w.MaxClients:
		return errMaxClients
	case w.Protected && !w.Ring.Peer(socket).Addr().Unmap().IsLoopback():
		// One without an address has reset the connection, but what it has sent can be read.
		return errProtected
	}
	return ""
}

// admit makes a session of a connection.
func (w *Worker) admit(socket ring.Socket, id uint64) *client {
	c, token := w.clients.take()
	c.Init(&w.env, token, id, w.Ring.Peer(socket), w.now)
	c.end = end{socket: socket, token: token, state: endOpen}
	c.dirty, c.ready, c.turnedAway, c.waitsOn = false, false, false, 0
	c.lane = w.laneOf(token)
	c.answered, c.waits, c.heard, c.moved, c.lookedAt = 0, w.now, w.now, w.now, w.now
	c.answers, c.received, c.delivered, c.local = 0, 0, 0, netip.AddrPort{}
	c.leases, c.upload, c.download, c.resentOn, c.aim = c.leases[:0], 0, 0, 0, aim{}
	w.counters.Connections++
	w.receive(&c.end)
	return c
}

// serve takes a client whose place is here.
func (w *Worker) serve(socket ring.Socket, id uint64) {
	c := w.admit(socket, id)
	if w.cut {
		c.Drain(&w.env) // it came when all others had been told
		w.touch(c)
	}
}

// turnAway tells a client why it is not served, and closes. It is none of those that
// MaxClients counts.
func (w *Worker) turnAway(c *client, reply string) {
	if c.Peer.IsValid() { // else it is gone, and nobody is told
		w.counters.Rejected++
	}
	w.Shared.Clients.Add(-1)
	c.turnedAway = true
	w.turnedAway++
	c.TurnAway(&w.env, []byte(reply))
	w.touch(c)
}

// leave takes a client that is gone from the count it is in, and lets others come for it.
func (w *Worker) leave(c *client) {
	if !c.turnedAway {
		w.Shared.Clients.Add(-1)
		return
	}
	w.turnedAway--
	for i := range w.Listeners {
		w.accept(i)
	}
}

package worker

import (
	"mithril/src/invariant"
	"mithril/src/pipe"
)

// tenure is whose requests a pipe takes.
//
//	None      just opened
//	Shared    those of every session with its key; the node's table names it
//	Leased    those of one session to this node, until all of them are answered
//	Detached  nobody's any more: a large reply passes on it, and what was asked behind
//	          it is still answered
//	Idle      nobody's now
//	Ended     the connection ends; from everywhere
//
//	None ---> Shared ---> Detached ---> Idle ---> Shared, Leased
//	  |                                  ^
//	  +-----> Leased --------------------+
//	             |          ^
//	             +------> Detached, when its session goes
type tenure uint8

const (
	tenureNone tenure = iota
	tenureShared
	tenureLeased
	tenureDetached
	tenureIdle
	tenureEnded
	tenures
)

var tenureAllowed = [tenures]uint8{
	tenureNone:     1<<tenureShared | 1<<tenureLeased | 1<<tenureEnded,
	tenureShared:   1<<tenureDetached | 1<<tenureEnded,
	tenureLeased:   1<<tenureIdle | 1<<tenureDetached | 1<<tenureEnded,
	tenureDetached: 1<<tenureIdle | 1<<tenureEnded,
	tenureIdle:     1<<tenureShared | 1<<tenureLeased | 1<<tenureEnded,
}

// idleFor is how long a connection that nobody needs is kept.
const idleFor = 10 * second

func (w *Worker) become(b *backend, next tenure) {
	invariant.Assert(tenureAllowed[b.tenure]&(1<<next) != 0, "worker: tenure of a pipe that the table does not allow")
	if b.far == nil && b.tenure.isPrivate() {
		b.node.private--
		w.privates--
	}
	if b.far == nil && next.isPrivate() {
		b.node.private++
		w.privates++
	}
	b.tenure = next
}

// isPrivate says that the connection counts as one that is not shared.
func (t tenure) isPrivate() bool { return t >= tenureLeased && t < tenureEnded }

// mayPrivate says that another connection to n may be one that is not shared. If need be
// one that is idle makes room.
func (w *Worker) mayPrivate(n *node) bool {
	if n.private < w.PrivateMax {
		return true
	}
	if len(n.idle) == 0 {
		return false
	}
	w.losePipe(n.idle[0], "")
	return true
}

// takeIdle returns an idle pipe with the key, nil if there is none.
func (w *Worker) takeIdle(n *node, key pipe.Key) *backend {
	key.Node = uint32(n.index)
	for i := len(n.idle) - 1; i >= 0; i-- {
		if b := n.idle[i]; b.Key == key {
			n.idle = append(n.idle[:i], n.idle[i+1:]...)
			return b
		}
	}
	return nil
}

// leaseOf returns the pipe to n that a client has leased, nil if it has none.
func (w *Worker) leaseOf(c *client, n *node) *backend {
	for _, t := range c.leases {
		if b := w.pipes.get(t); b.node == n {
			return b
		}
	}
	return nil
}

// lease gives a client a connection of its own to n; it must have nothing open. It is
// nil when n cannot be reached or the limit of such connections is reached.
func (w *Worker) lease(c *client, n *node) *backend {
	invariant.Assert(c.Pending() == 0, "worker: lease to a client with open requests")
	b := w.takeIdle(n, w.keyOf(c))
	if b == nil {
		if w.now < n.retryAt || !w.mayPrivate(n) {
			return nil
		}
		b = w.dial(n, w.keyOf(c))
	}
	w.become(b, tenureLeased)
	b.lessee = c.Token
	c.leases = append(c.leases, b.end.token)
	return b
}

// endLease takes a leased pipe from its client.
func (w *Worker) endLease(b *backend) {
	if c := w.clients.get(b.lessee); c != nil {
		for i, t := range c.leases {
			if t == b.end.token {
				c.leases = append(c.leases[:i], c.leases[i+1:]...)
				break
			}
		}
	}
	b.lessee = 0
}

// endLeases takes all of a client's pipes, since it is gone.
func (w *Worker) endLeases(c *client) {
	for len(c.leases) > 0 {
		b := w.pipes.get(c.leases[0])
		w.letGo(b, tenureDetached)
		if b.Len() == 0 {
			w.quiet(b)
		}
	}
}

// detach makes new requests of a shared pipe's sessions take another one, those of other
// workers too. Of a far pipe the worker with the connection is asked to.
func (w *Worker) detach(b *backend) {
	switch {
	case b.tenure != tenureShared || b.asked:
		return
	case b.far != nil:
		b.asked = true
		b.tellFar(letterDetach)
		return
	case !w.mayPrivate(b.node):
		return
	}
	w.abandon(b)
	w.tellLines(b, letterDetached)
}

// abandon makes those who have a pipe take another one for what is new.
func (w *Worker) abandon(b *backend) {
	if b.tenure == tenureShared || b.tenure == tenureLeased {
		w.letGo(b, tenureDetached)
		w.leaveAgain(b.node)
	}
	w.wakeWaiters(b)
}

// quiet is called when everything asked on a pipe is answered.
func (w *Worker) quiet(b *backend) {
	switch {
	case len(b.lines) > 0:
		return // they may have asked for more by now
	case b.Begun(), b.last:
		// Answered before it was whole, the rest of a request must not be taken for one,
		// nor the rest of an error for a reply.
		w.losePipe(b, "")
		return
	case b.tenure == tenureShared:
		return
	case b.State() != pipe.Ready, b.far != nil:
		w.losePipe(b, "")
		return
	case b.tenure == tenureLeased:
		w.endLease(b)
	}
	w.become(b, tenureIdle)
	b.patience = patience
	b.idleAt = w.now
	b.node.idle = append(b.node.idle, b)
}

// letGo takes a pipe from whoever has it.
func (w *Worker) letGo(b *backend, next tenure) {
	switch b.tenure {
	case tenureShared:
		b.node.unbind(b)
	case tenureLeased:
		w.endLease(b)
	case tenureIdle:
		n := b.node
		for i := range n.idle {
			if n.idle[i] == b {
				n.idle = append(n.idle[:i], n.idle[i+1:]...)
				break
			}
		}
	}
	w.become(b, next)
}

// sweepIdle closes connections that nobody has needed for a while.
func (w *Worker) sweepIdle(n *node) {
	for i := len(n.idle) - 1; i >= 0; i-- {
		if b := n.idle[i]; w.now-b.idleAt > idleFor {
			w.losePipe(b, "")
		}
	}
}

// stopReason is why what a node sends is not read.
type stopReason uint8

const (
	readOn       stopReason = iota
	stoppedEarly            // an earlier reply must go out before the large one that comes
	stoppedSlow             // the client takes its large reply slowly
	stoppedFar              // the worker that has asked does not take it now
	stoppedFull             // that worker has yet to take what was lent to it before
)

// stopReading stops a pipe: the node's bytes stay with the node.
func (w *Worker) stopReading(b *backend, why stopReason) {
	b.stopped, b.stoppedAt = why, w.now
	if b.far != nil {
		b.tellFar(letterPause)
		return
	}
	w.pause(&b.end)
}

// readOnAgain goes on reading a stopped pipe.
func (w *Worker) readOnAgain(b *backend) {
	invariant.Assert(b.State() != pipe.Closed, "worker: a pipe that is lost is read on")
	if (b.stopped == stoppedSlow || b.stopped == stoppedFar) && b.others {
		b.patience -= w.now - b.stoppedAt
	}
	b.stopped = readOn
	b.ReadOn(w.now)
	w.readReplies(b)
	switch {
	case b.State() == pipe.Closed:
	case b.ended && b.stopped == readOn:
		w.endFar(b)
	default:
		w.receiveReplies(b)
	}
}

// receiveReplies asks for what the node sends, unless the pipe is stopped.
func (w *Worker) receiveReplies(b *backend) {
	switch {
	case b.stopped != readOn:
	case b.far != nil:
		b.tellFar(letterResume)
	default:
		w.receive(&b.end)
	}
}

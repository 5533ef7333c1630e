package worker

import (
	"mithril/src/invariant"
	"mithril/src/pipe"
	"mithril/src/redirect"
	"mithril/src/ring"
)

// waitingRequest is a redirected request that waits before its next try.
type waitingRequest struct {
	pipe.Request
	node uint16
	used bool
}

// waitingRequests holds them; a timer carries the index of each.
type waitingRequests struct {
	list []waitingRequest
	free []uint32
}

func (q *waitingRequests) add(r waitingRequest) uint32 {
	r.used = true
	if k := len(q.free); k > 0 {
		i := q.free[k-1]
		q.free = q.free[:k-1]
		q.list[i] = r
		return i
	}
	q.list = append(q.list, r)
	return uint32(len(q.list) - 1)
}

func (q *waitingRequests) take(i uint32) waitingRequest {
	r := q.list[i]
	invariant.Assert(r.used, "worker: waiting request taken twice")
	q.list[i].used = false
	q.free = append(q.free, i)
	return r
}

func (q *waitingRequests) refersTo(node uint16) bool {
	for i := range q.list {
		if q.list[i].used && q.list[i].node == node {
			return true
		}
	}
	return false
}

// follow follows a redirect once it is known to be the node's.
func (w *Worker) follow(b *backend, r *pipe.Reply, kind redirect.Kind) {
	switch {
	case r.Owner.Kind() == kindDoubt:
		w.believe(b, r, kind)
	case r.Has(pipe.Scripted):
		w.doubt(b, r)
	default:
		w.redirected(b, r, kind)
	}
}

// redirected follows a redirect, or answers that it cannot be followed.
func (w *Worker) redirected(b *backend, r *pipe.Reply, kind redirect.Kind) {
	w.counters.Redirections++
	w.Wish()
	target, ok := redirect.Parse(w.Arena.Bytes(r.Bytes))
	if !ok || target.Slot != r.Slot {
		b.node.warnMalformed(w)
		w.giveUp(r.Request, "-ERR node "+b.node.name+" sent a malformed redirect\r\n")
		return
	}
	n := w.target(target, b.node)
	if n == nil {
		w.failRedirect(r.Request)
		return
	}
	if kind == redirect.Moved {
		w.counters.Moved++
	} else {
		w.counters.Ask++
	}
	act, wait := redirect.Decide(int(r.Hops), w.MaxRedirects, w.bounce(r.Owner, r.Seq))
	if r.Has(pipe.Passed) {
		act = redirect.TryAgain // it was not executed, and is not here any more
	}
	if kind == redirect.Moved {
		w.override(target.Slot, n)
		if n == b.node {
			// The node names itself: what we have is not a connection to the node it
			// thinks it is. Start over with a fresh one.
			w.retire(b)
		}
	}
	r.Hops++
	r.Traits &^= pipe.Asking
	if kind == redirect.Ask {
		r.Traits |= pipe.Asking
	}
	switch act {
	case redirect.Resend:
		w.resend(waitingRequest{Request: r.Request, node: n.index})
	case redirect.Wait:
		w.counters.RedirectWaits++
		i := w.waiting.add(waitingRequest{Request: r.Request, node: n.index})
		w.timers.Arm(w.now+wait, timerResend|uint64(i))
	case redirect.TryAgain:
		w.failRedirect(r.Request)
	}
}

// target returns the node a redirect points to, nil when its address is not known.
func (w *Worker) target(t redirect.Target, from *node) *node {
	addr, ok := w.Resolve(t.Host, t.Port, from.addr)
	if !ok || len(w.nodes) >= nodesMax && !w.isMapped(addr) {
		return nil
	}
	return w.nodeAt(addr)
}

// bounce notes at its session that a request has been redirected.
func (w *Worker) bounce(owner ring.Token, seq uint32) (followed bool) {
	if owner.Kind() == kindJoin {
		j := w.joins.get(owner)
		owner, seq = j.Owner, j.Seq
	}
	if owner.Kind() == kindProbe {
		return false
	}
	if c := w.clients.get(owner); c != nil {
		return c.Bounce(seq)
	}
	return false
}

// retire closes a pipe once its last reply is in; new requests open another.
func (w *Worker) retire(b *backend) {
	if b.State() != pipe.Ready || b.last {
		return
	}
	b.last = true
	w.abandon(b)
	if b.far != nil {
		b.tellFar(letterRetire)
	}
	w.tellLines(b, letterDetached)
}

// resend sends a request again: to the node it was redirected to, or that lacked its script.
func (w *Worker) resend(r waitingRequest) {
	n := w.nodes[r.node]
	c := w.clients.get(w.sessionOf(r.Owner))
	if c == nil {
		// Nobody waits for the reply, and the request has not been executed.
		w.answerError(r.Owner, r.Seq, errClusterDown)
		w.Arena.Release(r.Frame.Block)
		return
	}
	b := w.resendOn(c, n)
	if b == nil {
		w.answerLost(n, r.Request, false, n.reason)
		return
	}
	c.resentOn = b.end.token
	w.push(b, &r.Request, w.prefixOf(&r.Request))
}

// resendOn returns the pipe that a client's redirected request takes to n: the one that an
// earlier one has taken and not left, even if new requests take another one by now. It is
// nil when n cannot be reached.
func (w *Worker) resendOn(c *client, n *node) *backend {
	key := w.keyOf(c)
	key.Node = uint32(n.index)
	b := w.pipes.get(c.resentOn)
	if b != nil && b.node == n && b.Key == key && b.Len() > 0 && b.Takes() && !b.last && !b.Begun() && (b.lessee == 0 || b.lessee == c.Token) {
		return b
	}
	return w.pipeFor(n, key)
}

func (w *Worker) sessionOf(owner ring.Token) ring.Token {
	if owner.Kind() == kindJoin {
		return w.joins.get(owner).Owner
	}
	return owner
}

func (w *Worker) failRedirect(r pipe.Request) {
	w.counters.RedirectFailed++
	w.scratch = redirect.AppendTryAgain(w.scratch[:0], r.Slot)
	w.giveUp(r, string(w.scratch))
}

// giveUp answers a redirected request with an error.
func (w *Worker) giveUp(r pipe.Request, text string) {
	w.answerError(r.Owner, r.Seq, text)
	w.Arena.Release(r.Frame.Block)
}

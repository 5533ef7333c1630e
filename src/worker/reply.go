package worker

import (
	"mithril/src/buf"
	"mithril/src/fanout"
	"mithril/src/pipe"
	"mithril/src/redirect"
	"mithril/src/ring"
)

// deliver passes a reply on to whom it is for, or does what it asks for instead.
func (w *Worker) deliver(b *backend, r *pipe.Reply) {
	bytes := w.Arena.Bytes(r.Bytes)
	if r.Has(pipe.RawErrors) && bytes[0] != '-' && b.Len() == 0 && b.tenure == tenureLeased {
		b.last = false // it was no error, so nothing follows it
	}
	if bytes[0] == '-' {
		switch kind := redirect.Classify(bytes); kind {
		case redirect.None:
		case redirect.NoScript:
			if w.reload(b, r) {
				return
			}
		case redirect.ReadOnly:
			w.Wish()
		default:
			w.follow(b, r, kind)
			return
		}
	}
	if r.Owner.Kind() == kindProbe {
		w.aim(r.Owner, b.node.index, r.Has(pipe.Asking))
	} else {
		w.answer(r.Owner, r.Seq, r.Bytes)
	}
	w.Arena.Release(r.Frame.Block)
}

// answer gives a reply to its owner. The caller keeps its reference.
func (w *Worker) answer(owner ring.Token, seq uint32, reply buf.Slice) {
	switch owner.Kind() {
	case kindJoin:
		w.answerPart(owner, seq, reply)
		return
	case kindProbe:
		w.aim(owner, noNode, false) // it is an error of our own
		return
	case kindDoubt:
		w.disbelieve(owner)
		return
	}
	c := w.clients.get(owner)
	if c == nil {
		return // the client is gone
	}
	c.Answer(&w.env, seq, reply)
	w.touch(c)
	w.goOn(c)
}

// answerError is answer for an error text.
func (w *Worker) answerError(owner ring.Token, seq uint32, text string) {
	reply, ok := w.Arena.Copy([]byte(text))
	if !ok {
		w.loseReply(owner, seq)
		return
	}
	w.answer(owner, seq, reply)
	w.Arena.Release(reply.Block)
}

// loseReply is answer for a reply that there is no memory to store. A session ends by
// it; a join counts it and loses the reply of its own when the other parts are in.
func (w *Worker) loseReply(owner ring.Token, seq uint32) {
	if owner.Kind() == kindJoin {
		if j := w.joins.get(owner); j.Lose(seq) {
			w.answerJoined(owner, j)
		}
		return
	}
	switch owner.Kind() {
	case kindProbe:
		w.aim(owner, noNode, false)
		return
	case kindDoubt:
		w.disbelieve(owner)
		return
	}
	if c := w.clients.get(owner); c != nil {
		c.Kill("out of memory for a reply")
		w.touch(c)
	}
}

// answerPart gives a part's reply to its join. The caller keeps its reference.
func (w *Worker) answerPart(owner ring.Token, k uint32, reply buf.Slice) {
	j, c := w.joinOf(owner)
	grown, done := j.Put(w.Arena, k, reply)
	w.gathered(owner, j, c, grown, done)
}

// extendPart gives a piece of a part's reply to its join. A reply of that size is kept, but
// nobody new has to wait behind it.
func (w *Worker) extendPart(b *backend, r *pipe.Reply, last bool) {
	j, c := w.joinOf(r.Owner)
	grown, done := j.Extend(w.Arena, r.Seq, r.Bytes, last)
	if j.PartBytes(r.Seq) > w.LargeReplyFrom {
		w.detach(b)
	}
	w.gathered(r.Owner, j, c, grown, done)
}

// joinOf returns a join and its client. Without a client it keeps nothing more.
func (w *Worker) joinOf(token ring.Token) (j *fanout.Join, c *client) {
	j = w.joins.get(token)
	if c = w.clients.get(j.Owner); c == nil {
		j.Abandon()
	}
	return j, c
}

// gathered notes at its client that a join has grown, and answers when that is all.
func (w *Worker) gathered(token ring.Token, j *fanout.Join, c *client, grown int, done bool) {
	if c != nil {
		c.Gather(&w.env, grown)
		if c.Done() {
			w.touch(c)
		}
	}
	if done {
		w.answerJoined(token, j)
	}
}

// answerJoined gives the client the reply that all parts make, and ends the join.
func (w *Worker) answerJoined(token ring.Token, j *fanout.Join) {
	client, seq, held := j.Owner, j.Seq, j.Held()
	ok := j.Result(w.Arena, &w.result)
	w.joins.put(token)
	if c := w.clients.get(client); c != nil {
		c.Gathered(&w.env, held)
	}
	if ok {
		w.answerPieces(client, seq, w.result.Slices())
	} else {
		w.loseReply(client, seq)
	}
	w.result.Drop(w.Arena)
}

// answerPieces is answer for a reply in one or more pieces. If they are more, its request
// is the only open one.
func (w *Worker) answerPieces(owner ring.Token, seq uint32, pieces []buf.Slice) {
	if len(pieces) == 1 {
		w.answer(owner, seq, pieces[0])
		return
	}
	c := w.clients.get(owner)
	if c == nil {
		return // the client is gone
	}
	for i, piece := range pieces {
		c.AnswerPart(&w.env, seq, piece, i == len(pieces)-1)
	}
	w.touch(c)
	w.goOn(c)
}

// answerLost answers a request whose connection is gone.
func (w *Worker) answerLost(n *node, r pipe.Request, sent bool, reason string) {
	if sent {
		w.scratch = append(w.scratch[:0], "-ERR connection to node "...)
		w.scratch = append(w.scratch, n.name...)
		w.scratch = append(w.scratch, " lost before the reply ("...)
		w.scratch = append(w.scratch, reason...)
		w.scratch = append(w.scratch, "), the outcome of the command is unknown\r\n"...)
	} else {
		w.scratch = w.appendUnreachable(w.scratch[:0], r.Owner, n.name, reason)
	}
	w.answerError(r.Owner, r.Seq, string(w.scratch))
	w.Arena.Release(r.Frame.Block)
}

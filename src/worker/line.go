package worker

import (
	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/pipe"
	"mithril/src/ring"
)

// line is the end of another worker's far pipe on the pipe that it has joined.
type line struct {
	peer   *peer
	far    ring.Token // the far pipe, at the peer
	token  ring.Token
	pipe   ring.Token
	parts  buf.Gather // of requests that are not whole yet
	paused bool       // its replies are not taken now
	asked  uint32     // scratch of endLines
}

// lineOf returns the line that a letter of a peer is about, nil if it has ended. Letters keep
// their order, so none to a far pipe comes behind those of the next one in its place.
func (w *Worker) lineOf(p *peer, far ring.Token) *line {
	if int(far.Index()) >= len(p.lines) {
		return nil
	}
	n := w.lines.get(p.lines[far.Index()])
	invariant.Assert(n == nil || n.far == far && n.peer == p, "worker: a letter to a far pipe that has given its place to another one")
	return n
}

// openLine lets a far pipe join the connection that it names, which is opened if need be.
func (w *Worker) openLine(p *peer, l *letter) {
	addr, key := readAim(p.bytes(l))
	n := w.nodeAt(addr)
	key.Node = uint32(n.index)
	b := w.pipeFor(n, key)
	if b == nil {
		w.tellWhy(p, letterRefused, l.token, 0, n.reason)
		return
	}
	line, token := w.lines.take()
	line.peer, line.far, line.token, line.pipe, line.paused = p, l.token, token, b.end.token, false
	for int(l.token.Index()) >= len(p.lines) {
		p.lines = append(p.lines, 0)
	}
	p.lines[l.token.Index()] = token
	b.lines = append(b.lines, token)
}

// relay queues requests of a line on its pipe.
func (w *Worker) relay(p *peer, l *letter) {
	line := w.lineOf(p, l.token)
	if line == nil {
		return // it is told so
	}
	b := w.pipes.get(line.pipe)
	ok := false
	if l.n == 0 {
		_, ok = line.parts.Append(w.Arena, p.bytes(l))
	} else {
		ok = b.Relay(w.Arena, w.now, line.token, &line.parts, p.bytes(l), l.n)
	}
	if !ok {
		w.losePipe(b, "out of memory for the request")
		return
	}
	w.inFlight += int(l.n)
	if b.stopped != readOn {
		w.waitBehind(b)
	}
	w.touchPipe(b)
}

// handBack lends a reply, or a part of one, to the peer whose line has asked for it. Replies
// that lie side by side go in one letter. It fails when there is no memory.
func (w *Worker) handBack(owner ring.Token, reply buf.Slice, ends uint32) bool {
	line := w.lines.get(owner)
	if line == nil {
		return true // nobody wants it any more
	}
	p := line.peer
	w.counters.HandedBack += uint64(ends)
	if last := p.out.Last(); last != nil && last.kind == letterReplies && last.token == line.far &&
		last.data.Block == reply.Block && last.data.Off+uint64(last.data.Len) == reply.Off {
		last.data.Len += reply.Len
		last.n += ends
		p.lent += int(reply.Len)
		p.loans.list[len(p.loans.list)-1].bytes += reply.Len
		return true
	}
	if w.Arena.Scarce() && w.Arena.IsReceiveChunk(reply.Block) {
		var ok bool
		if reply, ok = w.landing.Put(w.Arena, w.Arena.Bytes(reply)); !ok {
			return false
		}
	} else {
		w.Arena.Retain(reply.Block)
	}
	p.lend(letter{kind: letterReplies, token: line.far, n: ends, data: reply})
	return true
}

// holdUp stops a pipe if the next reply is for a peer that does not take it now, and says so.
// Others who wait behind it do so for a limited time in all.
func (w *Worker) holdUp(b *backend) bool {
	why := w.heldUp(b)
	if why == readOn {
		return false
	}
	w.stopReading(b, why)
	if why == stoppedFar {
		if b.others = b.tenure == tenureShared || b.OthersBehind(); b.others {
			w.timers.Arm(w.now+max(b.patience, 0), timerPatience|pipePayload(b.end.token))
		}
	}
	return true
}

// heldUp says why the next reply on a pipe cannot be handed back, readOn if it can.
func (w *Worker) heldUp(b *backend) stopReason {
	if b.Len() == 0 {
		return readOn
	}
	owner := b.Asked().Owner
	if !isLine(owner) {
		return readOn
	}
	line := w.lines.get(owner)
	switch {
	case line == nil:
		return readOn
	case line.paused:
		return stoppedFar
	case line.peer.lent < line.peer.post.limits.LentBytes && line.peer.mayLend():
		return readOn
	}
	line.peer.wait(b)
	return stoppedFull
}

// hurry makes the peer take the reply that a stopped pipe waits to hand back, for the sake of
// those who wait behind it.
func (w *Worker) hurry(b *backend) {
	if line := w.lines.get(b.Asked().Owner); line != nil {
		line.peer.say(letterHurry, line.far)
	}
}

// pauseLine stops the replies of a line, or lets them go on.
func (w *Worker) pauseLine(p *peer, l *letter, paused bool) {
	line := w.lineOf(p, l.token)
	if line == nil {
		return
	}
	line.paused = paused
	if b := w.pipes.get(line.pipe); !paused && b.stopped == stoppedFar {
		w.readOnAgain(b)
	}
}

// detachLine makes new requests of everybody take another connection, because a large reply
// to a line comes.
func (w *Worker) detachLine(p *peer, l *letter) {
	if line := w.lineOf(p, l.token); line != nil {
		w.detach(w.pipes.get(line.pipe))
	}
}

// retireLine gives up a connection when everything on it is answered.
func (w *Worker) retireLine(p *peer, l *letter) {
	if line := w.lineOf(p, l.token); line != nil {
		w.retire(w.pipes.get(line.pipe))
	}
}

// closeLine ends a line whose far pipe is no more. What is still to come for it is dropped.
func (w *Worker) closeLine(p *peer, l *letter) {
	line := w.lineOf(p, l.token)
	if line == nil {
		return
	}
	b := w.pipes.get(line.pipe)
	for i, t := range b.lines {
		if t == line.token {
			b.lines = append(b.lines[:i], b.lines[i+1:]...)
			break
		}
	}
	w.freeLine(line)
	w.touchPipe(b) // without lines nothing waits for others to be sent with it
	switch {
	case l.kind == letterDrop:
		w.losePipe(b, p.why(l))
	case b.stopped == stoppedFar, b.stopped == stoppedFull:
		w.readOnAgain(b)
	case b.Len() == 0:
		w.quiet(b)
	}
}

func (w *Worker) freeLine(n *line) {
	n.parts.Drop(w.Arena)
	n.peer.lines[n.far.Index()] = 0
	w.lines.put(n.token)
}

// tellLines writes to all who have joined a pipe.
func (w *Worker) tellLines(b *backend, kind letterKind) {
	for _, t := range b.lines {
		n := w.lines.get(t)
		n.peer.say(kind, n.far)
	}
}

// askedBy counts a request of a line that the node may have executed.
func (w *Worker) askedBy(r *pipe.Request, sent bool) {
	if n := w.lines.get(r.Owner); n != nil && sent {
		n.asked++
	}
}

// endLines tells all who have joined a pipe that it is lost, and how many of the replies that
// are due to each were asked of the node.
func (w *Worker) endLines(b *backend, greeted bool, reason string) {
	kind := letterEnded
	if !greeted {
		kind = letterRefused
	}
	for _, t := range b.lines {
		n := w.lines.get(t)
		w.tellWhy(n.peer, kind, n.far, n.asked, reason)
		n.asked = 0
		w.freeLine(n)
	}
	b.lines = b.lines[:0]
}

package worker

import (
	"mithril/src/command"
	"mithril/src/pipe"
	"mithril/src/ring"
	"mithril/src/session"
)

// Large says from which size on requests and replies travel apart from the others, so
// that nobody waits for them and nobody keeps them whole. All in bytes.
type Large struct {
	LargeRequestFrom int // a longer request takes a connection of its own
	PartsFrom        int // a longer reply is passed on as it arrives
	LargeReplyFrom   int // behind a longer reply nobody new has to wait, and a slow client holds it up
	HeavyFrom        int // a session whose replies are longer than this takes connections of its own
	StreamWindow     int // of what is passed on, so much may wait on its way
}

// The sizes in force.
var (
	LargeSizes = Large{
		LargeRequestFrom: 256 << 10, PartsFrom: 32 << 10, LargeReplyFrom: 1 << 20, HeavyFrom: 256 << 10, StreamWindow: 256 << 10,
	}

	// StreamFrom is what session.Env has if it says nothing else. Requests up to it are
	// kept whole, and can be sent again when they are redirected.
	StreamFrom = 1 << 20
)

const errPrivate = "-ERR too many connections of their own to the node, see private-conns-per-node\r\n"

// ownPipe returns the pipe of its own that a client has to n for a large request or for
// large replies, and leases one if it may. It is nil, and the client held, while earlier
// requests are open; with ok it may go on without.
func (w *Worker) ownPipe(c *client, n *node) (b *backend, ok bool) {
	if b = w.leaseOf(c, n); b != nil {
		return b, true
	}
	if n.private >= w.PrivateMax && len(n.idle) == 0 {
		return nil, true
	}
	if c.Pending() > 0 {
		c.HoldForOrder()
		return nil, false
	}
	return w.lease(c, n), true
}

// refuseOwn answers a request for which a client gets no pipe of its own to n.
func (w *Worker) refuseOwn(c *client, cmd *command.Command, n *node) {
	if n.private >= w.PrivateMax {
		c.AnswerBytes(&w.env, c.Accept(&w.env, cmd), []byte(errPrivate))
		return
	}
	w.refuse(c, cmd, n)
}

// beginUpload sends the beginning of a large request. What follows goes the same way by
// passOn.
func (w *Worker) beginUpload(c *client, in session.Intent) {
	if !w.keepsOrder(c, in.Slot) {
		return
	}
	if c.Pending() > 0 {
		c.HoldForOrder()
		return
	}
	if in.Kind == session.Begin && !w.aimed(c, in) {
		return
	}
	index, ask := w.takeAim(c, in.Slot)
	if index == noNode {
		w.refuse(c, in.Command, nil)
		return
	}
	n := w.nodes[index]
	b, _ := w.ownPipe(c, n)
	if b == nil {
		w.refuseOwn(c, in.Command, n)
		return
	}
	frame := w.frameOf(in.Frame)
	seq := c.Accept(&w.env, in.Command)
	r := pipe.Request{Owner: c.Token, Seq: seq, Slot: in.Slot, Traits: traitsOf(in.Command) | pipe.Passed, Frame: frame}
	if ask {
		r.Traits |= pipe.Asking
	}
	if !b.Begin(w.Arena, w.now, r, w.prefixOf(&r)) {
		w.answerError(c.Token, seq, errNoMemory)
		w.Arena.Release(frame.Block)
		w.quiet(b)
		return
	}
	c.upload = b.end.token
	if ask || index != w.route[in.Slot] {
		c.Bounce(seq) // what follows it in its slot would take another way
	}
	w.inFlight++
	w.touchPipe(b)
}

// passOn sends a part of a large request. When it has been answered already, with an
// error, its rest is dropped.
func (w *Worker) passOn(c *client, in session.Intent) {
	b := w.uploadOf(c)
	if b != nil && !b.Extend(w.Arena, w.now, in.Frame, in.Last) {
		w.losePipe(b, "out of memory for the request")
		b = nil
	}
	c.Took(&w.env)
	if in.Last {
		c.upload = 0
	}
	if b == nil {
		return
	}
	w.touchPipe(b)
	w.bulk = true
	if !in.Last && w.unsent(b) > w.StreamWindow {
		w.holdFor(c, b)
	}
}

// uploadOf returns the pipe that takes the parts of a client's request, nil when nobody
// wants them any more.
func (w *Worker) uploadOf(c *client) *backend {
	if b := w.pipes.get(c.upload); c.upload != 0 && b != nil && b.lessee == c.Token && b.Begun() {
		return b
	}
	return nil
}

// unsent is how many bytes wait for a node or are on their way to it.
func (w *Worker) unsent(b *backend) int { return b.Unsent() + b.end.out.Bytes() }

// abortUpload ends a request that will never be whole. The node drops what it has of it
// when the connection ends; nobody waits for a reply.
func (w *Worker) abortUpload(c *client) {
	b := w.uploadOf(c)
	c.upload = 0
	if b != nil {
		b.Disown()
		w.losePipe(b, "")
	}
}

// decide says what becomes of a reply that begins to arrive and is not short.
func (w *Worker) decide(b *backend, r *pipe.Reply) {
	if r.Owner.Kind() == kindJoin || isLine(r.Owner) {
		b.TakeParts()
		return
	}
	c := w.clients.get(r.Owner)
	large := b.Coming() > w.LargeReplyFrom
	switch {
	case c == nil && large && w.isLone(b):
		w.losePipe(b, "")
	case c == nil:
		b.TakeParts()
	case c.IsNext(r.Seq):
		b.TakeParts()
		if large {
			w.beginDownload(b, c)
		}
	case large:
		w.detach(b)
		w.stopReading(b, stoppedEarly)
		w.early = append(w.early, b.end.token)
		w.timers.Arm(w.now+earlyFor, timerEarly)
	default:
		b.TakeWhole()
	}
}

// isLone says that nobody but the one whose reply comes waits for anything on a pipe.
func (w *Worker) isLone(b *backend) bool { return b.Len() == 1 && b.far == nil && len(b.lines) == 0 }

// beginDownload makes a pipe serve the large reply to c, and nobody new.
func (w *Worker) beginDownload(b *backend, c *client) {
	w.detach(b)
	b.others = b.tenure == tenureShared || b.far != nil || b.OthersBehind()
	c.download = b.end.token
	c.moved = w.now
}

// earlyFor is how long a large reply waits for the earlier replies of its session. They
// may wait for it themselves, behind another session's large reply that waits for one
// behind this: so in the end it is collected.
const earlyFor = 20 * millisecond

// decideEarly looks whether large replies that came early can go on.
func (w *Worker) decideEarly() {
	n, kept := len(w.early), 0 // others may join them meanwhile
	for i := range n {
		t := w.early[i]
		b := w.pipes.get(t)
		if b == nil || b.stopped != stoppedEarly || b.Len() == 0 {
			continue
		}
		r := b.Asked()
		c := w.clients.get(r.Owner)
		switch {
		case c == nil || c.IsNext(r.Seq):
			w.readOnAgain(b)
		case w.now-b.stoppedAt >= earlyFor:
			b.TakeWhole()
			w.readOnAgain(b)
		default:
			w.early[kept] = t
			kept++
		}
	}
	w.early = append(w.early[:kept], w.early[n:]...)
}

// deliverPart passes a part of a large reply on.
func (w *Worker) deliverPart(b *backend, r *pipe.Reply, last bool) {
	b.Touch(w.now)
	if isLine(r.Owner) {
		if !w.handBack(r.Owner, r.Bytes, 0) {
			w.losePipe(b, "out of memory for a reply")
		}
		return
	}
	if r.Owner.Kind() == kindJoin {
		w.extendPart(b, r, last)
		return
	}
	c := w.clients.get(r.Owner)
	if c == nil || c.end.state != endOpen {
		return
	}
	c.AnswerPart(&w.env, r.Seq, r.Bytes, last)
	if last || c.download != 0 || c.Out().Bytes() > w.StreamWindow || c.Done() {
		w.touch(c) // in between the parts gather, for one send
	}
	if last {
		c.download = 0
		w.goOn(c)
		return
	}
	if c.download == 0 && c.Begun(r.Seq) > w.LargeReplyFrom {
		w.beginDownload(b, c) // its size was not known before
	}
	if c.download != 0 {
		w.bulk = true
	}
	if c.download == 0 || c.leaving() <= w.StreamWindow || c.Done() {
		return
	}
	if b.others = b.others || b.OthersBehind(); b.others && b.patience <= 0 {
		return
	}
	w.stopReading(b, stoppedSlow)
	if b.others {
		w.timers.Arm(w.now+b.patience, timerPatience|pipePayload(b.end.token))
	}
}

// patience is how long others may wait on one connection, in all, for clients that take
// their large replies slowly. After that these replies are kept for them, as far as the
// output limits go.
const patience = second

// waitBehind notes that a request waits behind a reply that is not read now, because its client
// is slow.
func (w *Worker) waitBehind(b *backend) {
	if b.others || b.stopped != stoppedSlow && b.stopped != stoppedFar {
		return
	}
	b.others, b.stoppedAt = true, w.now
	w.timers.Arm(w.now+max(b.patience, 0), timerPatience|pipePayload(b.end.token))
}

// patienceOver lets a pipe go on on which others have waited long enough.
func (w *Worker) patienceOver(t ring.Token) {
	b := w.pipes.get(t)
	if b == nil || w.now-b.stoppedAt < b.patience {
		return
	}
	switch b.stopped {
	case stoppedSlow:
		w.readOnAgain(b)
	case stoppedFar:
		w.hurry(b)
	}
}

// leaving is how many bytes are on their way to the client.
func (c *client) leaving() int { return c.Out().Bytes() + c.end.out.Bytes() }

// moveOn is called when a client has taken some of what it is sent.
func (w *Worker) moveOn(c *client) {
	w.bulk = true
	if b := w.downloadOf(c); b != nil && b.stopped == stoppedSlow && c.leaving() <= w.StreamWindow/2 {
		w.readOnAgain(b)
	}
}

// downloadOf returns the pipe whose large reply a client is getting, nil without one.
func (w *Worker) downloadOf(c *client) *backend {
	if c.download == 0 {
		return nil
	}
	return w.pipes.get(c.download)
}

// uploadFor is how long a client may send nothing inside a large request.
const uploadFor = 60 * second

// sweepLarge ends a client that takes nothing of a large reply, or sends nothing of a
// large request.
func (w *Worker) sweepLarge(c *client) {
	if c.upload != 0 && c.Holding() == session.HoldNone && w.now-c.heard > uploadFor {
		c.Kill("no progress in a large request")
		return
	}
	b := w.downloadOf(c)
	if b == nil || b.stopped != stoppedSlow {
		return
	}
	if limit := &w.env.Output; limit.Soft > 0 && w.now-c.moved > limit.SoftFor {
		c.KillForOutput(&w.env, "output limit reached: no progress in a large reply")
	}
}

// endDownload lets a node's large reply run dry whose client has gone.
func (w *Worker) endDownload(c *client) {
	b := w.downloadOf(c)
	c.download = 0
	switch {
	case b == nil:
	case w.isLone(b):
		w.losePipe(b, "")
	case b.stopped != readOn:
		w.readOnAgain(b)
	}
}

// breaksOff says that the client has a part of the reply to r already, and ends it.
func (w *Worker) breaksOff(r pipe.Request) bool {
	if r.Owner.Kind() == kindJoin {
		return false // an error takes the place of what is in
	}
	c := w.clients.get(r.Owner)
	if c == nil || c.Begun(r.Seq) == 0 {
		return false
	}
	c.download = 0
	if c.IsSilent(r.Seq) {
		return false // nothing of it has gone out
	}
	c.Kill("the connection to the node was lost inside a reply")
	w.touch(c)
	w.Arena.Release(r.Frame.Block)
	return true
}

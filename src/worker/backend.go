package worker

import (
	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/pipe"
	"mithril/src/ring"
)

// DialTimeoutMs bounds the time from the dial of a node to its answered greeting.
const DialTimeoutMs = 2000

const dialTimeout = DialTimeoutMs * millisecond

// backend is a pipe with its socket.
type backend struct {
	pipe.Pipe
	end        end
	node       *node
	connecting bool         // the connect is with the ring
	dirty      bool         // listed in dirtyPipes
	deadline   timerHandle  // of dial and greeting
	swept      uint32       // its Replies at the last sweep
	tenure     tenure       // whose requests it takes
	lessee     ring.Token   // tenureLeased: the client
	last       bool         // ends when it is quiet: what comes then is nobody's
	idleAt     int64        // tenureIdle: since when, ns
	stopped    stopReason   // why what it sends is not read now
	others     bool         // wait behind the large reply that is passed on
	patience   int64        // how long others may yet wait for a slow client, ns
	stoppedAt  int64        // when stopped, ns
	waiters    []ring.Token // sessions held until there is room
	woken      uint32       // times that they were woken

	far    *peer  // the worker that has the connection, nil if this one does; see far.go
	handed handed // far: what the keeper has to do
	short  bool   // listed in peer.short
	asked  bool   // far: to be detached
	ended  bool   // far: the connection is known to be gone,

	askedOf  uint32 // with so many replies asked of the node that it has not given,
	endedFor string // for this reason

	lines []ring.Token // of other workers, which have joined it; see line.go
}

// pipeFor returns the pipe for a key, dialing if there is none. It is nil while the
// node cannot be reached.
func (w *Worker) pipeFor(n *node, key pipe.Key) *backend {
	if b := n.find(key); b != nil {
		return b
	}
	b := w.openFor(n, key)
	if b == nil {
		return nil
	}
	if w.Sharing == SharedPipes {
		b.Share(w.workers())
	}
	w.become(b, tenureShared)
	n.bind(b)
	return b
}

// openFor returns a pipe that nobody has yet: an idle one, a new one, or one that joins the
// connection of another worker.
func (w *Worker) openFor(n *node, key pipe.Key) *backend {
	keeper := w.keeperOf(n, key)
	if keeper == nil {
		if b := w.takeIdle(n, key); b != nil {
			return b
		}
	}
	switch {
	case w.now < n.retryAt:
		return nil
	case keeper != nil:
		return w.join(n, key, keeper)
	}
	return w.dial(n, key)
}

// newBackend makes a pipe to n whose connection is not there yet.
func (w *Worker) newBackend(n *node, key pipe.Key) *backend {
	b, token := w.pipes.take()
	key.Node = uint32(n.index)
	b.Init(key, w.PartsFrom)
	b.end = end{socket: ring.NoSocket, token: token, state: endOpening}
	b.node = n
	b.connecting, b.dirty = false, false
	b.swept = 0
	b.tenure, b.lessee, b.last, b.stopped, b.patience = tenureNone, 0, false, readOn, patience
	b.waiters, b.lines = b.waiters[:0], b.lines[:0]
	b.handed = handed{}
	b.far, b.short, b.asked, b.ended = nil, false, false, false
	n.open++
	return b
}

// dial opens a connection that nobody holds yet.
func (w *Worker) dial(n *node, key pipe.Key) *backend {
	b := w.newBackend(n, key)
	b.connecting = true
	w.counters.BackendDials++
	w.ops = append(w.ops, ring.Op{Kind: ring.OpConnect, Token: b.end.token, Addr: n.addr})
	b.deadline = w.timers.Arm(w.now+dialTimeout, timerDial|pipePayload(b.end.token))
	return b
}

func (w *Worker) pipeEvent(b *backend, ev *ring.Event) {
	switch ev.Kind {
	case ring.Connected:
		w.pipeConnected(b, ev)
	case ring.Received:
		if b.end.state != endOpen {
			w.Arena.Release(ev.Data.Block)
			return
		}
		w.due.heard(&b.end)
		w.replied(b, ev.Data)
		if b.Len() > 0 {
			w.due.expect(&b.end)
		}
	case ring.RecvEnded:
		w.pipeRecvEnded(b, ev.Err)
	case ring.Sent:
		w.pipeSent(b, ev)
	}
	if w.joined(&b.end, b.connecting) {
		w.freePipe(b)
	}
}

// replied takes bytes of replies.
func (w *Worker) replied(b *backend, data buf.Slice) {
	at, _ := b.Oldest()
	before := b.Replies()
	b.Put(data)
	w.readReplies(b)
	if n := b.Replies() - before; n > 0 && w.finder.machine != nil {
		w.finder.machine.Answered(w.now-at, n)
	}
}

func (w *Worker) pipeConnected(b *backend, ev *ring.Event) {
	b.connecting = false
	b.end.socket = ev.Socket
	if b.end.state == endJoining {
		// Given up in the meantime.
		return
	}
	if ev.Err != ring.ErrNone {
		b.end.socket = ring.NoSocket
		w.losePipe(b, ev.Err.String())
		return
	}
	b.end.become(endOpen)
	w.receive(&b.end)
	if !b.Connected(w.Arena, w.Backend) {
		w.losePipe(b, "out of memory")
		return
	}
	w.touchPipe(b)
}

func (w *Worker) pipeRecvEnded(b *backend, err ring.Err) {
	b.end.recv = recvOff
	if b.end.state != endOpen {
		return
	}
	switch err {
	case ring.ErrCanceled:
		w.receiveReplies(b)
	case ring.ErrNoBuffers:
		w.starved = append(w.starved, b.end.token)
	case ring.ErrNone:
		b.end.recv = recvOver
		w.losePipe(b, "the node closed the connection")
	default:
		b.end.recv = recvOver
		w.losePipe(b, err.String())
	}
}

func (w *Worker) pipeSent(b *backend, ev *ring.Event) {
	if ev.Err != ring.ErrNone {
		b.end.out.Drop(w.Arena)
		if b.end.state == endOpen {
			w.losePipe(b, ev.Err.String())
		}
		return
	}
	b.end.out.Sent(w.Arena, int(ev.N))
	if b.end.state != endOpen {
		b.end.out.Drop(w.Arena)
		return
	}
	if b.end.out.Bytes() > 0 {
		w.submitSend(&b.end)
	} else if b.MaySend() {
		w.touchPipe(b)
	}
	if !b.Begun() {
		return
	}
	b.Moved(w.now)
	w.bulk = true
	if len(b.waiters) > 0 && w.unsent(b) <= w.StreamWindow/2 {
		w.wakeWaiters(b)
	}
}

// readReplies hands out the replies that are in, unless they have to wait.
func (w *Worker) readReplies(b *backend) {
	var reply pipe.Reply
	r := &reply
	for b.stopped == readOn {
		if len(b.lines) > 0 && w.holdUp(b) {
			break
		}
		got, reason := b.Next(w.Arena, r)
		switch got {
		case pipe.Got, pipe.LastPart:
			w.inFlight--
			switch {
			case isLine(r.Owner):
				if !w.handBack(r.Owner, r.Bytes, 1) {
					w.askedBy(&r.Request, true)
					w.losePipe(b, "out of memory for a reply")
					return
				}
			case got == pipe.LastPart:
				w.counters.BackendReplies++
				b.asked = false // for the next large one
				w.deliverPart(b, r, true)
				w.Arena.Release(r.Frame.Block)
			default:
				w.counters.BackendReplies++
				w.deliver(b, r)
			}
			if b.Len() == 0 && (b.tenure != tenureShared || b.State() != pipe.Ready) {
				w.quiet(b)
			}
			if b.State() == pipe.Closed {
				return
			}
			continue
		case pipe.Large:
			w.decide(b, r)
			if b.State() == pipe.Closed {
				return
			}
			continue
		case pipe.Part:
			w.deliverPart(b, r, false)
			if b.State() == pipe.Closed {
				return
			}
			continue
		case pipe.Greeted:
			w.greeted(b)
			continue
		case pipe.Broken:
			w.losePipe(b, reason)
			return
		}
		break
	}
	if len(b.lines) > 0 && b.MaySend() {
		w.touchPipe(b) // what waits may be worth a send by now
	}
	if b.stopped != readOn && w.Arena.Scarce() && !b.Settle(w.Arena) {
		w.losePipe(b, "out of memory for a reply")
		return
	}
	if len(b.waiters) > 0 && b.HalfEmpty() && !b.Begun() {
		w.wakeWaiters(b)
	}
}

func (w *Worker) greeted(b *backend) {
	w.timers.Cancel(b.deadline)
	if b.node.failures > 0 {
		w.Log.Info("node reachable again", "worker", w.Number, "node", b.node.name)
	}
	b.node.reachable()
	w.touchPipe(b)
}

// touchPipe lists a pipe for the flush at the end of the turn.
func (w *Worker) touchPipe(b *backend) {
	if !b.dirty {
		b.dirty = true
		w.dirtyPipes = append(w.dirtyPipes, b.end.token)
	}
}

// losePipe ends a connection to a node and answers what was on it. reason is empty when
// it was closed on purpose.
func (w *Worker) losePipe(b *backend, reason string) {
	if b.State() == pipe.Closed {
		return
	}
	if reason != "" {
		w.pipeFailed(b, reason)
	}
	if b.far != nil {
		w.leaveFar(b, reason)
	} else {
		w.timers.Cancel(b.deadline)
	}
	w.letGo(b, tenureEnded)
	parting, greeted := b.Parting(), b.State() >= pipe.Ready
	b.Close(w.Arena)
	b.stopped = readOn // nobody shall read on any more
	for {
		r, sent, ok := b.Pop()
		if !ok {
			break
		}
		w.inFlight--
		first := parting
		parting = false
		switch {
		case isLine(r.Owner):
			w.askedBy(&r, sent)
		case first && w.breaksOff(r):
		default:
			w.answerLost(b.node, r, sent, reason)
		}
	}
	w.endLines(b, greeted, reason)
	w.wakeWaiters(b)
	w.shut(&b.end)
	if w.joined(&b.end, b.connecting) {
		w.freePipe(b)
	}
}

func (w *Worker) pipeFailed(b *backend, reason string) {
	w.Wish()
	if b.far != nil {
		return // the worker with the connection counts and logs it
	}
	w.counters.BackendLost++
	n := b.node
	if n.failures == 0 {
		log := w.Log.Warn
		if b.Len() == 0 && b.State() == pipe.Ready {
			log = w.Log.Debug // nodes may close what is idle
		}
		log("connection to node lost", "worker", w.Number, "node", n.name,
			"pipe", b.end.token.String(), "state", b.State().String(), "requests", b.Len(), "reason", reason)
	}
	if b.State() != pipe.Ready {
		n.failed(w.now, reason)
	}
}

// wakeWaiters lets the sessions go on that wait for room in b.
func (w *Worker) wakeWaiters(b *backend) {
	for i := range b.waiters {
		// Each is the first once: those who come first may leave no room for others.
		t := b.waiters[(int(b.woken)+i)%len(b.waiters)]
		if c := w.clients.get(t); c != nil && c.waitsOn == b.end.token {
			c.waitsOn = 0
			c.PipeHasRoom()
			if !c.ready {
				c.ready = true
				w.ready = append(w.ready, t)
			}
		}
	}
	b.waiters = b.waiters[:0]
	b.woken++
}

func (w *Worker) freePipe(b *backend) {
	invariant.Assert(b.Len() == 0, "worker: pipe freed with requests in it")
	b.end.out.Drop(w.Arena)
	b.node.open--
	if b.far != nil {
		w.fars--
	}
	w.pipes.put(b.end.token)
}

// push puts a request on a pipe, behind a prefix, and takes over its reference of the
// frame. If it cannot, the request is answered with an error.
func (w *Worker) push(b *backend, r *pipe.Request, before pipe.Prefix) {
	if r.Has(pipe.RawErrors) {
		b.last = true
	}
	if b.Push(w.Arena, w.now, r, before) {
		w.inFlight++
		if b.stopped != readOn {
			w.waitBehind(b)
		}
		w.touchPipe(b)
		return
	}
	w.answerError(r.Owner, r.Seq, errNoMemory)
	w.Arena.Release(r.Frame.Block)
	if b.Len() == 0 {
		w.quiet(b)
	}
}

const errNoMemory = "-ERR out of memory for the request\r\n"

// frameOf makes a request of a frame that the caller does not own.
func (w *Worker) frameOf(frame buf.Slice) buf.Slice {
	w.Arena.Retain(frame.Block)
	return frame
}

package worker

import (
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/pipe"
	"mithril/src/ring"
	"mithril/src/session"
)

const errClusterDown = "-CLUSTERDOWN Hash slot not served\r\n"

// kindJoin is the token kind of the joins, which only the worker itself uses.
const kindJoin = ring.KindPipe + 1

func (w *Worker) keyOf(c *client) pipe.Key { return pipe.Key{Lane: c.lane, Proto: c.Proto()} }

// pipeOf returns the pipe to the owner of a slot for a client. It is nil when there is no
// owner or it cannot be reached; n is nil when there is no owner.
func (w *Worker) pipeOf(c *client, s uint16) (b *backend, n *node) {
	index := w.route[s]
	if index == noNode {
		return nil, nil
	}
	n = w.nodes[index]
	return w.pipeTo(c, n), n
}

// pipeTo returns the pipe to a node for a client, nil when it cannot be reached.
func (w *Worker) pipeTo(c *client, n *node) *backend {
	if len(c.leases) > 0 {
		if b := w.leaseOf(c, n); b != nil {
			return b
		}
	}
	key := w.keyOf(c)
	key.Node = uint32(n.index)
	return w.pipeFor(n, key)
}

// forward sends a request whole to the owner of its slot, or holds the session when that
// has to wait.
func (w *Worker) forward(c *client, in session.Intent) {
	if !w.keepsOrder(c, in.Slot) {
		return
	}
	var b *backend
	if index := w.route[in.Slot]; index != noNode && (int(in.Frame.Len) > w.LargeRequestFrom || c.Heavy(w.HeavyFrom) || in.Command.RawErrors) {
		var ok bool
		if b, ok = w.ownPipe(c, w.nodes[index]); !ok {
			return
		}
		if b == nil && in.Command.RawErrors {
			w.refuseOwn(c, in.Command, w.nodes[index])
			return
		}
	}
	if b == nil {
		var n *node
		if b, n = w.pipeOf(c, in.Slot); b == nil {
			w.refuse(c, in.Command, n)
			return
		}
	}
	if b.Full() {
		w.holdFor(c, b)
		return
	}
	if in.Command.Script != command.ScriptNone {
		w.noteScript(in)
	}
	frame := w.frameOf(in.Frame)
	seq := c.Accept(&w.env, in.Command)
	r := pipe.Request{Owner: c.Token, Seq: seq, Slot: in.Slot, Traits: traitsOf(in.Command), Frame: frame}
	w.push(b, &r, pipe.Prefix{})
}

func traitsOf(cmd *command.Command) (t pipe.Traits) {
	if cmd.RunsScripts() {
		t |= pipe.Scripted
	}
	if cmd.Script == command.ScriptSHA {
		t |= pipe.BySHA
	}
	if cmd.RawErrors {
		t |= pipe.RawErrors
	}
	return t
}

// refuse answers a request whose slot has no owner, or one that cannot be reached.
func (w *Worker) refuse(c *client, cmd *command.Command, n *node) {
	seq := c.Accept(&w.env, cmd)
	if n == nil {
		w.Wish()
		w.answerError(c.Token, seq, errClusterDown)
		return
	}
	w.scratch = w.appendUnreachable(w.scratch[:0], c.Token, n.name, n.reason)
	c.AnswerBytes(&w.env, seq, w.scratch)
}

// appendUnreachable writes the error for a request that was not sent, because no
// connection to its node can be made now. Of a part of a write it says so: what the others did
// cannot be undone, so that trying again may do it twice.
func (w *Worker) appendUnreachable(dst []byte, owner ring.Token, node, reason string) []byte {
	start, end := "-TRYAGAIN node ", "), the request was not sent\r\n"
	if owner.Kind() == kindJoin && !w.joins.get(owner).Reads {
		start, end = "-ERR node ", "), this part of the request was not sent, others may have been executed\r\n"
	}
	dst = append(dst, start...)
	dst = append(dst, node...)
	dst = append(dst, " cannot be reached ("...)
	dst = append(dst, reason...)
	return append(dst, end...)
}

// canTake says that b, the pipe to n, takes a request now. If not, the request is answered as
// a whole, while none of it is sent, or its session waits. b and n are as pipeOf returns them.
func (w *Worker) canTake(c *client, cmd *command.Command, b *backend, n *node) bool {
	if b == nil {
		w.refuse(c, cmd, n)
		return false
	}
	if b.Full() {
		w.holdFor(c, b)
		return false
	}
	return true
}

func (w *Worker) holdFor(c *client, b *backend) {
	c.HoldForPipe()
	c.waitsOn = b.end.token
	b.waiters = append(b.waiters, c.Token)
}

// split sends a request in parts, one per slot, or holds the session when that has to
// wait.
func (w *Worker) split(c *client, in session.Intent) {
	frame := w.Arena.Bytes(in.Frame)
	w.plan.Split(frame, w.env.Args, int(in.Command.KeyStep))
	for i := range w.plan.Parts {
		if !w.keepsOrder(c, w.plan.Parts[i].Slot) {
			return
		}
		if b, n := w.pipeOf(c, w.plan.Parts[i].Slot); !w.canTake(c, in.Command, b, n) {
			return
		}
	}
	held := w.frameOf(in.Frame)
	seq := c.Accept(&w.env, in.Command)
	j, token := w.joins.take()
	j.Begin(&w.plan, in.Command.Response, c.Token, seq)
	j.Reads = in.Command.Reads()
	for i := range w.plan.Parts {
		w.sendPart(c, token, i, frame)
	}
	w.Arena.Release(held.Block)
}

func (w *Worker) sendPart(c *client, owner ring.Token, k int, frame []byte) {
	part := &w.plan.Parts[k]
	b, _ := w.pipeOf(c, part.Slot)
	if at, ok := w.reserve(b, pipe.Request{Owner: owner, Seq: uint32(k), Slot: part.Slot}, w.plan.FrameBytes(k)); ok {
		w.plan.AppendFrame(w.Arena.Bytes(at)[:0], k, frame, w.env.Args)
	}
}

// reserve queues a request of size bytes, which the caller writes into the returned slice.
// If it cannot, the request is answered with an error. That there is a pipe has been checked
// in the same turn.
func (w *Worker) reserve(b *backend, r pipe.Request, size int) (at buf.Slice, ok bool) {
	if at, ok = b.Reserve(w.Arena, w.now, r, size); !ok {
		w.answerError(r.Owner, r.Seq, errNoMemory)
		return at, false
	}
	w.inFlight++
	w.touchPipe(b)
	return at, true
}

// Picker is how a primary is chosen for a request that any of them answers.
type Picker uint8

// The pickers.
const (
	PickInTurn Picker = iota // one after the other
	PickRandom
	PickFirst // always the same
)

// anySlot returns a slot of the primary that the picker chooses. If that one cannot be reached,
// it is the next one that can, unless it shall always be the same.
func (w *Worker) anySlot() uint16 {
	all := w.firstSlots
	if len(all) == 0 {
		return 0
	}
	first := w.pick(len(all))
	for i := 0; i < len(all) && w.Picker != PickFirst; i++ {
		s := all[(first+i)%len(all)]
		if index := w.route[s]; index != noNode && w.nodes[index].failures == 0 {
			return s
		}
	}
	return all[first]
}

// pick chooses one of n.
func (w *Worker) pick(n int) int {
	switch w.Picker {
	case PickRandom:
		return w.Rand.IntN(n)
	case PickInTurn:
		w.rotation++
	}
	return w.rotation % n
}

package worker

import (
	"mithril/src/pipe"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/timer"
	"mithril/src/topology"
)

// What a timer is for stands in the top byte of its payload, what it is about below.
const (
	timerSweep  uint64 = iota << 56
	timerResend        // index of a waiting request
	timerDial          // index and generation of a pipe
	timerAccept        // number of a listener
	timerReplies
	timerEarly
	timerPatience // index and generation of a pipe
	timerKinds    = 0xff << 56
)

type timerHandle = timer.Handle

// pipePayload is what the payload of a timer tells of a pipe, below what the timer is for.
func pipePayload(t ring.Token) uint64 { return uint64(t.Index()) | uint64(t.Generation())<<24 }

func pipeToken(payload uint64) ring.Token {
	return ring.MakeToken(ring.KindPipe, uint32(payload>>24), uint32(payload&(1<<24-1)))
}

// expire runs the timers that are due.
func (w *Worker) expire() {
	w.fired = w.timers.Expire(w.now, w.fired[:0])
	for _, payload := range w.fired {
		value := payload &^ timerKinds
		switch payload & timerKinds {
		case timerSweep:
			w.sweep()
		case timerResend:
			w.resend(w.waiting.take(uint32(value)))
		case timerDial:
			w.dialExpired(pipeToken(value))
		case timerAccept:
			w.accept(int(value))
		case timerReplies:
			w.sweepReplies()
		case timerPatience:
			w.patienceOver(pipeToken(value))
		case timerEarly:
			// What was early for so long is decided on at the end of this turn.
		}
	}
}

func (w *Worker) dialExpired(t ring.Token) {
	if b := w.pipes.get(t); b != nil && (b.State() == pipe.Connecting || b.State() == pipe.Greeting) {
		w.losePipe(b, ring.ErrTimedOut.String())
	}
}

// sweep does once a second what need not be done at once.
func (w *Worker) sweep() {
	w.timers.Arm(w.now+second, timerSweep)
	w.clients.each(w.sweepClient)
	w.pipes.each(w.sweepStuck)
	w.forget()
	for _, n := range w.nodes {
		w.sweepIdle(n)
	}
	w.logMoreCloses()
	w.rate, w.rated = w.counters.Commands-w.rated, w.counters.Commands
	w.env.Rest()
	w.plan.Rest()
	if cap(w.scratch) > session.ScratchBytesMax {
		w.scratch = nil
	}
	w.landing.Drop(w.Arena)
	w.Arena.Trim()
}

// sweepStuck looks for a node that owes replies and has sent none since the last sweep. It
// may hang, or its host may be gone without a word, so the map is asked for: when the
// cluster has given its slots to another, nobody shall wait for it.
func (w *Worker) sweepStuck(b *backend) {
	if b.far != nil || w.waitsForClient(b) {
		return
	}
	answered := b.swept != b.Replies()
	b.swept = b.Replies()
	if !answered {
		w.findLost(&b.end)
	}
	at, waiting := b.Oldest()
	if answered || !waiting || w.now-at < second {
		return
	}
	w.Wish()
	switch {
	case b.node.demoted:
		w.losePipe(b, "it does not answer and is not a primary any more")
	case b.node.role == roleReplica:
		w.losePipe(b, "it does not answer and is no primary") // what it would say does not count
	}
}

func (w *Worker) sweepClient(c *client) {
	if c.end.state != endOpen {
		return
	}
	c.CheckOutput(&w.env, w.now)
	w.sweepLeft(c)
	w.sweepLost(c)
	w.sweepLarge(c)
	c.Rest()
	if w.IdleTimeout > 0 && c.Pending() == 0 && c.Holding() != session.HoldPipe && c.leaving() == 0 && w.now-max(c.heard, c.moved) > w.IdleTimeout {
		c.Kill("")
	}
	if c.Done() {
		w.touch(c)
	}
}

// sweepReplies looks for nodes that owe a reply for too long.
func (w *Worker) sweepReplies() {
	period := max(w.BackendTimeout/8, millisecond)
	late := w.now-w.repliesAt > period
	w.repliesAt = w.now + period
	w.timers.Arm(w.repliesAt, timerReplies)
	if late {
		// The process was held up: what the nodes have sent meanwhile is yet to be read.
		return
	}
	w.pipes.each(w.sweepPipe)
}

// sweepPipe resets a pipe whose oldest request has waited too long. Of a far pipe only the
// keeper knows whether it is the node that is waited for.
func (w *Worker) sweepPipe(b *backend) {
	at, ok := b.Oldest()
	if !ok || b.far != nil || w.waitsForClient(b) || w.now-at <= w.BackendTimeout {
		return
	}
	w.losePipe(b, "no reply within backend-timeout-ms")
}

// waitsForClient says that it is not the node that a pipe waits for: its client takes a
// large reply slowly, or sends a large request slowly.
func (w *Worker) waitsForClient(b *backend) bool {
	return b.stopped != readOn || b.Begun() && w.unsent(b) == 0
}

// drain begins the end of the worker: nothing is accepted any more. At the cutoff what is
// due is flushed and the sessions end.
func (w *Worker) drain() {
	if !w.draining {
		w.draining = true
		for i, state := range w.accepting {
			if state == acceptOff { // it rests
				w.closeListener(i)
			} else {
				w.stopAccepting(i)
			}
		}
	}
	if w.Shared.Cutoff.Load() && !w.cut {
		w.cut = true
		w.clients.each(func(c *client) {
			if c.end.state == endOpen {
				c.Drain(&w.env)
				w.abortUpload(c)
				w.touch(c)
			}
		})
	}
}

// adoptVersion makes the sessions speak the version of the backends, and know their commands.
func (w *Worker) adoptVersion(t *topology.Snapshot) {
	if table := w.Commands(); table != w.env.Table {
		w.env.UseTable(table)
	}
	if t.Version.Known() {
		w.env.Server.Name, w.env.Server.Version = t.Engine, t.Version.String()
	}
}

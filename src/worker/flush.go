package worker

import "mithril/src/ring"

const (
	// gatherFrom is on how many sockets events must be due before the wait gathers them: a
	// lone client pays nothing.
	gatherFrom = 8

	// gatherMax is how many of them a gathering wait asks for at most.
	gatherMax = 32
)

// flush turns what the turn has produced into operations: one send per socket.
func (w *Worker) flush() {
	w.flushPipes()
	// To close a client can bring others replies, and nodes requests.
	for i := 0; i < len(w.dirtyClients); i++ {
		if c := w.clients.get(w.dirtyClients[i]); c != nil {
			c.dirty = false
			w.flushClient(c)
		}
	}
	w.dirtyClients = w.dirtyClients[:0]
	w.flushPipes()
	w.feedStarved()
}

func (w *Worker) flushPipes() {
	for _, t := range w.dirtyPipes {
		b := w.pipes.get(t)
		if b == nil {
			continue
		}
		b.dirty = false
		if b.far != nil {
			if b.MaySend() && !b.ended {
				w.handOver(b)
			}
			continue
		}
		if b.end.state == endOpen && !b.end.sending() && b.MaySend() && (len(b.lines) == 0 || b.Gathered()) {
			w.send(&b.end, b.Sendable())
			b.Flushed()
			w.due.expect(&b.end)
			w.counters.BackendSends++
		}
	}
	w.dirtyPipes = w.dirtyPipes[:0]
}

func (w *Worker) flushClient(c *client) {
	if c.end.state != endOpen {
		return
	}
	if c.Done() {
		w.closeClient(c)
		return
	}
	if !c.end.sending() && c.Out().Bytes() > 0 {
		w.send(&c.end, c.Out())
		if c.Pending() == 0 {
			w.due.expect(&c.end)
		}
		w.counters.ClientSends++
	}
}

// feedStarved arms the sockets again whose receive ended for want of chunks.
func (w *Worker) feedStarved() {
	for _, t := range w.starved {
		if c := w.clients.get(t); t.Kind() == ring.KindSession && c != nil {
			w.receive(&c.end)
		}
		if b := w.pipes.get(t); t.Kind() == ring.KindPipe && b != nil {
			w.receiveReplies(b)
		}
	}
	w.starved = w.starved[:0]
}

// wait says how long the next turn may block. When events are due on many sockets it
// gathers them, because each turn has a price that all of them share. It asks for all that
// are due, up to a limit: then nodes and clients get their work in batches too and answer
// in batches. What does not come within the window is not due any more.
func (w *Worker) wait() ring.Wait {
	deadline := ring.Forever
	if at, ok := w.timers.Next(); ok {
		deadline = at
	}
	if len(w.ready) > 0 || w.resting && w.allRest() {
		deadline = 0
	}
	wait := ring.Wait{Deadline: deadline, Min: 1}
	if w.window == 0 || w.bulk {
		return wait // bulk does not come quicker for waiting
	}
	if due := w.due.count(); due >= gatherFrom {
		wait.Window = w.window
		wait.Min = w.sends + min(gatherMax, due)
	}
	return wait
}

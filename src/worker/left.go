package worker

import "mithril/src/session"

// leftAfter is how long nothing may have happened for a client that has left before it is
// closed with the requests that wait for a node. One that has only ended its sending side
// still reads replies, and cannot be told from one that is gone, so it is not closed at
// once; but a node that hangs would keep it, and its descriptor, for ever.
const leftAfter = 10 * second

// sweepLeft closes a client that has left and waits in vain. While bytes are on their way
// to it, it is the one who is waited for: if it is gone, sending fails.
func (w *Worker) sweepLeft(c *client) {
	n := c.Answered()
	c.answers += uint64(n - c.answered)
	if n != c.answered || c.Pending() == 0 && c.Holding() == session.HoldNone || c.leaving() > 0 {
		c.answered, c.waits = n, w.now
	}
	if w.BackendTimeout > 0 {
		return // it gets its replies, whatever they are
	}
	if w.now-max(c.waits, c.heard) < leftAfter {
		return
	}
	// Nothing is received while the session is held back, the end neither: so it is asked.
	if c.end.recv == recvOver || w.Ring.Left(c.end.socket) {
		c.Kill("it has left, and what it asked for is not answered")
		return
	}
	c.waits = w.now // ask again that much later
}

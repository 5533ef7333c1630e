package worker

const (
	// lostAfter is how long nothing may have come from a client before it is looked at. An
	// end that gets lost comes right behind the last bytes, so one look finds it.
	lostAfter = 1 * second

	// lostAgain is from one look to the next while the client stays silent.
	lostAgain = 10 * second
)

// findLost looks for the end of a connection that the engine has not told of. Linux 6.18
// loses it now and then, when a peer resets the connection right behind its last bytes:
// the socket is readable, and the io_uring receive that waits for that goes on waiting. A
// new one is told at once. Without it a client from which nothing is owed would keep its
// descriptor for ever, and so would requests wait that were with a node.
func (w *Worker) findLost(e *end) {
	if e.state == endOpen && e.recv == recvArmed && w.Ring.Left(e.socket) {
		w.pause(e) // and when that is done, it is received from again
	}
}

// sweepLost looks at a client that is silent.
func (w *Worker) sweepLost(c *client) {
	due := c.heard + lostAfter
	if c.lookedAt > c.heard {
		due = c.lookedAt + lostAgain
	}
	if w.now > due {
		c.lookedAt = w.now
		w.findLost(&c.end)
	}
}

package worker

// Census counts what a worker holds. It is for tests, which check that nothing is left.
type Census struct {
	Clients  int // sessions that are not freed
	Nodes    int // that may be dialed
	Pipes    int // connections to nodes, whatever their state
	Fars     int // of them, those that are another worker's
	InFlight int // requests with nodes, or queued for one
	Joins    int // split requests that wait for parts
	Waiting  int // redirected requests that wait for their next try
	Lines    int // ends of other workers' far pipes
	Lent     int // blocks that other workers are not done with
	Timers   int // armed; the worker's own are the sweep, and one more with a BackendTimeout
}

// Census counts what w holds now.
func (w *Worker) Census() Census {
	nodes := 0
	for _, n := range w.nodes {
		if n.used {
			nodes++
		}
	}
	return Census{
		Nodes: nodes, Clients: w.clients.live, Pipes: w.pipes.live, Fars: w.fars, InFlight: w.inFlight, Joins: w.joins.live,
		Lines: w.lines.live, Lent: w.lentBlocks(), Waiting: len(w.waiting.list) - len(w.waiting.free), Timers: w.timers.Len(),
	}
}

package worker

import (
	"mithril/src/ring"
	"mithril/src/window"
)

// finder measures for the machine that finds the batch window.
type finder struct {
	machine  *window.Machine
	next     int64  // when the next sample is due, ns
	last     int64  // when the last one was taken, ns
	clients  int    // that have sent something since
	answered uint64 // served() then
	cpu      int64  // of the thread then, ns
}

// startWindow puts the configured window in force, or begins to look for one.
func (w *Worker) startWindow() {
	w.due.epoch = epochMin
	w.window, w.finder.next = w.BatchWindow, ring.Forever
	if w.FindWindow != nil {
		w.window, w.finder = 0, finder{machine: window.New(*w.FindWindow), last: w.now, next: w.now + w.FindWindow.Phase}
	}
}

// findWindow takes a sample and puts the window in force that the machine answers with.
func (w *Worker) findWindow() {
	f := &w.finder
	cpu := w.Ring.CPU()
	w.window = min(w.BatchWindow, f.machine.Tick(window.Sample{
		Took: w.now - f.last, Clients: f.clients,
		Commands: int(w.served() - f.answered), CPU: cpu - f.cpu,
	}))
	f.last, f.next = w.now, w.now+w.FindWindow.Phase
	f.clients, f.answered, f.cpu = 0, w.served(), cpu
	counts := f.machine.Counts()
	w.counters.WindowProbes, w.counters.WindowKeeps, w.counters.WindowReverts = counts.Probes, counts.Keeps, counts.Reverts
}

// served is how many replies of nodes the worker has had work with.
func (w *Worker) served() uint64 { return w.counters.BackendReplies + w.counters.HandedBack }

package session

import (
	"mithril/src/buf"
	"mithril/src/invariant"
)

const (
	windowMin = 16

	// entryBytes is the memory that an entry takes, in a ring that may be half empty.
	entryBytes = 64
)

// entry is one accepted request that is not answered to the client yet.
type entry struct {
	reply   buf.Slice // when parked; holds one reference
	parked  bool
	bounced bool // redirected and not answered since
	silent  bool // its reply does not go out
}

// window is the ring of accepted, unanswered requests, numbered head..tail-1. Numbers
// wrap around; only differences count.
type window struct {
	entries []entry // a power of two long, or nil
	head    uint32
	tail    uint32
	parked  uint32 // entries whose reply is in and waits for an earlier one
}

func (w *window) len() uint32            { return w.tail - w.head }
func (w *window) empty() bool            { return w.tail == w.head }
func (w *window) open() uint32           { return w.tail - w.head - w.parked }
func (w *window) isLast(seq uint32) bool { return seq+1 == w.tail }

func (w *window) at(seq uint32) *entry {
	invariant.Assert(seq-w.head < w.tail-w.head, "session: number outside the window")
	return &w.entries[seq&uint32(len(w.entries)-1)]
}

// push opens an entry, for a reply that goes out unless it is silent, and returns its number.
func (w *window) push(silent bool) uint32 {
	if w.len() == uint32(len(w.entries)) {
		w.grow()
	}
	seq := w.tail
	w.entries[seq&uint32(len(w.entries)-1)] = entry{silent: silent}
	w.tail++
	return seq
}

func (w *window) grow() {
	bigger := make([]entry, max(windowMin, 2*len(w.entries)))
	for i := w.head; i != w.tail; i++ {
		bigger[i&uint32(len(bigger)-1)] = w.entries[i&uint32(len(w.entries)-1)]
	}
	w.entries = bigger
}

// rest gives the ring back if it is idle after a burst.
func (w *window) rest() {
	if w.empty() && len(w.entries) > 4*windowMin {
		w.entries = nil
	}
}

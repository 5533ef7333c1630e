package mailbox

import "sync/atomic"

// Bell tells a worker that something was put into one of its queues, and others whether it
// has to be woken for that.
type Bell struct {
	asleep atomic.Bool
	notes  atomic.Uint32
	_      [56]byte // bells of different workers share no cache line
}

// Sleep announces that the worker is going to wait. It looks at Notes once more before it
// does.
func (b *Bell) Sleep() { b.asleep.Store(true) }

// Awake says that the wait is over.
func (b *Bell) Awake() { b.asleep.Store(false) }

// Notes changes with everything that was put into the worker's queues: so one look tells
// whether to look into them.
func (b *Bell) Notes() uint32 { return b.notes.Load() }

// Note tells the worker that something was published. It is for the producers, as is Needed.
func (b *Bell) Note() { b.notes.Add(1) }

// Needed says that the worker waits, or is about to, and has to be woken.
func (b *Bell) Needed() bool { return b.asleep.Load() }

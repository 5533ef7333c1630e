package mailbox

import "sync/atomic"

// Bell tells whether a worker has to be woken for what is put into its queues.
type Bell struct {
	asleep atomic.Bool
	_      [60]byte // bells of different workers share no cache line
}

// Sleep announces that the worker is going to wait. It looks into its queues once more
// before it does.
func (b *Bell) Sleep() { b.asleep.Store(true) }

// Awake says that the wait is over.
func (b *Bell) Awake() { b.asleep.Store(false) }

// Needed says that the worker waits, or is about to, and has to be woken. It is for the
// producers.
func (b *Bell) Needed() bool { return b.asleep.Load() }

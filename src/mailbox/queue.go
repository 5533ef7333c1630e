package mailbox

import (
	"sync/atomic"

	"mithril/src/invariant"
)

// Queue is a bounded queue between one producer and one consumer. The zero Queue is not
// usable; see New.
type Queue[T any] struct {
	slots []T
	mask  uint64

	_         [64]byte // the sides write to cache lines of their own
	published atomic.Uint64
	put       uint64 // the producer's: values put, those not published included
	room      uint64 // the producer's: up to which value there was room when it looked last

	_     [64]byte
	done  atomic.Uint64
	taken uint64 // the consumer's: values taken, those not done included
	known uint64 // the consumer's: published when it looked last

	_     [64]byte
	short atomic.Bool // the producer waits for room
	_     [64]byte
}

// New makes a queue for size values, a power of two.
func New[T any](size int) *Queue[T] {
	invariant.Assert(size > 0 && size&(size-1) == 0, "mailbox: the size of a queue is no power of two")
	return &Queue[T]{slots: make([]T, size), mask: uint64(size - 1), room: uint64(size)}
}

// Room is how many values can be put now. It is the producer's, as are all methods up to
// Short.
func (q *Queue[T]) Room() int {
	q.room = q.done.Load() + uint64(len(q.slots))
	return int(q.room - q.put)
}

// HasRoom says that n values can be put now.
func (q *Queue[T]) HasRoom(n int) bool { return q.room-q.put >= uint64(n) || q.Room() >= n }

// Put returns the next value to be filled in, as its last use has left it. There must be
// room.
func (q *Queue[T]) Put() *T {
	if q.put == q.room {
		invariant.Assert(q.Room() > 0, "mailbox: put into a full queue")
	}
	v := &q.slots[q.put&q.mask]
	q.put++
	return v
}

// Last is the newest value that is not published, nil if there is none.
func (q *Queue[T]) Last() *T {
	if q.put == q.published.Load() {
		return nil
	}
	return &q.slots[(q.put-1)&q.mask]
}

// Position is how many values have been put so far. A value is done with when Taken has
// reached the Position behind it.
func (q *Queue[T]) Position() uint64 { return q.put }

// Taken is how many values the consumer is done with.
func (q *Queue[T]) Taken() uint64 { return q.done.Load() }

// Publish shows the consumer what has been put, and says whether there was anything new.
func (q *Queue[T]) Publish() bool {
	if q.put == q.published.Load() {
		return false
	}
	q.published.Store(q.put)
	return true
}

// Short asks the consumer to ring when it has made room. The producer looks for room once
// more behind it.
func (q *Queue[T]) Short() { q.short.Store(true) }

// Waiting says that there are values to take. It is the consumer's, as are all methods
// below.
func (q *Queue[T]) Waiting() bool { return q.published.Load() != q.taken }

// Look notes what is published, for Take to give out: what comes later is left for the next
// Look.
func (q *Queue[T]) Look() { q.known = q.published.Load() }

// Take returns the next value that Look has seen, nil if there is none. It stays as it is
// until Done.
func (q *Queue[T]) Take() *T {
	if q.taken == q.known {
		return nil
	}
	v := &q.slots[q.taken&q.mask]
	q.taken++
	return v
}

// Done gives everything that was taken back to the producer, and says whether the producer
// has to be rung because it waits for room.
func (q *Queue[T]) Done() (ring bool) {
	if q.taken == q.done.Load() {
		return false
	}
	q.done.Store(q.taken)
	return q.short.Load() && q.short.Swap(false)
}

package sys

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

// messageTryNs is how long a ring is given, in nanoseconds, to get a message at the start.
const messageTryNs = 1e9

// messageWorks says whether a ring can wake another one by a message. It is tried once: all
// engines of a process must come to the same answer.
var messageWorks = sync.OnceValue(tryMessage)

// tryMessage sends a message to a ring whose thread waits. No flag tells whether that works:
// there have been kernels that refuse it to rings set up as ours are, or do not wake them.
func tryMessage() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	q, err := newQueue(2, 4)
	if err != nil {
		return false
	}
	defer q.close()
	target, got := make(chan int), make(chan bool)
	go awaitMessage(target, got)
	fd := <-target
	if fd < 0 {
		return false
	}
	time.Sleep(time.Millisecond) // until it waits, most likely
	q.message(fd, 0)
	errno := q.reap()
	return <-got && errno == 0 && q.available() == 0 // a failure would have completed here
}

// awaitMessage makes a ring, tells its descriptor (below 0: there is none) and then whether
// a message has come.
func awaitMessage(target chan<- int, got chan<- bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	q, err := newQueue(2, 4)
	if err != nil {
		target <- -1
		return
	}
	target <- q.fd
	for end := Now() + messageTryNs; q.available() == 0 && Now() < end; {
		q.wait(1, 0, max(end-Now(), 0)) // a signal ends it early
	}
	arrived := q.available() == 1 && userData(q.cqes[0].userData).action() == actRung
	q.close()
	got <- arrived
}

// message fills a slot with a message to the ring with descriptor fd. It completes here only if
// it fails.
func (q *queue) message(fd int, u userData) {
	slot := q.next()
	slot.opcode = opMsgRing
	slot.flags = sqeCQESkipSuccess
	slot.fd = int32(fd)
	slot.addr = msgData
	slot.off = uint64(makeUserData(actRung, 0, 0))
	slot.userData = uint64(u)
}

// Bell is ring.Ring's: the ring, or where messages do not work the wake descriptor.
func (u *Uring) Bell() ring.Socket {
	if u.message {
		return ring.Socket(u.q.fd)
	}
	return ring.Socket(u.wakeFD)
}

// bell wakes the engine whose Bell is given.
func (u *Uring) bell(peer ring.Socket) {
	if u.message {
		u.q.message(int(peer), makeUserData(actBell, 0, peer))
		return
	}
	// Not with the ring: a write to an eventfd that may block is done by a thread of the
	// kernel's.
	signalEvent(int(peer))
}

// bellFailed handles a message that did not arrive. If the kernel was short of memory it is
// sent again; otherwise the peer has ended, or has so many completions that it does not wait.
func (u *Uring) bellFailed(peer ring.Socket, errno unix.Errno) {
	if errno == unix.ENOMEM {
		u.bell(peer)
	}
}

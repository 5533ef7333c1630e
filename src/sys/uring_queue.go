package sys

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scratchBytes is the room for what submissions point to. It holds at least one
// send of sendSlicesMax slices; a turn that needs more submits in between.
const scratchBytes = 1 << 20

// queue is one io_uring: the submission queue, the completion queue and scratch
// memory for what submissions point to.
//
//	      next()          submit(), wait()
//	SQE  --------> ring --------------------> kernel --> completion ring
//	                                                     available(), consume()
//
// The kernel copies a submission and all it points to while it takes it
// (featSubmitStable), so a slot and the scratch are free again after the call.
type queue struct {
	fd       int
	rings    []byte // both rings' heads, tails and completions
	sqeBytes []byte
	features uint32
	noArray  bool // the submission queue has no index array

	sqes      []sqe
	sqMask    uint32
	sqTail    *uint32
	sqFlags   *uint32
	tail      uint32 // next slot to be filled
	submitted uint32 // slots before it have been taken by the kernel

	cqes   []cqe
	cqMask uint32
	cqHead *uint32
	cqTail *uint32

	control     *queueControl
	scratch     []byte
	scratchUsed int

	long   bool // the scheduler is told of waits; see doc.go
	enters uint64
}

// queueControl is what the kernel reads or writes through pointers apart from the
// scratch. It lies in mapped memory: a Go stack may move while the kernel reads.
type queueControl struct {
	arg  eventsArg
	ts   timespec
	woke uint64 // where the read of the wake descriptor ends up
}

// setupFlags are the flags to set a ring up with, the best first. What all have in
// common the engine cannot do without.
var setupFlags = [...]uint32{
	setupCQSize | setupSubmitAll | setupSingleIssuer | setupDeferTaskrun | setupNoSQArray,
	setupCQSize | setupSubmitAll | setupSingleIssuer | setupDeferTaskrun,
}

// newQueue sets up a ring. Only the calling thread may use it, and the goroutine
// must stay locked to it.
func newQueue(submissions, completions uint32) (*queue, error) {
	var p setupParams
	var fd int
	errno := unix.EINVAL
	for _, flags := range setupFlags {
		if errno == unix.EINVAL {
			p = setupParams{cqEntries: completions, flags: flags}
			fd, errno = setup(submissions, &p)
		}
	}
	if errno != 0 {
		return nil, &setupError{errno: errno}
	}
	q := &queue{fd: fd, features: p.features, noArray: p.flags&setupNoSQArray != 0}
	if missing := missingFeatures(p.features); missing != "" {
		q.close()
		return nil, fmt.Errorf("io_uring lacks %s: %s", missing, kernelFloor())
	}
	if err := q.mapRings(&p); err != nil {
		q.close()
		return nil, err
	}
	return q, nil
}

func setup(entries uint32, p *setupParams) (int, unix.Errno) {
	fd, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	return int(fd), errno
}

func (q *queue) mapRings(p *setupParams) error {
	const protection = unix.PROT_READ | unix.PROT_WRITE
	size := p.cq.cqes + p.cqEntries*uint32(unsafe.Sizeof(cqe{}))
	if p.flags&setupNoSQArray == 0 {
		size = max(size, p.sq.array+p.sqEntries*4)
	}
	var err error
	if q.rings, err = unix.Mmap(q.fd, offSQRing, int(size), protection, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("cannot map the rings of io_uring: %w", err)
	}
	sqeSize := int(p.sqEntries) * int(unsafe.Sizeof(sqe{}))
	if q.sqeBytes, err = unix.Mmap(q.fd, offSQEs, sqeSize, protection, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("cannot map the submissions of io_uring: %w", err)
	}
	own, err := unix.Mmap(-1, 0, scratchBytes, protection, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("cannot map scratch memory for io_uring: %w", err)
	}
	q.scratch = own
	q.control = (*queueControl)(unsafe.Pointer(&own[0]))
	q.resetScratch()

	word := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&q.rings[off])) }
	q.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&q.sqeBytes[0])), p.sqEntries)
	q.sqMask, q.sqTail, q.sqFlags = *word(p.sq.ringMask), word(p.sq.tail), word(p.sq.flags)
	q.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&q.rings[p.cq.cqes])), p.cqEntries)
	q.cqMask, q.cqHead, q.cqTail = *word(p.cq.ringMask), word(p.cq.head), word(p.cq.tail)
	if p.flags&setupNoSQArray == 0 {
		array := unsafe.Slice(word(p.sq.array), p.sqEntries)
		for i := range array {
			array[i] = uint32(i)
		}
	}
	return nil
}

// next is a cleared submission slot, to be filled before the next call of the
// queue. With all slots filled it submits them first.
func (q *queue) next() *sqe {
	if q.tail-q.submitted == uint32(len(q.sqes)) {
		q.submit()
	}
	s := &q.sqes[q.tail&q.sqMask]
	*s = sqe{}
	q.tail++
	return s
}

// reserve is n bytes of scratch, 8-byte aligned and valid until the next submit or
// wait. It must be called before the next() whose submission will point there,
// because it submits when the scratch is used up.
func (q *queue) reserve(n int) unsafe.Pointer {
	n = (n + 7) &^ 7
	if q.scratchUsed+n > len(q.scratch) || q.tail-q.submitted == uint32(len(q.sqes)) {
		q.submit()
	}
	p := unsafe.Pointer(&q.scratch[q.scratchUsed])
	q.scratchUsed += n
	return p
}

// resetScratch frees the scratch, all but the control block at its start.
func (q *queue) resetScratch() { q.scratchUsed = int(unsafe.Sizeof(queueControl{})+7) &^ 7 }

// submit hands all filled slots to the kernel without waiting for anything.
func (q *queue) submit() {
	for q.tail != q.submitted {
		switch errno := q.enter(0, 0, nil, 0); errno {
		case 0, unix.EINTR, unix.EAGAIN, unix.EBUSY:
			// EAGAIN and EBUSY pass: the kernel is short of memory for a moment.
		default:
			panic("sys: io_uring_enter cannot submit: " + errno.Error())
		}
	}
}

// wait submits, then waits until `completions` completions are there, at most
// timeout nanoseconds (below 0: for ever). With window above 0, one completion is
// enough once window nanoseconds have passed.
func (q *queue) wait(completions uint32, window, timeout int64) unix.Errno {
	if timeout < 0 {
		return q.enter(completions, enterGetEvents, nil, 0)
	}
	c := q.control
	c.ts = timespec{sec: timeout / 1e9, nsec: timeout % 1e9}
	c.arg = eventsArg{
		minWaitUsec: uint32((window + 999) / 1000),
		ts:          uint64(uintptr(unsafe.Pointer(&c.ts))),
	}
	return q.enter(completions, enterGetEvents|enterExtArg, unsafe.Pointer(&c.arg), unsafe.Sizeof(c.arg))
}

// reap makes the kernel post what has completed, without waiting, and submits.
func (q *queue) reap() unix.Errno { return q.enter(0, enterGetEvents, nil, 0) }

func (q *queue) enter(completions, flags uint32, arg unsafe.Pointer, argSize uintptr) unix.Errno {
	atomic.StoreUint32(q.sqTail, q.tail)
	q.enters++
	enter := unix.RawSyscall6
	if q.long && completions > 0 {
		enter = unix.Syscall6
	}
	n, _, errno := enter(unix.SYS_IO_URING_ENTER, uintptr(q.fd), uintptr(q.tail-q.submitted), uintptr(completions), uintptr(flags), uintptr(arg), argSize)
	if errno != 0 {
		return errno
	}
	q.submitted += uint32(n)
	if q.submitted == q.tail {
		q.resetScratch()
	}
	return 0
}

// pending says whether the slot filled when tail was `at` is still to be taken.
func (q *queue) pending(at uint32) bool { return int32(at-q.submitted) >= 0 && q.tail != q.submitted }

// available is the number of completions that are there.
func (q *queue) available() uint32 { return atomic.LoadUint32(q.cqTail) - *q.cqHead }

// consume frees the completions before head.
func (q *queue) consume(head uint32) { atomic.StoreUint32(q.cqHead, head) }

// overflowed says that completions wait in the kernel for room in the ring; the
// next wait or reap fetches them.
func (q *queue) overflowed() bool { return atomic.LoadUint32(q.sqFlags)&sqCQOverflow != 0 }

// register is io_uring_register(2).
func (q *queue) register(op uintptr, arg unsafe.Pointer, n uintptr) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_REGISTER, uintptr(q.fd), op, uintptr(arg), n, 0, 0)
	return errno
}

func (q *queue) close() {
	for _, m := range []*[]byte{&q.rings, &q.sqeBytes, &q.scratch} {
		if *m != nil {
			_ = unix.Munmap(*m)
			*m = nil
		}
	}
	unix.Close(q.fd)
}

package sys

// The kernel's interface, from include/uapi/linux/io_uring.h: what this engine
// uses of it, under names that are the header's without IORING_.

// Operations.
const (
	opSendmsg     = 9
	opAccept      = 13
	opAsyncCancel = 14
	opConnect     = 16
	opClose       = 19
	opRead        = 22
	opSend        = 26
	opRecv        = 27
	opMsgRing     = 40
)

// Flags of a submission, of accept and of recv.
const (
	sqeBufferSelect   = 1 << 5
	sqeCQESkipSuccess = 1 << 6

	cancelAll = 1 << 0 // in opFlags
	cancelAny = 1 << 2 // in opFlags

	acceptMultishot = 1 << 0 // in ioprio
	recvMultishot   = 1 << 1 // in ioprio

	msgData = 0 // in addr: the message is a completion
)

// Flags of a completion. The number of the buffer is above cqeBufferShift.
const (
	cqeBuffer      = 1 << 0
	cqeMore        = 1 << 1
	cqeBufferShift = 16
)

// Flags of the submission queue that the kernel sets.
const sqCQOverflow = 1 << 1

// Flags of io_uring_setup, with the Linux version that brought the younger ones.
const (
	setupCQSize       = 1 << 3
	setupSubmitAll    = 1 << 7  // 5.18
	setupSingleIssuer = 1 << 12 // 6.0
	setupDeferTaskrun = 1 << 13 // 6.1
	setupNoSQArray    = 1 << 16 // 6.6
)

// Features that io_uring_setup reports.
const (
	featSingleMmap   = 1 << 0
	featNoDrop       = 1 << 1
	featSubmitStable = 1 << 2
	featFastPoll     = 1 << 5
	featExtArg       = 1 << 8
	featCQESkip      = 1 << 11 // 5.17
	featMinTimeout   = 1 << 15 // 6.12
)

// Flags of io_uring_enter.
const (
	enterGetEvents = 1 << 0
	enterExtArg    = 1 << 3
)

// Offsets for mmap, and operations of io_uring_register.
const (
	offSQRing = 0
	offSQEs   = 0x10000000

	registerProbe    = 8
	registerPbufRing = 22 // 5.19
)

// sqe is struct io_uring_sqe.
type sqe struct {
	opcode      uint8
	flags       uint8
	ioprio      uint16
	fd          int32
	off         uint64 // connect: length of the address; message: its user data
	addr        uint64
	len         uint32
	opFlags     uint32 // msg_flags, accept_flags, cancel_flags
	userData    uint64
	bufGroup    uint16
	personality uint16
	fileIndex   int32
	addr3       uint64
	_           uint64
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// setupParams is struct io_uring_params.
type setupParams struct {
	sqEntries, cqEntries uint32
	flags                uint32
	sqThreadCPU          uint32
	sqThreadIdle         uint32
	features             uint32
	wqFD                 uint32
	_                    [3]uint32
	sq                   sqOffsets
	cq                   cqOffsets
}

type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, _ uint32
	userAddr                                                    uint64
}

type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, _ uint32
	userAddr                                                    uint64
}

// eventsArg is struct io_uring_getevents_arg.
type eventsArg struct {
	sigmask     uint64
	sigmaskSize uint32
	minWaitUsec uint32
	ts          uint64 // address of a timespec
}

// timespec is struct __kernel_timespec.
type timespec struct {
	sec, nsec int64
}

// bufRingEntry is struct io_uring_buf. The tail of the ring, 16 bits, lies in the
// last two bytes of the first entry.
type bufRingEntry struct {
	addr uint64
	len  uint32
	bid  uint16
	tail uint16
}

// bufRingReg is struct io_uring_buf_reg.
type bufRingReg struct {
	ringAddr    uint64
	ringEntries uint32
	group       uint16
	flags       uint16
	_           [3]uint64
}

// probeOp is struct io_uring_probe_op, probeSet struct io_uring_probe.
type probeOp struct {
	op    uint8
	_     uint8
	flags uint16
	_     uint32
}

const probeOpSupported = 1 << 0

type probeSet struct {
	lastOp uint8
	opsLen uint8
	_      uint16
	_      [3]uint32
	ops    [256]probeOp
}

// iovec and msghdr as the kernel reads them, by addresses rather than pointers
// because they name memory outside the Go heap.
type iovec struct {
	base uint64
	len  uint64
}

type msghdr struct {
	name       uint64
	nameLen    uint32
	_          uint32
	iov        uint64
	iovLen     uint64
	control    uint64
	controlLen uint64
	flags      int32
	_          uint32
}

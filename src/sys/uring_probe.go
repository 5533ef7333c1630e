package sys

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Features are what the kernel's io_uring has beyond what the engine needs.
type Features struct {
	Kernel  string // release, as uname -r prints it
	MinWait bool   // minimum waits, for the batch window (Linux 6.12)
	NoArray bool   // submission queue without an index array (Linux 6.6)
	Message bool   // messages between rings, for bells
}

// neededOps are the operations the engine cannot do without.
var neededOps = [...]struct {
	op   uint8
	name string
}{
	{opSendmsg, "SENDMSG"},
	{opAccept, "ACCEPT"},
	{opAsyncCancel, "ASYNC_CANCEL"},
	{opConnect, "CONNECT"},
	{opClose, "CLOSE"},
	{opRead, "READ"},
	{opSend, "SEND"},
	{opRecv, "RECV"},
}

// neededFeatures likewise.
var neededFeatures = [...]struct {
	bit  uint32
	name string
}{
	{featSingleMmap, "FEAT_SINGLE_MMAP"},
	{featNoDrop, "FEAT_NODROP"},
	{featSubmitStable, "FEAT_SUBMIT_STABLE"},
	{featFastPoll, "FEAT_FAST_POLL"},
	{featExtArg, "FEAT_EXT_ARG"},
	{featCQESkip, "FEAT_CQE_SKIP"},
}

// ProbeUring tries everything the engine needs from io_uring. It must be called
// before the port opens. The error names cause and remedy.
func ProbeUring() (Features, error) {
	// A ring of one issuer refuses every thread but the one that made it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := Features{Kernel: kernelRelease()}
	err := probe(&f)
	if err != nil {
		return f, fmt.Errorf("sys: %w", err)
	}
	return f, nil
}

func probe(f *Features) error {
	q, err := newQueue(8, 16)
	if err != nil {
		return err
	}
	defer q.close()
	f.MinWait = q.features&featMinTimeout != 0
	f.NoArray = q.noArray
	if err := q.probeOps(); err != nil {
		return err
	}
	if err := q.probeMultishot(); err != nil {
		return err
	}
	f.Message = messageWorks()
	return nil
}

func (q *queue) probeOps() error {
	set := new(probeSet)
	if errno := q.register(registerProbe, unsafe.Pointer(set), uintptr(len(set.ops))); errno != 0 {
		return fmt.Errorf("io_uring_register refuses a probe: %w; %s", errno, kernelFloor())
	}
	for _, need := range neededOps {
		if need.op > set.lastOp || set.ops[need.op].flags&probeOpSupported == 0 {
			return fmt.Errorf("io_uring lacks the operation %s: %s", need.name, kernelFloor())
		}
	}
	return nil
}

// probeMultishot tries what no flag tells: a receive operation that picks a
// provided buffer and stays armed, and an accept that stays armed.
func (q *queue) probeMultishot() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot make a pair of sockets to try io_uring with: %w", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot make a socket to try io_uring with: %w", err)
	}
	defer unix.Close(listener)
	// Without a name the system picks one in its abstract name space.
	if err := unix.Bind(listener, &unix.SockaddrUnix{}); err != nil {
		return fmt.Errorf("cannot bind a socket to try io_uring with: %w", err)
	}
	if err := unix.Listen(listener, 1); err != nil {
		return fmt.Errorf("cannot listen on a socket to try io_uring with: %w", err)
	}

	// One buffer of 16 bytes, after the ring's single entry, in mapped memory.
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("cannot map a page to try io_uring with: %w", err)
	}
	defer unix.Munmap(page)
	entry := (*bufRingEntry)(unsafe.Pointer(&page[0]))
	address := uint64(uintptr(unsafe.Pointer(&page[0])))
	reg := bufRingReg{ringAddr: address, ringEntries: 1, group: bufferGroup}
	if errno := q.register(registerPbufRing, unsafe.Pointer(&reg), 1); errno != 0 {
		return fmt.Errorf("io_uring cannot register a ring of buffers: %w; %s", errno, kernelFloor())
	}
	*entry = bufRingEntry{addr: address + 64, len: 16, tail: 1}

	if _, err := unix.Write(pair[1], []byte("x")); err != nil {
		return fmt.Errorf("cannot write to a socket to try io_uring with: %w", err)
	}
	slot := q.next()
	slot.opcode, slot.fd, slot.flags, slot.ioprio = opRecv, int32(pair[0]), sqeBufferSelect, recvMultishot
	if c, ok := q.first(); !ok || c.res != 1 || c.flags&cqeMore == 0 {
		return fmt.Errorf("io_uring lacks the multishot receive (result %d): %s", c.res, kernelFloor())
	}
	slot = q.next()
	slot.opcode, slot.fd, slot.ioprio = opAccept, int32(listener), acceptMultishot
	if c, ok := q.first(); ok {
		return fmt.Errorf("io_uring lacks the multishot accept (result %d): %s", c.res, kernelFloor())
	}
	return nil
}

// first submits and returns the first completion that is there, if any.
func (q *queue) first() (cqe, bool) {
	if errno := q.reap(); errno != 0 {
		return cqe{res: -int32(errno)}, true
	}
	if q.available() == 0 {
		return cqe{}, false
	}
	c := q.cqes[*q.cqHead&q.cqMask]
	q.consume(*q.cqHead + 1)
	return c, true
}

func missingFeatures(have uint32) string {
	var missing []string
	for _, need := range neededFeatures {
		if have&need.bit == 0 {
			missing = append(missing, need.name)
		}
	}
	return strings.Join(missing, ", ")
}

// setupError is a refusal of io_uring_setup; its text names cause and remedy.
type setupError struct {
	errno unix.Errno
}

func (e *setupError) Unwrap() error { return e.errno }

func (e *setupError) Error() string {
	const otherwise = ", or set io-engine epoll"
	text := "io_uring_setup: " + e.errno.Error() + ": "
	switch e.errno {
	case unix.EPERM, unix.EACCES:
		if v := sysctlUringDisabled(); v == "1" || v == "2" {
			return text + "the sysctl kernel.io_uring_disabled is " + v + "; remedy: sysctl -w kernel.io_uring_disabled=0" + otherwise
		}
		if seccompFilters() {
			return text + "a seccomp filter of this process forbids it; remedy: allow io_uring_setup, io_uring_enter and io_uring_register in the seccomp profile of the container or service" + otherwise
		}
		return text + "a security policy (seccomp, SELinux or AppArmor) forbids it; remedy: allow io_uring to this process" + otherwise
	case unix.ENOMEM:
		return text + "the rings do not fit the limit on locked memory; remedy: raise it (ulimit -l, or LimitMEMLOCK in a systemd unit)" + otherwise
	case unix.EMFILE, unix.ENFILE:
		return text + "no descriptor is left; remedy: raise the limit (ulimit -n, or LimitNOFILE in a systemd unit)"
	case unix.ENOSYS:
		if seccompFilters() {
			return text + "the kernel has no io_uring, or a seccomp filter hides it; remedy: allow io_uring_setup, io_uring_enter and io_uring_register in the seccomp profile" + otherwise
		}
		return text + "the kernel was built without io_uring; " + kernelFloor()
	case unix.EINVAL:
		return text + "the kernel does not know SETUP_SINGLE_ISSUER or SETUP_DEFER_TASKRUN; " + kernelFloor()
	}
	return text + "remedy: set io-engine epoll"
}

// kernelFloor is the remedy when the kernel is too old.
func kernelFloor() string {
	return "this is Linux " + kernelRelease() + ", io_uring needs 6.1 or later here; remedy: a newer kernel, or set io-engine epoll"
}

func kernelRelease() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "of unknown version"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// uringDisabledPath is where the system shows kernel.io_uring_disabled.
var uringDisabledPath = "/proc/sys/kernel/io_uring_disabled"

func sysctlUringDisabled() string {
	text, err := os.ReadFile(uringDisabledPath)
	if errors.Is(err, os.ErrNotExist) {
		return "" // before Linux 6.6
	}
	return strings.TrimSpace(string(text))
}

// seccompFilters says that the process runs under seccomp filters.
func seccompFilters() bool {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	_, after, found := bytes.Cut(status, []byte("\nSeccomp:"))
	return found && bytes.HasPrefix(bytes.TrimLeft(after, " \t"), []byte("2"))
}

package sys

import (
	"testing"
	"unsafe"

	"mithril/src/ring"
)

// The kernel reads and writes these by their layout.
func TestKernelStructures(t *testing.T) {
	var s sqe
	var p setupParams
	var e bufRingEntry
	var m msghdr
	for _, c := range []struct {
		what      string
		got, want uintptr
	}{
		{"size of io_uring_sqe", unsafe.Sizeof(s), 64},
		{"sqe.fd", unsafe.Offsetof(s.fd), 4},
		{"sqe.off", unsafe.Offsetof(s.off), 8},
		{"sqe.addr", unsafe.Offsetof(s.addr), 16},
		{"sqe.len", unsafe.Offsetof(s.len), 24},
		{"sqe.msg_flags", unsafe.Offsetof(s.opFlags), 28},
		{"sqe.user_data", unsafe.Offsetof(s.userData), 32},
		{"sqe.buf_group", unsafe.Offsetof(s.bufGroup), 40},
		{"sqe.file_index", unsafe.Offsetof(s.fileIndex), 44},
		{"size of io_uring_cqe", unsafe.Sizeof(cqe{}), 16},
		{"size of io_uring_params", unsafe.Sizeof(p), 120},
		{"params.features", unsafe.Offsetof(p.features), 20},
		{"params.sq_off", unsafe.Offsetof(p.sq), 40},
		{"params.cq_off", unsafe.Offsetof(p.cq), 80},
		{"size of io_uring_getevents_arg", unsafe.Sizeof(eventsArg{}), 24},
		{"size of io_uring_buf", unsafe.Sizeof(e), 16},
		{"io_uring_buf.bid", unsafe.Offsetof(e.bid), 12},
		{"io_uring_buf_ring.tail", unsafe.Offsetof(e.tail), 14},
		{"size of io_uring_buf_reg", unsafe.Sizeof(bufRingReg{}), 40},
		{"size of io_uring_probe", unsafe.Sizeof(probeSet{}), 16 + 256*8},
		{"size of msghdr", unsafe.Sizeof(m), 56},
		{"msghdr.msg_iov", unsafe.Offsetof(m.iov), 16},
		{"size of iovec", unsafe.Sizeof(iovec{}), 16},
		{"size of sockaddr_in6", unsafe.Sizeof(sockaddr{}), 28},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d, want %d", c.what, c.got, c.want)
		}
	}
}

// Before Linux 6.6 the submission queue has an array of indices.
func TestRingWithIndexArray(t *testing.T) {
	defer func(best uint32) { setupFlags[0] = best }(setupFlags[0])
	setupFlags[0] = setupFlags[1]
	r := newRig(t, EngineUring, rigOptions{Options: Options{submissions: 4, completions: 64}})
	if r.Engine.(*Uring).q.noArray {
		t.Fatal("the ring has no index array: the test shows nothing")
	}
	v := newVolley(r, 10, 100)
	for v.moved < 1000 {
		v.turn()
	}
	v.finish()
}

// A ring belongs to the thread that made it.
func TestTurnOnAnotherThreadIsRefused(t *testing.T) {
	r := newRig(t, EngineUring, rigOptions{})
	refused := make(chan bool)
	go func() {
		refused <- panics(func() { r.Turn(nil, ring.Wait{}, r.events) })
	}()
	if !<-refused {
		t.Error("a turn on another thread is accepted")
	}
}

func TestTooManyReceiveChunks(t *testing.T) {
	region, err := Map(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Unmap()
	before := openDescriptors(t)
	for _, chunks := range []int{0, bufferRingMax + 1} {
		arena := arenaOf(t, region, chunks)
		if _, err := NewUring(arena, region, Options{}); err == nil {
			t.Errorf("%d receive chunks are accepted", chunks)
		}
	}
	if _, err := NewEpoll(arenaOf(t, region, 0), Options{}); err == nil {
		t.Error("no receive chunks are accepted")
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

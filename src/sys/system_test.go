package sys

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

func TestMapDiscardAndPrefault(t *testing.T) {
	r, err := Map(RegionBytesAsk)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Unmap()
	if got := uint64(len(r.Bytes())); got < RegionBytesMin || got > RegionBytesAsk {
		t.Errorf("%d bytes mapped", got)
	}
	const page, n = 4096, 16 * 4096
	resident := func() (pages int) {
		present := make([]byte, n/page)
		if _, _, errno := unix.Syscall(unix.SYS_MINCORE, addressOfByte(r, 0), n, addressOf0(present)); errno != 0 {
			t.Fatal(errno)
		}
		for _, p := range present {
			pages += int(p & 1)
		}
		return pages
	}
	if got := resident(); got != 0 {
		t.Errorf("%d pages are resident before their first use", got)
	}
	r.Bytes()[5] = 9
	if err := r.Prefault(0, n); err != nil {
		t.Fatal(err)
	}
	if got := resident(); got != n/page {
		t.Errorf("%d of %d pages are resident after Prefault", got, n/page)
	}
	if r.Bytes()[5] != 9 {
		t.Error("Prefault changed the contents")
	}
	for i := range r.Bytes()[:n] {
		r.Bytes()[i] = 1
	}
	r.Discard(page/2, 4*page) // whole pages: 1, 2 and 3
	for i, b := range r.Bytes()[:n] {
		want := byte(1)
		if i >= page && i < 4*page {
			want = 0
		}
		if b != want {
			t.Fatalf("byte %d is %d after Discard, want %d", i, b, want)
		}
	}
}

// A limit on address space makes Map settle for less, and below the least it says
// what to do.
func TestMapUnderALimit(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	used := addressSpace(t)
	set := func(room uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: used + room, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
	}
	defer unix.Setrlimit(unix.RLIMIT_AS, &limit)
	set(5 << 30)
	r, err := Map(16 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(r.Bytes()); got != 4<<30 {
		t.Errorf("%d bytes mapped with room for 5 GiB, want 4 GiB", got)
	}
	r.Unmap()
	set(RegionBytesMin / 2)
	_, err = Map(16 << 30)
	unix.Setrlimit(unix.RLIMIT_AS, &limit)
	if !errors.Is(err, unix.ENOMEM) {
		t.Fatalf("error %v, want out of memory", err)
	}
	want := "sys: cannot reserve 256 MiB of address space for buffers: cannot allocate memory; raise the limit on address space (ulimit -v) or relax vm.overcommit_memory"
	if err.Error() != want {
		t.Errorf("error %q", err)
	}
}

func TestPin(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	all, err := AllowedCPUs()
	if err != nil || len(all) == 0 || !slices.IsSorted(all) {
		t.Fatalf("allowed CPUs %v (%v)", all, err)
	}
	for _, cpu := range all {
		if err := Pin(cpu); err != nil {
			t.Fatal(err)
		}
		if got, _ := AllowedCPUs(); !slices.Equal(got, []int{cpu}) {
			t.Errorf("pinned to %d, may run on %v", cpu, got)
		}
	}
	if err := Pin(all...); err != nil {
		t.Fatal(err)
	}
	err = Pin(1023)
	if err == nil || !errors.Is(err, unix.EINVAL) {
		t.Errorf("pinned to a CPU that is not there: %v", err)
	}
}

// PinAll reaches threads other than the caller's.
func TestPinAll(t *testing.T) {
	all, err := AllowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	start, done := make(chan bool), make(chan []int)
	go func() {
		runtime.LockOSThread()
		done <- nil
		<-start
		cpus, _ := AllowedCPUs()
		done <- cpus
	}()
	<-done // its thread exists now
	if err := PinAll(last); err != nil {
		t.Fatal(err)
	}
	start <- true
	if got := <-done; !slices.Equal(got, []int{last}) {
		t.Errorf("another thread may run on %v, want %d", got, last)
	}
	if err := PinAll(all...); err != nil {
		t.Fatal(err)
	}
}

func TestProcessFacts(t *testing.T) {
	if got := System(); !strings.HasPrefix(got, "Linux "+kernelRelease()+" ") {
		t.Errorf("the system is %q", got)
	}
	system, user := ProcessorTime()
	for n := 0; n < 1<<22; n++ {
		_ = Now()
	}
	if s, u := ProcessorTime(); s+u <= system+user {
		t.Errorf("%v s of processor time, %v s before some work", s+u, system+user)
	}
}

func TestRaiseDescriptors(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	low := unix.Rlimit{Cur: 512, Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	if got, err := RaiseDescriptors(1024); got != 1024 || err != nil {
		t.Errorf("raised to %d (%v), want 1024", got, err)
	}
	if got, err := RaiseDescriptors(100); got != 1024 || err != nil {
		t.Errorf("%d (%v) in force, 1024 is enough for 100", got, err)
	}
	// Above what the system allows any process.
	got, err := RaiseDescriptors(1 << 40)
	var after unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &after); err != nil {
		t.Fatal(err)
	}
	if err != nil || got != after.Cur || got < 1024 || got >= 1<<40 {
		t.Errorf("raised to %d (%v), %d in force", got, err, after.Cur)
	}
}

func TestNowNeverGoesBack(t *testing.T) {
	last := Now()
	for range 1000 {
		now := Now()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
}

func TestErrorsInAWorkersTerms(t *testing.T) {
	for errno, want := range map[unix.Errno]ring.Err{
		0:                  ring.ErrNone,
		unix.ECANCELED:     ring.ErrCanceled,
		unix.ECONNRESET:    ring.ErrReset,
		unix.EPIPE:         ring.ErrReset,
		unix.ECONNREFUSED:  ring.ErrRefused,
		unix.EHOSTUNREACH:  ring.ErrUnreachable,
		unix.ENETUNREACH:   ring.ErrUnreachable,
		unix.ENETDOWN:      ring.ErrUnreachable,
		unix.ETIMEDOUT:     ring.ErrTimedOut,
		unix.EMFILE:        ring.ErrDescriptors,
		unix.ENFILE:        ring.ErrDescriptors,
		unix.ENOSPC:        ring.ErrResources,
		unix.ENOMEM:        ring.ErrResources,
		unix.EADDRNOTAVAIL: ring.ErrOther,
		unix.EFAULT:        ring.ErrOther,
	} {
		if got := errOf(errno); got != want {
			t.Errorf("errno %d (%s) means %q, want %q", errno, errno, got, want)
		}
	}
}

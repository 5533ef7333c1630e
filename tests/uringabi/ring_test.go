//go:build giouring

package uringabi

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	witness "github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
	"mithril/src/sys"
)

const (
	arenaBytes    = 1 << 30 // of address space
	receiveChunks = 16
	patience      = 5 * time.Second
)

// TestWitnessSpeaksForItself makes sure that a failure of the next test is not the
// witness's fault.
func TestWitnessSpeaksForItself(t *testing.T) {
	w := newWitness(t)
	w.do(t, func(e *witness.SubmissionQueueEntry) { e.PrepareNop() }, 0)
	a, b := socketpair(t)
	text := []byte("from giouring to giouring")
	w.send(t, a, text)
	if got := w.receive(t, b, len(text)); !bytes.Equal(got, text) {
		t.Errorf("received %q, want %q", got, text)
	}
}

// TestRingsSpeakToEachOther sends both ways between a ring of giouring's and our engine:
// one slice (SEND), several (SENDMSG with iovecs), and a receive into provided buffers.
func TestRingsSpeakToEachOther(t *testing.T) {
	w, o := newWitness(t), newOurs(t)
	a, b := socketpair(t)
	for _, message := range [][]string{{"one slice"}, {"three ", "slices, ", "gathered"}, {"once more"}} {
		var text []byte
		for _, part := range message {
			text = append(text, part...)
		}
		o.send(t, a, message)
		if got := w.receive(t, b, len(text)); !bytes.Equal(got, text) {
			t.Errorf("giouring received %q of ours, want %q", got, text)
		}
	}
	o.ops = append(o.ops, ring.Op{Kind: ring.OpRecv, Socket: ring.Socket(a), Token: session})
	for _, text := range []string{"first", "second", "third"} {
		w.send(t, b, []byte(text))
		e := o.await(t, ring.Received)
		if got := string(o.arena.Bytes(e.Data)); got != text {
			t.Errorf("our engine received %q of giouring's, want %q", got, text)
		}
		o.arena.Release(e.Data.Block)
	}
	o.ops = append(o.ops, ring.Op{Kind: ring.OpShutdown, Socket: ring.Socket(a)})
	o.await(t, ring.RecvEnded)
	if got := w.receive(t, b, 1); len(got) != 0 {
		t.Errorf("giouring received %q after the end", got)
	}
}

// TestRingsWakeEachOther sends a message from our engine to a ring of giouring's, and the
// same message back.
func TestRingsWakeEachOther(t *testing.T) {
	w, o := newWitness(t), newOurs(t)
	o.Turn([]ring.Op{{Kind: ring.OpBell, Socket: ring.Socket(w.fd)}}, ring.Wait{}, o.events[:])
	rung, err := w.PeekCQE()
	if err != nil {
		t.Fatal(err)
	}
	if rung.Res != 0 || rung.Flags != 0 {
		t.Errorf("giouring was rung with %+v", *rung)
	}
	message := rung.UserData
	w.CQESeen(rung)
	w.do(t, func(e *witness.SubmissionQueueEntry) { e.PrepareMsgRing(int(o.Bell()), 0, message, 0) }, 0)
	if n := o.Turn(nil, ring.Wait{Deadline: o.Now() + int64(patience)}, o.events[:]); n != 1 || o.events[0].Kind != ring.Woken {
		t.Errorf("our engine, rung by giouring, has %d events, the first %+v", n, o.events[0])
	}
}

// socketpair is a connection whose ends are closed after the rings.
func socketpair(t *testing.T) (a, b int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		unix.Close(pair[0])
		unix.Close(pair[1])
	})
	return pair[0], pair[1]
}

// witnessRing is a ring that giouring has set up.
type witnessRing struct {
	*witness.Ring
	fd   int    // which giouring keeps to itself
	next uint64 // user data of the next submission
}

func newWitness(t *testing.T) *witnessRing {
	t.Helper()
	before := ringDescriptors(t)
	r, err := witness.CreateRing(8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.QueueExit)
	made := slices.DeleteFunc(ringDescriptors(t), func(fd int) bool { return slices.Contains(before, fd) })
	if len(made) != 1 {
		t.Fatalf("giouring has opened the rings %v, want one", made)
	}
	return &witnessRing{Ring: r, fd: made[0], next: 1 << 60}
}

// ringDescriptors are the descriptors of all rings of this process.
func ringDescriptors(t *testing.T) (all []int) {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if what, err := os.Readlink(dir + "/" + e.Name()); err == nil && what == "anon_inode:[io_uring]" {
			fd, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fd)
		}
	}
	return all
}

// do carries out one operation, which must have a result of at least least, and returns
// the result.
func (w *witnessRing) do(t *testing.T, prepare func(*witness.SubmissionQueueEntry), least int) int {
	t.Helper()
	w.next++
	e := w.GetSQE()
	prepare(e)
	e.SetData64(w.next)
	if _, err := w.SubmitAndWait(1); err != nil {
		t.Fatal(err)
	}
	c, err := w.PeekCQE()
	if err != nil {
		t.Fatal(err)
	}
	defer w.CQESeen(c)
	if c.UserData != w.next || int(c.Res) < least {
		t.Fatalf("giouring completed %#x with %d, want %#x with %d or more", c.UserData, c.Res, w.next, least)
	}
	return int(c.Res)
}

func (w *witnessRing) send(t *testing.T, fd int, p []byte) {
	t.Helper()
	w.do(t, func(e *witness.SubmissionQueueEntry) { e.PrepareSend(fd, address(p), uint32(len(p)), 0) }, len(p))
	runtime.KeepAlive(p)
}

func (w *witnessRing) receive(t *testing.T, fd, most int) []byte {
	t.Helper()
	p := make([]byte, most)
	n := w.do(t, func(e *witness.SubmissionQueueEntry) { e.PrepareRecv(fd, address(p), uint32(most), 0) }, 0)
	return p[:n]
}

// address is where the kernel reads or writes p. Whoever passes it on keeps p alive.
func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

// ourRing is our engine with its memory.
type ourRing struct {
	*sys.Uring
	arena  *buf.Arena
	ops    []ring.Op
	events [16]ring.Event
}

var session = ring.MakeToken(ring.KindSession, 3, 5)

func newOurs(t *testing.T) *ourRing {
	t.Helper()
	region, err := sys.Map(arenaBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(region.Unmap)
	arena, err := buf.NewArena(region, receiveChunks)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // an engine belongs to a thread
	t.Cleanup(runtime.UnlockOSThread)
	engine, err := sys.NewUring(arena, region, sys.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return &ourRing{Uring: engine, arena: arena}
}

// await turns until an event comes, which must be of this kind and without an error.
func (o *ourRing) await(t *testing.T, kind ring.EventKind) ring.Event {
	t.Helper()
	for limit := o.Now() + int64(patience); o.Now() < limit; {
		n := o.Turn(o.ops, ring.Wait{Deadline: limit}, o.events[:])
		o.ops = o.ops[:0]
		if n == 0 {
			continue
		}
		if e := o.events[0]; n != 1 || e.Kind != kind || e.Token != session {
			t.Fatalf("%d events, the first %+v, want one of kind %d", n, e, kind)
		}
		return o.events[0]
	}
	t.Fatalf("no event within %v", patience)
	return ring.Event{}
}

func (o *ourRing) send(t *testing.T, fd int, parts []string) {
	t.Helper()
	var out []buf.Slice
	bytes := 0
	for _, part := range parts {
		s, ok := o.arena.Copy([]byte(part))
		if !ok {
			t.Fatal("the arena is used up")
		}
		defer o.arena.Release(s.Block)
		out = append(out, s)
		bytes += len(part)
	}
	o.ops = append(o.ops, ring.Op{Kind: ring.OpSend, Socket: ring.Socket(fd), Token: session, Out: out})
	if e := o.await(t, ring.Sent); e.Err != ring.ErrNone || int(e.N) != bytes {
		t.Fatalf("sent %d of %d bytes: %s", e.N, bytes, e.Err)
	}
}

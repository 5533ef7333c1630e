package buf

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestViewInPlace(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var in Inbox
	if in.Bytes() != 0 || !in.View().IsEmpty() {
		t.Error("a fresh inbox is not empty")
	}
	s := receive(t, a, []byte("PING\r\nGET"))
	in.Put(s)
	if in.View() != s {
		t.Errorf("view %+v, received %+v", in.View(), s)
	}
	in.Consume(a, 6)
	if got := a.Bytes(in.View()); string(got) != "GET" || in.Bytes() != 3 {
		t.Errorf("view %q, %d bytes", got, in.Bytes())
	}
	if grown, ok := in.Grow(a, 1); grown || !ok {
		t.Errorf("grown %v, ok %v with nothing more received", grown, ok)
	}
	in.Consume(a, 3)
	if in.Bytes() != 0 || !in.View().IsEmpty() {
		t.Errorf("%d bytes left", in.Bytes())
	}
	allFree(t, a)
	mustPanic(t, "consuming more than is on view", func() { in.Consume(a, 1) })
}

// A frame over three slices is assembled; what follows it is looked at in place.
func TestFrameOverSlices(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var in Inbox
	stream := pattern(9000, 1)
	in.Put(receive(t, a, stream[:1000]))
	in.Put(receive(t, a, stream[1000:3000]))
	third := receive(t, a, stream[3000:9000])
	in.Put(third)
	if in.Bytes() != 9000 {
		t.Errorf("%d bytes held", in.Bytes())
	}
	const frame = 3500
	for int(in.View().Len) < frame {
		grown, ok := in.Grow(a, frame-int(in.View().Len))
		if !grown || !ok {
			t.Fatalf("grown %v, ok %v at %d bytes", grown, ok, in.View().Len)
		}
		if in.Bytes() != 9000 {
			t.Fatalf("%d bytes held after growing", in.Bytes())
		}
	}
	if !bytes.Equal(a.Bytes(in.View())[:frame], stream[:frame]) {
		t.Error("the frame is not what was received")
	}
	in.Consume(a, frame)
	view := in.View()
	if view.Block != third.Block || view.Off != third.Off+frame-3000 || view.Len != 9000-frame {
		t.Errorf("what follows is at %+v, received at %+v", view, third)
	}
	if !bytes.Equal(a.Bytes(view), stream[frame:]) || in.Bytes() != 9000-frame {
		t.Errorf("%d bytes follow, other than were received", in.Bytes())
	}
	in.Consume(a, 9000-frame)
	allFree(t, a)
}

// Bytes copied ahead are handed back only to the slice they were copied from: not
// to the next one, once that slice is used up, and not to its copy.
func TestCopiedAheadBytesAreHandedBackOnce(t *testing.T) {
	for _, settle := range []bool{false, true} {
		a := newArena(t, 1<<20, 4)
		var in Inbox
		stream := pattern(2000, 1)
		cuts := []int{2, 1202, 2000}
		if settle {
			cuts[1] = 1900 // so that something is left to be copied by Settle
		}
		from := 0
		for _, to := range cuts {
			in.Put(receive(t, a, stream[from:to]))
			from = to
		}
		in.Grow(a, 2) // copies 1 KiB of the second slice
		if settle && !in.Settle(a) {
			t.Fatal("the arena is used up")
		}
		if !settle {
			in.Grow(a, 1100-int(in.View().Len)) // and all that is left of it
		}
		frame := min(1100, int(in.View().Len)-500)
		in.Consume(a, frame)
		var rest []byte
		for in.Bytes() > 0 {
			rest = append(rest, a.Bytes(in.View())...)
			in.Consume(a, int(in.View().Len))
		}
		if !bytes.Equal(rest, stream[frame:]) {
			t.Errorf("settled %v: the bytes behind the frame are not those received", settle)
		}
		allFree(t, a)
	}
}

// Memory follows what has arrived, not what is announced.
func TestGrowTakesMemoryForWhatArrived(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var in Inbox
	in.Put(receive(t, a, pattern(100, 1)))
	in.Put(receive(t, a, pattern(100, 2)))
	if grown, ok := in.Grow(a, 512<<20); !grown || !ok {
		t.Fatalf("grown %v, ok %v", grown, ok)
	}
	if in.View().Len != 200 || a.UsedBytes() > 1<<10 {
		t.Errorf("%d bytes on view in %d bytes of blocks", in.View().Len, a.UsedBytes())
	}
	in.Drop(a)
	allFree(t, a)
}

func TestSettleGivesTheChunksBack(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var in Inbox
	in.Put(receive(t, a, []byte("*2\r\n$3\r\n")))
	in.Put(receive(t, a, []byte("GET\r\n")))
	in.Put(receive(t, a, []byte("$1\r\nk\r\n")))
	for range 2 { // settled twice is settled
		if !in.Settle(a) {
			t.Fatal("the arena is used up")
		}
		for range 3 {
			in.Grow(a, 0)
		}
	}
	for i := range 4 {
		if _, ok := a.TakeReturned(); !ok {
			t.Fatalf("only %d of 4 chunks are back", i)
		}
	}
	in.Grow(a, 100)
	if got := string(a.Bytes(in.View())); got != "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" {
		t.Errorf("view %q", got)
	}
	in.Drop(a)
	allFree(t, a)
}

// A session that waits while its client sends byte by byte takes memory by the bytes.
func TestSettledPiecesTakeNoBlockEach(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var in Inbox
	const pieces = 3000
	for i := range pieces {
		in.Put(receive(t, a, []byte{byte(i)}))
		if !in.Settle(a) {
			t.Fatal("the arena is used up")
		}
	}
	if used := a.UsedBytes(); used > 2*pieces || in.Bytes() != pieces {
		t.Errorf("%d bytes received one by one take %d bytes, %d are held", pieces, used, in.Bytes())
	}
	for i := range pieces {
		if got := a.Bytes(in.View())[0]; got != byte(i) {
			t.Fatalf("byte %d is %d", i, got)
		}
		in.Consume(a, 1)
	}
	allFree(t, a)
}

func TestInboxFailsWhenTheRegionIsUsedUp(t *testing.T) {
	a := newArena(t, 3*ReceiveChunkBytes, 3)
	var in Inbox
	in.Put(receive(t, a, []byte("ab")))
	in.Put(receive(t, a, []byte("cd")))
	if _, ok := in.Grow(a, 1); ok {
		t.Error("grown in a region that is used up")
	}
	if in.Settle(a) {
		t.Error("settled in a region that is used up")
	}
	if got := string(a.Bytes(in.View())); got != "ab" || in.Bytes() != 4 {
		t.Errorf("view %q, %d bytes after the failures", got, in.Bytes())
	}
	in.Consume(a, 2)
	if got := string(a.Bytes(in.View())); got != "cd" {
		t.Errorf("view %q", got)
	}
	in.Drop(a)
	allFree(t, a)
}

func TestDropReleasesEverything(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var in Inbox
	for range 3 {
		in.Put(receive(t, a, pattern(3000, 1)))
	}
	in.Grow(a, 10)
	in.Drop(a)
	if in.Bytes() != 0 || !in.View().IsEmpty() {
		t.Errorf("%d bytes after Drop", in.Bytes())
	}
	allFree(t, a)
	in.Put(receive(t, a, []byte("x")))
	if got := string(a.Bytes(in.View())); got != "x" {
		t.Errorf("view %q after Drop", got)
	}
	in.Drop(a)
	allFree(t, a)
}

// Frames of random lengths, cut into received slices at random, come out whole and
// in order, whatever Settle does in between; frames that are kept do not change.
func TestInboxAgainstAModel(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(5, seed))
		a := newArena(t, 16<<20, 8)
		var frames [][]byte
		var stream []byte
		for i := range 120 {
			body := pattern(random.IntN(1<<(1+random.IntN(16))), uint32(seed)<<8|uint32(i))
			frames = append(frames, body)
			stream = append(binary.LittleEndian.AppendUint32(stream, uint32(len(body))), body...)
		}
		r := frameReader{a: a}
		for len(stream) > 0 || r.in.Bytes() > 0 {
			for len(stream) > 0 && random.IntN(3) > 0 {
				chunk, ok := a.TakeReturned()
				if !ok {
					break
				}
				n := min(len(stream), 1+random.IntN(1<<(1+random.IntN(14))), ReceiveChunkBytes)
				copy(a.Bytes(a.Whole(chunk)), stream[:n])
				stream = stream[n:]
				r.in.Put(a.Received(chunk, n))
			}
			for random.IntN(4) > 0 && r.next(t) {
			}
			if random.IntN(3) == 0 && !r.in.Settle(a) {
				t.Fatalf("seed %d: the arena is used up", seed)
			}
			for len(r.kept) > random.IntN(21) {
				r.giveUp()
			}
		}
		if len(r.all) != len(frames) {
			t.Fatalf("seed %d: %d frames came out of %d", seed, len(r.all), len(frames))
		}
		for i := range frames {
			if !bytes.Equal(r.all[i], frames[i]) {
				t.Fatalf("seed %d: frame %d differs", seed, i)
			}
		}
		for len(r.kept) > 0 {
			r.giveUp()
		}
		if r.changed > 0 {
			t.Errorf("seed %d: %d frames changed while they were referenced", seed, r.changed)
		}
		allFree(t, a)
	}
}

// frameReader takes frames, four bytes of length and a body, out of an inbox and
// keeps a reference of each for a while.
type frameReader struct {
	a       *Arena
	in      Inbox
	all     [][]byte
	kept    []Slice
	copies  [][]byte
	changed int
}

// next reports whether a whole frame was there.
func (r *frameReader) next(t *testing.T) bool {
	for {
		view := r.a.Bytes(r.in.View())
		need := 4
		if len(view) >= 4 {
			need += int(binary.LittleEndian.Uint32(view))
		}
		if len(view) < need || len(view) == 0 {
			grown, ok := r.in.Grow(r.a, need-len(view))
			if !ok {
				t.Fatal("the arena is used up")
			}
			if !grown {
				return false
			}
			continue
		}
		s := r.in.View().Sub(0, uint32(need))
		r.a.Retain(s.Block)
		r.kept = append(r.kept, s)
		p := append([]byte(nil), view[:need]...)
		r.copies = append(r.copies, p)
		r.all = append(r.all, p[4:])
		r.in.Consume(r.a, need)
		return true
	}
}

// giveUp drops the oldest reference and checks the bytes it has held.
func (r *frameReader) giveUp() {
	if !bytes.Equal(r.a.Bytes(r.kept[0]), r.copies[0]) {
		r.changed++
	}
	r.a.Release(r.kept[0].Block)
	r.kept, r.copies = r.kept[1:], r.copies[1:]
}

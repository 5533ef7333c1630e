package buf

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// content is what a gather would send.
func content(a *Arena, g *Gather) []byte {
	var p []byte
	for _, s := range g.Slices() {
		p = append(p, a.Bytes(s)...)
	}
	return p
}

func TestCopiesShareABlock(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	var g Gather
	for _, p := range []string{"+OK\r\n", ":1\r\n", "$-1\r\n"} {
		s, ok := g.Append(a, []byte(p))
		if !ok || string(a.Bytes(s)) != p {
			t.Fatalf("appended %q, got %q", p, a.Bytes(s))
		}
	}
	if len(g.Slices()) != 1 || a.Live() != 1 || g.Bytes() != 14 {
		t.Errorf("%d slices, %d blocks, %d bytes", len(g.Slices()), a.Live(), g.Bytes())
	}
	if got := content(a, &g); string(got) != "+OK\r\n:1\r\n$-1\r\n" {
		t.Errorf("content %q", got)
	}
	g.Drop(a)
	if g.Bytes() != 0 || len(g.Slices()) != 0 {
		t.Errorf("%d bytes after Drop", g.Bytes())
	}
	allFree(t, a)
}

func TestReservedBytesAreFilledInLater(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	var g Gather
	s, _ := g.Reserve(a, 3)
	g.Append(a, []byte("def"))
	copy(a.Bytes(s), "abc")
	if got := content(a, &g); string(got) != "abcdef" {
		t.Errorf("content %q", got)
	}
	g.Drop(a)
	mustPanic(t, "an empty piece", func() { g.Reserve(a, 0) })
}

func TestReferencesKeepTheirPlace(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	large, _ := a.Copy(pattern(5000, 1))
	var g Gather
	g.Append(a, []byte("head"))
	a.Retain(large.Block)
	g.AppendRef(a, large.Sub(0, 2000))
	a.Retain(large.Block)
	g.AppendRef(a, large.Sub(2000, 3000)) // goes on where the last slice ends: joined
	g.Append(a, []byte("tail"))
	if n := len(g.Slices()); n != 3 {
		t.Errorf("%d slices, want 3", n)
	}
	want := append(append([]byte("head"), pattern(5000, 1)...), "tail"...)
	if !bytes.Equal(content(a, &g), want) {
		t.Error("the content is not what was put in")
	}
	g.Drop(a)
	if a.Live() != 1 {
		t.Errorf("%d blocks live, want the large one", a.Live())
	}
	mustPanic(t, "an empty reference", func() { g.AppendRef(a, large.Sub(0, 0)) })
	a.Release(large.Block)
	allFree(t, a)
}

func TestPutCopiesTheShortAndTheScarce(t *testing.T) {
	a := newArena(t, 1<<20, 2)
	var g Gather
	short := receive(t, a, pattern(CopyBytesMax, 1))
	g.Put(a, short)
	if g.Slices()[0].Block == short.Block {
		t.Error("a short piece was put by reference")
	}
	long := receive(t, a, pattern(CopyBytesMax+1, 2)) // both chunks are out now
	g.Put(a, long)
	if s := g.Slices(); s[len(s)-1].Block == long.Block {
		t.Error("a scarce chunk was put by reference")
	}
	a.Release(short.Block)
	g.Put(a, long)
	if s := g.Slices(); s[len(s)-1].Block != long.Block {
		t.Error("a long piece was copied though chunks abound")
	}
	a.Release(long.Block)
	want := append(append(pattern(CopyBytesMax, 1), pattern(CopyBytesMax+1, 2)...), pattern(CopyBytesMax+1, 2)...)
	if !bytes.Equal(content(a, &g), want) {
		t.Error("the content is not what was put in")
	}
	g.Drop(a)
	allFree(t, a)
}

func TestGatherFailsWhenTheRegionIsUsedUp(t *testing.T) {
	a := newArena(t, 4<<10, 0)
	b := mustAlloc(t, a, 2<<10)
	var g Gather
	if _, ok := g.Append(a, pattern(2<<10, 1)); !ok {
		t.Fatal("there is room for 2 KiB")
	}
	before := g.Bytes()
	if _, ok := g.Append(a, []byte("x")); ok {
		t.Error("appended to a region that is used up")
	}
	if g.Put(a, a.Whole(b).Sub(0, 10)) {
		t.Error("put into a region that is used up")
	}
	if g.Bytes() != before || !bytes.Equal(content(a, &g), pattern(2<<10, 1)) {
		t.Error("what failed left traces")
	}
	g.Drop(a)
	a.Release(b)
	allFree(t, a)
}

// A short send may end behind the last copy and before a reference. The block of
// copies is free then: it must not be written to any more.
func TestCopiesAfterAShortSend(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	large, _ := a.Copy(pattern(5000, 1))
	var g Gather
	g.Append(a, []byte("head"))
	g.AppendRef(a, large)
	g.Sent(a, 4)
	other, _ := a.Copy(pattern(1500, 2)) // takes the block the head was in
	g.Append(a, []byte("tail"))
	if !bytes.Equal(a.Bytes(other), pattern(1500, 2)) {
		t.Error("somebody else's block was written to")
	}
	if !bytes.Equal(content(a, &g), append(pattern(5000, 1), "tail"...)) {
		t.Error("the content is not what was put in")
	}
	g.Drop(a)
	a.Release(other.Block)
	allFree(t, a)
}

func TestSentInPieces(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	large, _ := a.Copy(pattern(5000, 1))
	var g Gather
	g.Append(a, []byte("head"))
	g.AppendRef(a, large)
	g.Append(a, []byte("tail"))
	left := append(append([]byte("head"), pattern(5000, 1)...), "tail"...)
	for _, n := range []int{0, 1, 3, 1, 4999, 2, 2} {
		g.Sent(a, n)
		left = left[n:]
		if g.Bytes() != len(left) || !bytes.Equal(content(a, &g), left) {
			t.Fatalf("after %d more bytes sent: %d left, want %d", n, g.Bytes(), len(left))
		}
	}
	allFree(t, a)
	mustPanic(t, "more sent than gathered", func() { g.Sent(a, 1) })
}

// Random use of several gathers over one arena, against plain byte slices.
func TestGathersAgainstAModel(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(3, seed))
		a := newArena(t, 8<<20, 16)
		var gathers [3]Gather
		var models [3][]byte
		for step := range 3000 {
			k := random.IntN(len(gathers))
			g, model := &gathers[k], &models[k]
			n := 1 + random.IntN(1<<(1+random.IntN(13)))
			p := pattern(n, uint32(step))
			switch random.IntN(6) {
			case 0:
				if s, ok := g.Append(a, p); ok {
					*model = append(*model, a.Bytes(s)...)
				}
			case 1:
				if s, ok := g.Reserve(a, n); ok {
					copy(a.Bytes(s), p)
					*model = append(*model, p...)
				}
			case 2: // by reference, in two parts that may be joined
				if s, ok := a.Copy(p); ok {
					cut := uint32(random.IntN(n))
					if cut > 0 {
						a.Retain(s.Block)
						g.AppendRef(a, s.Sub(0, cut))
					}
					g.AppendRef(a, s.Sub(cut, s.Len-cut))
					*model = append(*model, p...)
				}
			case 3:
				p = p[:min(n, ReceiveChunkBytes)]
				if chunk, ok := a.TakeReturned(); ok {
					copy(a.Bytes(a.Whole(chunk)), p)
					s := a.Received(chunk, len(p))
					if g.Put(a, s) {
						*model = append(*model, p...)
					}
					a.Release(s.Block)
				}
			case 4:
				sent := random.IntN(len(*model) + 1)
				g.Sent(a, sent)
				*model = (*model)[sent:]
			case 5:
				if random.IntN(20) == 0 {
					g.Drop(a)
					*model = nil
				}
			}
			if g.Bytes() != len(*model) {
				t.Fatalf("seed %d, step %d: %d bytes, want %d", seed, step, g.Bytes(), len(*model))
			}
			if step%16 == 0 {
				for i := range gathers {
					if !bytes.Equal(content(a, &gathers[i]), models[i]) {
						t.Fatalf("seed %d, step %d: gather %d holds other bytes than were put in", seed, step, i)
					}
				}
			}
		}
		for i := range gathers {
			gathers[i].Drop(a)
		}
		allFree(t, a)
	}
}

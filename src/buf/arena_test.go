package buf

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// spyMemory notes what is discarded.
type spyMemory struct {
	HeapMemory
	discarded [][2]uint64
}

func (m *spyMemory) Discard(off, n uint64) { m.discarded = append(m.discarded, [2]uint64{off, n}) }

// newArena makes an arena of `bytes` bytes whose receive chunks are all with the
// ring, as they are while a worker runs.
func newArena(t testing.TB, bytes, chunks int) *Arena {
	t.Helper()
	a, err := NewArena(make(HeapMemory, bytes), chunks)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// receive is what a ring does for arriving bytes: it fills a chunk.
func receive(t testing.TB, a *Arena, p []byte) Slice {
	t.Helper()
	chunk, ok := a.TakeReturned()
	if !ok {
		t.Fatal("no receive chunk is left")
	}
	copy(a.Bytes(a.Whole(chunk)), p)
	return a.Received(chunk, len(p))
}

func mustAlloc(t testing.TB, a *Arena, n int) Block {
	t.Helper()
	b, ok := a.Alloc(n)
	if !ok {
		t.Fatalf("no block of %d bytes", n)
	}
	return b
}

func allFree(t testing.TB, a *Arena) {
	t.Helper()
	if a.Live() != 0 || a.UsedBytes() != 0 {
		t.Errorf("%d blocks, %d bytes are referenced at the end", a.Live(), a.UsedBytes())
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s is accepted", what)
		}
	}()
	f()
}

// pattern is n bytes that differ from those of another seed at any offset.
func pattern(n int, seed uint32) []byte {
	p := make([]byte, n)
	x := seed*2654435761 + 1
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

func TestChunksMustFitTheRegion(t *testing.T) {
	_, err := NewArena(make(HeapMemory, 3*ReceiveChunkBytes-1), 3)
	want := "buf: 3 receive chunks need 49152 bytes, the region has 49151"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := NewArena(make(HeapMemory, 3*ReceiveChunkBytes), 3); err != nil {
		t.Error(err)
	}
}

func TestBlockSizes(t *testing.T) {
	a := newArena(t, 4<<20, 0)
	for _, c := range []struct{ ask, size int }{
		{0, 1 << 10}, {1, 1 << 10}, {1024, 1 << 10}, {1025, 2 << 10}, {2048, 2 << 10}, {100_000, 128 << 10}, {1 << 20, 1 << 20},
	} {
		b := mustAlloc(t, a, c.ask)
		if got := a.Cap(b); got != c.size {
			t.Errorf("a block for %d bytes has %d, want %d", c.ask, got, c.size)
		}
		if s := a.Whole(b); int(s.Len) != c.size || s.Block != b || len(a.Bytes(s)) != c.size {
			t.Errorf("the whole block for %d bytes is %+v", c.ask, s)
		}
		if got := a.UsedBytes(); got != uint64(c.size) {
			t.Errorf("%d bytes are used with one block of %d", got, c.size)
		}
		a.Release(b)
	}
	allFree(t, a)
}

func TestAllocFailsWhenTheRegionIsUsedUp(t *testing.T) {
	a := newArena(t, 64<<10+ReceiveChunkBytes, 1)
	if _, ok := a.Alloc(BlockBytesMax + 1); ok {
		t.Error("a block above BlockBytesMax was handed out")
	}
	if _, ok := a.Alloc(128 << 10); ok {
		t.Error("a block larger than the region was handed out")
	}
	b := mustAlloc(t, a, 64<<10)
	if _, ok := a.Alloc(1); ok {
		t.Error("a block was handed out of a region that is used up")
	}
	if s, ok := a.Copy([]byte("x")); ok || s.Block != NoBlock || !s.IsEmpty() {
		t.Errorf("a copy was made in a region that is used up: %+v", s)
	}
	a.Release(b)
	again := mustAlloc(t, a, 64<<10)
	if again != b {
		t.Errorf("block %d, the freed one is %d", again, b)
	}
	a.Release(again)
	allFree(t, a)
}

func TestReferencesAreCounted(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	b := mustAlloc(t, a, 10)
	a.Retain(b)
	a.Release(b)
	if a.Live() != 1 {
		t.Errorf("%d blocks live with one reference left", a.Live())
	}
	other := mustAlloc(t, a, 10)
	if other == b {
		t.Error("a referenced block was handed out again")
	}
	a.Release(b)
	a.Release(other)
	allFree(t, a)
	mustPanic(t, "a release too many", func() { a.Release(b) })
	mustPanic(t, "a retain of a free block", func() { a.Retain(b) })
}

func TestLargeFreedBlocksAreDiscarded(t *testing.T) {
	m := &spyMemory{HeapMemory: make(HeapMemory, 4<<20)}
	a, err := NewArena(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	small, large := mustAlloc(t, a, discardBytesMin/2), mustAlloc(t, a, discardBytesMin)
	where := a.Whole(large)
	a.Release(small)
	if len(m.discarded) != 0 {
		t.Errorf("discarded %v with a block below the threshold", m.discarded)
	}
	a.Release(large)
	if len(m.discarded) != 1 || m.discarded[0] != [2]uint64{where.Off, discardBytesMin} {
		t.Errorf("discarded %v, want the large block at %d", m.discarded, where.Off)
	}
}

func TestReceiveChunksGoRound(t *testing.T) {
	const chunks = 4
	a := newArena(t, 1<<20, chunks)
	if a.ReceiveChunks() != chunks {
		t.Errorf("%d receive chunks", a.ReceiveChunks())
	}
	var taken []Block
	for {
		b, ok := a.TakeReturned()
		if !ok {
			break
		}
		if want := Block(len(taken)); b != want {
			t.Errorf("chunk %d first, want %d", b, want)
		}
		if a.Cap(b) != ReceiveChunkBytes || !a.IsReceiveChunk(b) {
			t.Errorf("chunk %d has %d bytes", b, a.Cap(b))
		}
		taken = append(taken, b)
	}
	if len(taken) != chunks || a.Live() != 0 {
		t.Fatalf("%d chunks taken, %d live", len(taken), a.Live())
	}
	first := a.Received(taken[0], 5)
	second := a.Received(taken[1], ReceiveChunkBytes)
	if first.Len != 5 || first.Block != taken[0] || a.Live() != 2 || a.UsedBytes() != 0 || a.Scarce() {
		t.Errorf("after two received chunks: %+v, %d live, %d bytes, scarce %v", first, a.Live(), a.UsedBytes(), a.Scarce())
	}
	third := a.Received(taken[2], 1)
	if !a.Scarce() {
		t.Error("three of four chunks are referenced and none is scarce")
	}
	a.Retain(third.Block)
	a.Release(third.Block)
	if _, ok := a.TakeReturned(); ok {
		t.Error("a referenced chunk went back to the ring")
	}
	a.Release(third.Block)
	if b, ok := a.TakeReturned(); !ok || b != third.Block || a.Scarce() {
		t.Errorf("chunk %d came back (%v), scarce %v", b, ok, a.Scarce())
	}
	mustPanic(t, "a chunk received twice", func() { a.Received(first.Block, 1) })
	mustPanic(t, "an empty receive", func() { a.Received(third.Block, 0) })
	mustPanic(t, "a receive beyond the chunk", func() { a.Received(third.Block, ReceiveChunkBytes+1) })
	block := mustAlloc(t, a, ReceiveChunkBytes)
	if a.IsReceiveChunk(block) {
		t.Error("an ordinary block passes for a receive chunk")
	}
	a.Release(block)
	mustPanic(t, "a receive into an ordinary block", func() { a.Received(block, 1) })
	a.Release(first.Block)
	a.Release(second.Block)
	allFree(t, a)
}

func TestSub(t *testing.T) {
	s := Slice{Off: 100, Len: 10, Block: 3}
	if got := s.Sub(2, 5); got != (Slice{Off: 102, Len: 5, Block: 3}) {
		t.Errorf("Sub(2, 5) is %+v", got)
	}
	if got := s.Sub(10, 0); !got.IsEmpty() {
		t.Errorf("Sub(10, 0) is %+v", got)
	}
	mustPanic(t, "a sub-slice beyond the end", func() { s.Sub(8, 3) })
	mustPanic(t, "a sub-slice whose end overflows", func() { s.Sub(8, ^uint32(0)) })
}

func TestBytesCannotGrowIntoTheNextBlock(t *testing.T) {
	a := newArena(t, 1<<20, 0)
	s, _ := a.Copy([]byte("abc"))
	if got := cap(a.Bytes(s)); got != 3 {
		t.Errorf("the capacity of 3 bytes is %d", got)
	}
	a.Release(s.Block)
}

// Blocks never overlap, whatever is allocated and freed in whatever order.
func TestBlocksNeverOverlap(t *testing.T) {
	type held struct {
		s    Slice
		want []byte
	}
	random := rand.New(rand.NewPCG(1, 2))
	a := newArena(t, 4<<20, 8)
	var all []held
	for i := range 20_000 {
		if len(all) > 0 && (random.IntN(2) == 0 || len(all) > 200) {
			k := random.IntN(len(all))
			if !bytes.Equal(a.Bytes(all[k].s), all[k].want) {
				t.Fatalf("step %d: block %d changed", i, all[k].s.Block)
			}
			a.Release(all[k].s.Block)
			all[k] = all[len(all)-1]
			all = all[:len(all)-1]
			continue
		}
		want := pattern(1+random.IntN(1<<(1+random.IntN(14))), uint32(i))
		s, ok := a.Copy(want)
		if !ok {
			continue
		}
		all = append(all, held{s, want})
	}
	for _, h := range all {
		if !bytes.Equal(a.Bytes(h.s), h.want) {
			t.Fatalf("block %d changed", h.s.Block)
		}
		a.Release(h.s.Block)
	}
	allFree(t, a)
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	a := newArena(t, 1<<20, 4)
	var g Gather
	var in Inbox
	message := pattern(900, 1)
	round := func() {
		b, _ := a.TakeReturned()
		copy(a.Bytes(a.Whole(b)), message)
		in.Put(a.Received(b, len(message)))
		g.Put(a, in.View())
		in.Consume(a, len(message))
		g.Append(a, message[:10])
		g.Sent(a, g.Bytes())
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
	allFree(t, a)
}

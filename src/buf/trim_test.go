package buf

import "testing"

// discards is a Memory that counts what is discarded.
type discards struct {
	HeapMemory
	pieces int
	bytes  uint64
}

func (d *discards) Discard(off, n uint64) {
	d.pieces++
	d.bytes += n
	d.HeapMemory.Discard(off, n)
}

func newTrimArena(t *testing.T) (*Arena, *discards) {
	t.Helper()
	d := &discards{HeapMemory: make(HeapMemory, 4<<20)}
	a, err := NewArena(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a, d
}

// After a burst the blocks go back in few pieces, and once.
func TestTrimReturnsWhatABurstHasLeft(t *testing.T) {
	for _, size := range []int{1 << 10, 16 << 10} {
		a, d := newTrimArena(t)
		var burst []Block
		for range 100 {
			burst = append(burst, mustAlloc(t, a, size))
		}
		a.Trim()
		for _, b := range burst {
			a.Release(b)
		}
		a.Trim() // they have been needed since the last one
		if d.bytes != 0 {
			t.Errorf("blocks of %d bytes: %d bytes are returned at once", size, d.bytes)
		}
		a.Trim()
		a.Trim()
		if d.bytes != uint64(100*size) || d.pieces != 1 {
			t.Errorf("blocks of %d bytes: %d bytes are returned in %d pieces, want %d in one", size, d.bytes, d.pieces, 100*size)
		}
	}
}

// What is needed again and again is left alone; a block taken again and freed again goes
// back again.
func TestTrimLeavesWhatIsNeeded(t *testing.T) {
	const size = 4 << 10
	a, d := newTrimArena(t)
	var b [10]Block
	round := func(n int) {
		for i := range n {
			b[i] = mustAlloc(t, a, size)
		}
		for i := range n {
			a.Release(b[i])
		}
		a.Trim()
	}
	round(10)
	for range 5 {
		round(3)
	}
	if d.bytes != 7*size {
		t.Errorf("%d bytes are returned with 3 of 10 blocks needed, want %d", d.bytes, 7*size)
	}
	d.bytes = 0
	round(10)
	for range 3 {
		round(0)
	}
	if d.bytes != 10*size {
		t.Errorf("%d bytes are returned in the end, want %d", d.bytes, 10*size)
	}
}

package buf

import (
	"bytes"
	"fmt"
	"testing"
)

func newShelfArena(t *testing.T) *Arena {
	t.Helper()
	a, err := NewArena(make(HeapMemory, 1<<20), 1)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestShelfKeepsPieces(t *testing.T) {
	a := newShelfArena(t)
	var s Shelf
	var kept []Slice
	piece := func(i int) []byte {
		return fmt.Appendf(nil, "%d:%s", i, bytes.Repeat([]byte{byte(i)}, i*37%(CopyBytesMax+500)))
	}
	for i := range 300 {
		p, ok := s.Put(a, piece(i))
		if !ok {
			t.Fatalf("piece %d: out of memory", i)
		}
		kept = append(kept, p)
	}
	s.Drop(a)
	for i, p := range kept {
		if !bytes.Equal(a.Bytes(p), piece(i)) {
			t.Errorf("piece %d has changed", i)
		}
		a.Release(p.Block)
	}
	if a.Live() != 0 {
		t.Errorf("%d blocks are referenced in the end", a.Live())
	}
}

// Ten thousand short pieces take little more than their bytes.
func TestShelfIsDense(t *testing.T) {
	a := newShelfArena(t)
	var s Shelf
	const pieces, size = 10_000, 7
	for range pieces {
		if _, ok := s.Put(a, make([]byte, size)); !ok {
			t.Fatal("out of memory")
		}
	}
	if used, want := a.UsedBytes(), uint64(pieces*size+2*shelfBytesMax); used > want {
		t.Errorf("%d pieces of %d bytes take %d bytes, want at most %d", pieces, size, used, want)
	}
}

func TestShelfFailsWithoutMemory(t *testing.T) {
	a, err := NewArena(make(HeapMemory, ReceiveChunkBytes+2048), 1)
	if err != nil {
		t.Fatal(err)
	}
	var s Shelf
	first, ok := s.Put(a, []byte("first"))
	if !ok {
		t.Fatal("no room for the first piece")
	}
	if _, ok := s.Put(a, make([]byte, CopyBytesMax)); ok {
		t.Error("a piece has found room where there is none")
	}
	if second, ok := s.Put(a, []byte("second")); !ok || string(a.Bytes(second)) != "second" || string(a.Bytes(first)) != "first" {
		t.Error("a shelf that could not grow has lost its room")
	}
}

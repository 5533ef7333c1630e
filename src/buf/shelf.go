package buf

const (
	shelfBytesMin = 1 << 10
	shelfBytesMax = 16 << 10
)

// Shelf keeps copies of pieces side by side, so that a short one costs hardly more than
// its bytes and not a block of its own. The zero Shelf is empty.
//
// A block of it lasts as long as any piece in it: pieces of one shelf should be let go
// in the order in which they were put there, more or less.
type Shelf struct {
	room Slice // free bytes of the newest block
	held bool  // the shelf has a reference of that block
	next int   // size of the next block
}

// Put copies p and returns the copy with a reference of its own. It fails when the arena
// is exhausted.
func (s *Shelf) Put(a *Arena, p []byte) (Slice, bool) {
	if len(p) > CopyBytesMax {
		return a.Copy(p)
	}
	if len(p) > int(s.room.Len) && !s.renew(a, len(p)) {
		return Slice{Block: NoBlock}, false
	}
	piece := s.room.Sub(0, uint32(len(p)))
	s.room = s.room.Sub(uint32(len(p)), s.room.Len-uint32(len(p)))
	copy(a.Bytes(piece), p)
	a.Retain(piece.Block)
	return piece, true
}

// Keep returns what p names with a reference that may be held for an unknown time: by
// reference where that pins neither a scarce receive chunk nor a block that is much
// larger than p, else by copy. The caller keeps its own reference.
func (s *Shelf) Keep(a *Arena, p Slice) (Slice, bool) {
	if a.IsReceiveChunk(p.Block) && !a.Scarce() || !a.IsReceiveChunk(p.Block) && p.Len > CopyBytesMax {
		a.Retain(p.Block)
		return p, true
	}
	return s.Put(a, a.Bytes(p))
}

// renew takes a new block with room for n bytes, larger than the last one.
func (s *Shelf) renew(a *Arena, n int) bool {
	size := max(n, min(max(s.next, shelfBytesMin), shelfBytesMax))
	b, ok := a.Alloc(size)
	if !ok {
		return false
	}
	s.Drop(a)
	s.room, s.held, s.next = a.Whole(b), true, 2*size
	return true
}

// Drop lets go of the shelf's own block. The pieces stay until their references are
// gone.
func (s *Shelf) Drop(a *Arena) {
	if s.held {
		a.Release(s.room.Block)
	}
	*s = Shelf{}
}

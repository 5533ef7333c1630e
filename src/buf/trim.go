package buf

const (
	// trimCallsMax and trimBytesMax bound what one Trim does: a few milliseconds.
	trimCallsMax = 2 << 10
	trimBytesMax = 256 << 20
)

// rested is what Trim knows of the free blocks of one class. They are a stack, so the
// ones at its bottom have been there longest.
type rested struct {
	idle    int // the fewest there have been since the last Trim: so many were not needed
	trimmed int // so many from the bottom have no pages any more
}

// taken notes that a block has been taken from the stack and left so many.
func (r *rested) taken(left int) {
	r.idle = min(r.idle, left)
	r.trimmed = min(r.trimmed, left)
}

// Trim returns to the system the pages of free blocks that have not been needed since the
// last Trim, a good part of them at a time. It is for now and then, about once a second:
// after a burst the memory is given back, and what is needed again and again stays.
func (a *Arena) Trim() {
	t := trim{arena: a}
	for class := range a.free {
		size := uint64(1) << (class + classShiftMin)
		if size >= discardBytesMin {
			return // their pages went when they were freed
		}
		r := &a.rested[class]
		for ; r.trimmed < r.idle && t.calls < trimCallsMax && t.bytes < trimBytesMax; r.trimmed++ {
			t.add(a.blocks[a.free[class][r.trimmed]].off, size)
		}
		t.flush()
		r.idle = len(a.free[class])
	}
}

// trim joins neighbouring blocks, so that one call returns many: the short ones have no
// whole page each.
type trim struct {
	arena  *Arena
	off, n uint64 // not returned yet
	calls  int
	bytes  uint64
}

func (t *trim) add(off, size uint64) {
	switch {
	case t.n > 0 && off == t.off+t.n:
	case t.n > 0 && off+size == t.off:
		t.off = off
	default:
		t.flush()
		t.off = off
	}
	t.n += size
	t.bytes += size
}

func (t *trim) flush() {
	if t.n > 0 {
		t.arena.region.Discard(t.off, t.n)
		t.calls++
		t.n = 0
	}
}

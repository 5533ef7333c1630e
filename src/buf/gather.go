package buf

import "mithril/src/invariant"

const (
	// CopyBytesMax is the longest piece that is copied into an output block rather
	// than sent by reference: below it the copy is cheaper than an iovec of its own.
	CopyBytesMax = 2 << 10

	tailBytesMin = 2 << 10
	tailBytesMax = 16 << 10
)

// Gather collects what the next send on one socket carries: pieces copied into
// blocks of its own and pieces by reference, in order. The zero Gather is empty.
type Gather struct {
	slices []Slice
	bytes  int
	// The block that copies go to: free from tail.Off for tail.Len bytes. It is
	// kept alive by the slices that lie in it, of which slices[tailLast] is the
	// last, so it is given up with that one.
	tail     Slice
	tailLast int
}

// Bytes is the number of bytes gathered.
func (g *Gather) Bytes() int { return g.bytes }

// Slices are the pieces in order. Each holds one reference of its block.
func (g *Gather) Slices() []Slice { return g.slices }

// Append copies p and returns the slice that holds the copy, contiguous, without
// a reference of its own: a caller that keeps it retains its block. It fails when
// the arena is exhausted.
func (g *Gather) Append(a *Arena, p []byte) (Slice, bool) {
	s, ok := g.Reserve(a, len(p))
	if ok {
		copy(a.mem[s.Off:s.Off+uint64(s.Len)], p)
	}
	return s, ok
}

// Reserve is Append for n bytes that the caller fills in before the next send.
func (g *Gather) Reserve(a *Arena, n int) (Slice, bool) {
	invariant.Assert(n > 0, "buf: empty piece in a gather")
	if n <= int(g.tail.Len) {
		s := Slice{Off: g.tail.Off, Len: uint32(n), Block: g.tail.Block}
		g.tail.Off += uint64(n)
		g.tail.Len -= uint32(n)
		g.bytes += n
		if last := &g.slices[len(g.slices)-1]; last.Off+uint64(last.Len) == s.Off && last.Block == s.Block {
			last.Len += uint32(n)
		} else {
			a.Retain(s.Block)
			g.slices = append(g.slices, s)
		}
		g.tailLast = len(g.slices) - 1
		return s, true
	}
	return g.reserveInNewBlock(a, n)
}

func (g *Gather) reserveInNewBlock(a *Arena, n int) (Slice, bool) {
	size := max(n, min(max(g.bytes, tailBytesMin), tailBytesMax))
	b, ok := a.Alloc(size)
	if !ok {
		return Slice{Block: NoBlock}, false
	}
	whole := a.Whole(b)
	s := whole.Sub(0, uint32(n))
	g.tail = whole.Sub(uint32(n), whole.Len-uint32(n))
	g.slices = append(g.slices, s)
	g.tailLast = len(g.slices) - 1
	g.bytes += n
	return s, true
}

// AppendRef adds s by reference and takes over one reference of its block.
func (g *Gather) AppendRef(a *Arena, s Slice) {
	invariant.Assert(s.Len > 0, "buf: empty slice in a gather")
	g.bytes += int(s.Len)
	if k := len(g.slices); k > 0 {
		last := &g.slices[k-1]
		if last.Block == s.Block && last.Off+uint64(last.Len) == s.Off {
			last.Len += s.Len
			a.Release(s.Block) // the joined slice needs one reference only
			return
		}
	}
	g.slices = append(g.slices, s)
}

// Put adds s by copy when it is short or its block is a scarce receive chunk, else
// by reference; the caller keeps its own reference. It fails when a copy was due
// and the arena is exhausted.
func (g *Gather) Put(a *Arena, s Slice) bool {
	if s.Len <= CopyBytesMax || (a.Scarce() && a.IsReceiveChunk(s.Block)) {
		_, ok := g.Append(a, a.Bytes(s))
		return ok
	}
	a.Retain(s.Block)
	g.AppendRef(a, s)
	return true
}

// Sent drops the first n bytes, which have been sent, and their references.
func (g *Gather) Sent(a *Arena, n int) {
	invariant.Assert(n <= g.bytes, "buf: more sent than gathered")
	g.bytes -= n
	i := 0
	for ; n > 0; i++ {
		s := &g.slices[i]
		if n < int(s.Len) {
			*s = s.Sub(uint32(n), s.Len-uint32(n))
			break
		}
		n -= int(s.Len)
		a.Release(s.Block)
	}
	if i > g.tailLast {
		g.tail = Slice{Block: NoBlock}
	}
	g.tailLast -= i
	if i > 0 {
		g.slices = append(g.slices[:0], g.slices[i:]...)
	}
}

// Give drops the first n slices without a release: whoever has taken them has their
// references.
func (g *Gather) Give(n int) {
	for _, s := range g.slices[:n] {
		g.bytes -= int(s.Len)
	}
	if n > g.tailLast {
		g.tail = Slice{Block: NoBlock}
	}
	g.tailLast -= n
	g.slices = append(g.slices[:0], g.slices[n:]...)
}

// Drop releases everything gathered.
func (g *Gather) Drop(a *Arena) {
	for _, s := range g.slices {
		a.Release(s.Block)
	}
	g.slices = g.slices[:0]
	g.bytes = 0
	g.tail = Slice{Block: NoBlock}
}

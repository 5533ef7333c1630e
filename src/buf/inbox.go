package buf

import "mithril/src/invariant"

// assembleBytesMin is how much is copied at least when a frame continues in the
// next received slice: what turns out to belong to the following frames is handed
// back, so generosity costs a short copy only.
const assembleBytesMin = 1 << 10

// Inbox holds what one socket has received and nobody has consumed yet, and shows
// it as contiguous bytes: frames inside one received slice in place, a frame that
// goes on in the next slice assembled in a block that grows with the bytes that
// arrive, never with the length they announce. The zero Inbox is empty.
type Inbox struct {
	cur       Slice // the bytes on view
	held      bool  // cur holds a reference of its block
	room      uint32
	copied    uint32 // bytes at the end of cur that are still in front of queue[0] too
	assembled bool   // cur lies in a block of our own, with room bytes free behind it
	queue     []Slice
	queued    int // bytes in queue
}

// Put adds received bytes and takes over their reference.
func (in *Inbox) Put(s Slice) {
	if in.cur.Len == 0 && len(in.queue) == 0 {
		in.cur = s
		in.held = true
		return
	}
	in.queue = append(in.queue, s)
	in.queued += int(s.Len)
}

// Bytes is the number of bytes held.
func (in *Inbox) Bytes() int { return int(in.cur.Len) + in.queued }

// View is the slice of contiguous bytes to scan next; it holds no reference for
// the caller. It changes with the next call of any other method.
func (in *Inbox) View() Slice { return in.cur }

// Consume drops the first n bytes of the view.
func (in *Inbox) Consume(a *Arena, n int) {
	invariant.Assert(n <= int(in.cur.Len), "buf: more consumed than on view")
	in.cur.Off += uint64(n)
	in.cur.Len -= uint32(n)
	if in.assembled && in.cur.Len <= in.copied && len(in.queue) > 0 {
		// What is left was copied ahead: look at it where it was received.
		q := &in.queue[0]
		q.Off -= uint64(in.cur.Len)
		q.Len += in.cur.Len
		in.queued += int(in.cur.Len)
		in.cur.Len = 0
	}
	if in.cur.Len == 0 {
		in.dropCur(a)
		in.next()
	}
}

func (in *Inbox) dropCur(a *Arena) {
	if in.held {
		a.Release(in.cur.Block)
	}
	in.cur, in.held = Slice{Block: NoBlock}, false
	in.assembled, in.room, in.copied = false, 0, 0
}

func (in *Inbox) next() {
	if len(in.queue) == 0 {
		return
	}
	in.cur, in.held = in.queue[0], true
	in.queued -= int(in.cur.Len)
	in.queue = append(in.queue[:0], in.queue[1:]...)
}

// Grow lengthens the view from what was received after it. need is how many bytes
// the frame on view lacks at least. It reports false when nothing more has been
// received, and fails when the arena is exhausted.
func (in *Inbox) Grow(a *Arena, need int) (grown, ok bool) { return in.GrowTo(a, need, 0) }

// GrowTo is Grow for a frame that is worth room for size bytes at once. Whoever announced
// them must be trusted.
func (in *Inbox) GrowTo(a *Arena, need, size int) (grown, ok bool) {
	if len(in.queue) == 0 {
		return false, true
	}
	if in.cur.Len == 0 {
		in.next()
		return true, true
	}
	for need > 0 && len(in.queue) > 0 {
		q := &in.queue[0]
		n := min(int(q.Len), max(need, assembleBytesMin))
		if !in.assemble(a, n, size) {
			return false, false
		}
		copy(a.mem[in.cur.Off+uint64(in.cur.Len):], a.Bytes(q.Sub(0, uint32(n))))
		in.cur.Len += uint32(n)
		in.room -= uint32(n)
		in.queued -= n
		need -= n
		if n == int(q.Len) {
			a.Release(q.Block)
			in.queue = append(in.queue[:0], in.queue[1:]...)
			in.copied = 0
			continue
		}
		q.Off += uint64(n)
		q.Len -= uint32(n)
		in.copied = uint32(n)
	}
	return true, true
}

// assemble makes cur lie in a block of our own with room for n bytes behind it. A new block
// is of size bytes at least.
func (in *Inbox) assemble(a *Arena, n, size int) bool {
	if in.assembled && int(in.room) >= n {
		return true
	}
	b, ok := a.Alloc(max(int(in.cur.Len)+n, size))
	if !ok {
		return false
	}
	whole := a.Whole(b)
	copy(a.Bytes(whole), a.Bytes(in.cur))
	a.Release(in.cur.Block)
	in.cur = Slice{Off: whole.Off, Len: in.cur.Len, Block: b}
	in.room = whole.Len - in.cur.Len
	in.assembled = true
	return true
}

// Settle is called when the view cannot be consumed now: what lies in receive chunks
// moves to a block of its own, all together, so that a session that waits does not keep
// the ring's chunks, and takes memory for the bytes it has received, however small the
// pieces were that they came in. It fails when the arena is exhausted.
func (in *Inbox) Settle(a *Arena) bool {
	if in.cur.Len > 0 && a.IsReceiveChunk(in.cur.Block) && !in.assemble(a, 0, 0) {
		return false
	}
	_, ok := in.Grow(a, in.queued)
	return ok
}

// Drop releases everything held.
func (in *Inbox) Drop(a *Arena) {
	in.dropCur(a)
	for _, q := range in.queue {
		a.Release(q.Block)
	}
	in.queue = in.queue[:0]
	in.queued = 0
}

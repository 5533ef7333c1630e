package buf

import (
	"fmt"
	"math/bits"

	"mithril/src/invariant"
)

const (
	// ReceiveChunkBytes is the size of one receive chunk. 16 KiB measured better
	// than 64 KiB: more sockets share the same pre-faulted memory.
	ReceiveChunkBytes = 16 << 10

	classShiftMin = 10 // smallest block: 1 KiB
	classShiftMax = 30 // largest block: 1 GiB
	classes       = classShiftMax - classShiftMin + 1

	// BlockBytesMax is the largest block an Arena hands out.
	BlockBytesMax = 1 << classShiftMax

	// discardBytesMin is the size from which a freed block's pages are returned
	// to the system at once: keeping them would hold a burst's memory for good,
	// and faulting them in again costs little next to filling them.
	discardBytesMin = 256 << 10
)

// Block is the number of a block in its Arena.
type Block uint32

// NoBlock is the Block of a Slice that names nothing.
const NoBlock Block = ^Block(0)

// Memory is a region of address space an Arena lives in.
type Memory interface {
	// Bytes is the whole region. It must not move.
	Bytes() []byte
	// Discard tells that the bytes [off, off+n) are no longer needed: their
	// pages may be dropped and read as anything afterwards.
	Discard(off, n uint64)
}

// HeapMemory is a Memory on the Go heap, for tests and simulations.
type HeapMemory []byte

// Bytes is the whole region.
func (m HeapMemory) Bytes() []byte { return m }

// Discard overwrites the bytes, so that a reader of discarded memory is noticed.
func (m HeapMemory) Discard(off, n uint64) { invariant.Mangle(m[off : off+n]) }

// Slice names Len bytes at offset Off of the arena's region, inside Block.
// The zero Slice is empty but names block 0; use Slice{Block: NoBlock} or IsEmpty
// to tell "nothing".
type Slice struct {
	Off   uint64
	Len   uint32
	Block Block
}

// IsEmpty says that the slice has no bytes.
func (s Slice) IsEmpty() bool { return s.Len == 0 }

// Sub is the part of s from byte `from` on, n bytes long.
func (s Slice) Sub(from, n uint32) Slice {
	invariant.Assert(uint64(from)+uint64(n) <= uint64(s.Len), "buf: sub-slice beyond its slice")
	return Slice{Off: s.Off + uint64(from), Len: n, Block: s.Block}
}

// block describes one block of the region.
type block struct {
	off   uint64
	refs  int32
	class uint8 // size is 1 KiB << class
}

// Arena hands out reference-counted blocks of one memory region.
type Arena struct {
	mem      []byte
	region   Memory
	carved   uint64 // bytes of the region already cut into blocks
	blocks   []block
	free     [classes][]Block
	rested   [classes]rested
	chunks   int     // blocks 0..chunks-1 are receive chunks
	returned []Block // receive chunks whose last reference is gone, for the ring to take
	lent     int     // receive chunks that hold received bytes, that is, have references
	live     int     // blocks with references, receive chunks included
	bytes    uint64  // bytes of blocks (not chunks) with references
}

// NewArena makes an arena over region whose first blocks are `chunks` receive
// chunks; all of them are at first to be taken by the ring through TakeReturned.
func NewArena(region Memory, chunks int) (*Arena, error) {
	a := &Arena{mem: region.Bytes(), region: region, chunks: chunks}
	need := uint64(chunks) * ReceiveChunkBytes
	if need > uint64(len(a.mem)) {
		return nil, fmt.Errorf("buf: %d receive chunks need %d bytes, the region has %d", chunks, need, len(a.mem))
	}
	a.blocks = make([]block, chunks, chunks+1024)
	a.returned = make([]Block, chunks)
	for i := range chunks {
		a.blocks[i] = block{off: uint64(i) * ReceiveChunkBytes, class: classOf(ReceiveChunkBytes)}
		// Taken from the end, so that the ring sees chunk 0 first.
		a.returned[i] = Block(chunks - 1 - i)
	}
	a.carved = need
	return a, nil
}

func classOf(n int) uint8 {
	if n <= 1<<classShiftMin {
		return 0
	}
	return uint8(bits.Len(uint(n-1)) - classShiftMin)
}

// Alloc returns a block of at least n bytes with one reference. It fails when n
// is above BlockBytesMax or the region is used up; the caller then gives up what
// it wanted the bytes for.
func (a *Arena) Alloc(n int) (Block, bool) {
	if n > BlockBytesMax {
		return NoBlock, false
	}
	class := classOf(n)
	free := a.free[class]
	var b Block
	if k := len(free); k > 0 {
		b = free[k-1]
		a.free[class] = free[:k-1]
		a.rested[class].taken(k - 1)
	} else {
		size := uint64(1) << (class + classShiftMin)
		if a.carved+size > uint64(len(a.mem)) {
			return NoBlock, false
		}
		b = Block(len(a.blocks))
		a.blocks = append(a.blocks, block{off: a.carved, class: class})
		a.carved += size
	}
	d := &a.blocks[b]
	invariant.Assert(d.refs == 0, "buf: a free block has references")
	d.refs = 1
	a.live++
	a.bytes += 1 << (d.class + classShiftMin)
	return b, true
}

// Cap is the size of block b in bytes.
func (a *Arena) Cap(b Block) int { return 1 << (a.blocks[b].class + classShiftMin) }

// Whole is the slice over all bytes of block b.
func (a *Arena) Whole(b Block) Slice {
	d := &a.blocks[b]
	return Slice{Off: d.off, Len: 1 << (d.class + classShiftMin), Block: b}
}

// Bytes are the bytes s names. They are valid while s's block is referenced.
func (a *Arena) Bytes(s Slice) []byte {
	return a.mem[s.Off : s.Off+uint64(s.Len) : s.Off+uint64(s.Len)]
}

// Retain adds a reference to block b, which must have one already.
func (a *Arena) Retain(b Block) {
	d := &a.blocks[b]
	invariant.Assert(d.refs > 0, "buf: retain of a free block")
	d.refs++
}

// Release drops a reference to block b; the last one frees it.
func (a *Arena) Release(b Block) {
	d := &a.blocks[b]
	invariant.Assert(d.refs > 0, "buf: release of a free block")
	d.refs--
	if d.refs == 0 {
		a.freeBlock(b, d)
	}
}

func (a *Arena) freeBlock(b Block, d *block) {
	a.live--
	size := uint64(1) << (d.class + classShiftMin)
	if invariant.Enabled {
		invariant.Mangle(a.mem[d.off : d.off+size])
	}
	if int(b) < a.chunks {
		a.lent--
		a.returned = append(a.returned, b)
		return
	}
	a.bytes -= size
	if size >= discardBytesMin {
		a.region.Discard(d.off, size)
	}
	a.free[d.class] = append(a.free[d.class], b)
}

// TakeReturned gives the ring one receive chunk that nobody references. The ring
// may fill it at any time until it reports it by Received.
func (a *Arena) TakeReturned() (Block, bool) {
	k := len(a.returned)
	if k == 0 {
		return NoBlock, false
	}
	b := a.returned[k-1]
	a.returned = a.returned[:k-1]
	return b, true
}

// Received is called by the ring for a chunk it has filled with n bytes: the
// slice it returns carries the one reference.
func (a *Arena) Received(chunk Block, n int) Slice {
	d := &a.blocks[chunk]
	invariant.Assert(int(chunk) < a.chunks, "buf: received into a block that is no receive chunk")
	invariant.Assert(d.refs == 0, "buf: received into a chunk in use")
	invariant.Assert(n > 0 && n <= ReceiveChunkBytes, "buf: received length outside the chunk")
	d.refs = 1
	a.lent++
	a.live++
	return Slice{Off: d.off, Len: uint32(n), Block: chunk}
}

// ReceiveChunks is how many receive chunks there are.
func (a *Arena) ReceiveChunks() int { return a.chunks }

// Scarce says that so many receive chunks are referenced that no further
// reference to one may be kept beyond the current event: copy instead.
func (a *Arena) Scarce() bool { return a.lent*2 > a.chunks }

// IsReceiveChunk tells receive chunks from other blocks.
func (a *Arena) IsReceiveChunk(b Block) bool { return int(b) < a.chunks }

// Live is the number of blocks and chunks with references: 0 when nobody holds
// anything, which the end of every test and simulation checks.
func (a *Arena) Live() int { return a.live }

// UsedBytes is the size of all referenced blocks, receive chunks left out.
func (a *Arena) UsedBytes() uint64 { return a.bytes }

// Copy returns a slice over a fresh block holding a copy of p, with one reference.
func (a *Arena) Copy(p []byte) (Slice, bool) {
	b, ok := a.Alloc(len(p))
	if !ok {
		return Slice{Block: NoBlock}, false
	}
	s := a.Whole(b).Sub(0, uint32(len(p)))
	copy(a.Bytes(s), p)
	return s, true
}

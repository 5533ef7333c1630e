package sys

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
)

const (
	// bufferGroup is the id of our only group of provided buffers.
	bufferGroup = 0

	// bufferRingMax is the longest ring of buffers the kernel takes.
	bufferRingMax = 32768
)

// bufferRing lends receive chunks to the kernel, which picks one for every piece
// it receives. The number of a buffer is the number of its chunk.
type bufferRing struct {
	arena   *buf.Arena
	base    uint64 // address of the arena's first byte
	mem     []byte
	entries []bufRingEntry
	mask    uint16
	tail    uint16 // entries before it are filled in
	shown   uint16 // entries before it are published
	lent    int    // chunks that are with the kernel
}

func newBufferRing(q *queue, a *buf.Arena, mem buf.Memory) (*bufferRing, error) {
	chunks := a.ReceiveChunks()
	if chunks < 1 || chunks > bufferRingMax {
		return nil, fmt.Errorf("io_uring: %d receive chunks, can use 1 to %d", chunks, bufferRingMax)
	}
	n := 1 << bits.Len(uint(chunks-1)) // a power of two
	bytes, err := unix.Mmap(-1, 0, n*int(unsafe.Sizeof(bufRingEntry{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("io_uring: cannot map the ring of receive buffers: %w", err)
	}
	b := &bufferRing{
		arena:   a,
		base:    uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem.Bytes())))),
		mem:     bytes,
		entries: unsafe.Slice((*bufRingEntry)(unsafe.Pointer(&bytes[0])), n),
		mask:    uint16(n - 1),
	}
	reg := bufRingReg{ringAddr: uint64(uintptr(unsafe.Pointer(&bytes[0]))), ringEntries: uint32(n), group: bufferGroup}
	if errno := q.register(registerPbufRing, unsafe.Pointer(&reg), 1); errno != 0 {
		b.unmap()
		return nil, fmt.Errorf("io_uring: cannot register receive buffers: %w; %s", errno, kernelFloor())
	}
	return b, nil
}

// lend gives the kernel all chunks that have come back to the arena.
func (b *bufferRing) lend() {
	for {
		chunk, ok := b.arena.TakeReturned()
		if !ok {
			break
		}
		b.put(chunk)
	}
	if b.shown != b.tail {
		b.publish()
	}
}

// put fills in the entry of one chunk, to be published with the next lend.
func (b *bufferRing) put(chunk buf.Block) {
	whole := b.arena.Whole(chunk)
	e := &b.entries[b.tail&b.mask]
	e.addr = b.base + whole.Off
	e.len = whole.Len
	e.bid = uint16(chunk)
	b.tail++
	b.lent++
}

// publish shows the kernel the entries up to tail. The tail is 16 bits wide and Go
// has no 16-bit atomic store, so it is stored together with the number of the
// buffer in front of it, which only this side writes.
func (b *bufferRing) publish() {
	first := &b.entries[0]
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&first.bid)), bidAndTail(first.bid, b.tail))
	b.shown = b.tail
}

// bidAndTail are the two fields as they lie in memory, low half first on the
// little-endian machines this engine supports.
func bidAndTail(bid, tail uint16) uint32 { return uint32(bid) | uint32(tail)<<16 }

func (b *bufferRing) unmap() { _ = unix.Munmap(b.mem) }

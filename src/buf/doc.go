// Package buf owns every byte that passes through a worker.
//
// One Arena per worker reserves a large region of address space outside the Go
// heap and hands out blocks of it. A block is a power of two in size and carries
// a reference count; a Slice names bytes inside a block by numbers, never by
// pointer, so records that hold slices need no write barrier and nothing for the
// collector to scan.
//
//	region   | receive chunks 0..n-1 | block | block | ...           | unused |
//	           16 KiB each, lent to     carved on demand, kept on a
//	           the ring for recv        free list per size class
//
// Ownership rules, which every package above relies on:
//
//   - Whoever holds a Slice that outlives the current call holds one reference on
//     its block. Retain and Release come in pairs; the last Release gives the
//     block back.
//   - A received Slice arrives with one reference, which belongs to the receiver.
//   - A request stays referenced until its reply has been accepted, because a
//     redirect sends the same bytes again.
//   - A reply stays referenced until the ring has reported the end of the send
//     that carries it.
//   - A receive chunk goes back to the ring only when its last reference is gone.
//     Nothing may keep one for an unknown time: references to receive chunks are
//     made only while Scarce is false, and copies are made instead while it is
//     true. So one half of the chunks always keeps flowing, whatever slow readers
//     and stopped nodes do.
//   - What is kept for an unknown time is kept by its size: short pieces lie side by
//     side on a Shelf, unread bytes are settled in one block. A block of its own for
//     each would make memory follow the number of pieces.
//   - Bytes inside a referenced Slice never change.
//
// Blocks of 256 KiB and more give their pages back when they are freed, shorter ones
// when Trim finds that they have not been needed for a while.
//
// An Arena belongs to one worker and is not safe for concurrent use.
package buf

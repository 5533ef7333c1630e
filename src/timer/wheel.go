package timer

import (
	"math/bits"

	"mithril/src/invariant"
)

const (
	tickBits  = 18 // a tick is 2^18 ns
	slotBits  = 6
	slotCount = 1 << slotBits
	levels    = 8
	// horizon caps deadlines, in nanoseconds: 146 years. Ticks up to there fit the levels.
	horizon = 1 << 62
)

// Handle names an armed timer: index and generation. The zero value names none. A handle outlives its timer
// harmlessly.
type Handle uint64

// node is one timer. Lists are linked by index; index 0 is no node.
type node struct {
	payload    uint64
	tick       uint64
	next, prev uint32
	generation uint32 // odd while armed
	level      uint8
	slot       uint8
}

// Wheel holds the armed timers.
type Wheel struct {
	current  uint64 // tick up to which timers have fired
	nodes    []node
	free     uint32
	armed    int
	inUse    uint8          // levels with a slot in use, a bit each
	occupied [levels]uint64 // slots in use, a bit each
	heads    [levels][slotCount]uint32
}

// New returns a wheel at time now, in nanoseconds, with room for capacityHint timers before it allocates
// again.
func New(now int64, capacityHint int) *Wheel {
	invariant.Assert(now >= 0, "time is not negative")
	return &Wheel{current: uint64(now) >> tickBits, nodes: make([]node, 1, 1+max(capacityHint, 0))}
}

// Len returns the number of armed timers.
func (w *Wheel) Len() int { return w.armed }

// Arm sets a timer for time at, in nanoseconds. One that lies in the past fires at the next Expire.
func (w *Wheel) Arm(at int64, payload uint64) Handle {
	at = min(max(at, 0), horizon)
	i := w.free
	if i != 0 {
		w.free = w.nodes[i].next
	} else {
		i = uint32(len(w.nodes))
		w.nodes = append(w.nodes, node{})
	}
	n := &w.nodes[i]
	n.payload = payload
	n.tick = max(uint64(at+(1<<tickBits-1))>>tickBits, w.current)
	n.generation++
	invariant.Assert(n.generation&1 == 1, "a free timer is armed")
	w.armed++
	w.link(i)
	return Handle(n.generation)<<32 | Handle(i)
}

// Cancel disarms a timer and tells whether it was armed: false once it has fired or was cancelled.
func (w *Wheel) Cancel(h Handle) bool {
	i, generation := uint32(h), uint32(h>>32)
	if generation&1 == 0 || uint64(i) >= uint64(len(w.nodes)) || w.nodes[i].generation != generation {
		return false
	}
	w.unlink(i)
	w.release(i)
	return true
}

// Expire fires every timer whose time has come by now: it appends their payloads to dst, tick by tick, in no
// promised order within a tick.
func (w *Wheel) Expire(now int64, dst []uint64) []uint64 {
	tick := uint64(now) >> tickBits
	invariant.Assert(now >= 0 && tick >= w.current, "time does not go back")
	for w.inUse != 0 {
		level, slot, start := w.earliest()
		if start > tick {
			break
		}
		w.current = max(start, w.current)
		i := w.heads[level][slot]
		w.heads[level][slot] = 0
		w.markEmpty(level, slot)
		for i != 0 {
			next := w.nodes[i].next
			if level == 0 {
				dst = append(dst, w.nodes[i].payload)
				w.release(i)
			} else {
				w.link(i)
			}
			i = next
		}
	}
	w.current = tick
	return dst
}

// Next returns a time, in nanoseconds, before which no timer fires; at that time Expire fires one or brings
// the next answer closer, which happens at most seven times for one timer. ok is false when none is armed.
func (w *Wheel) Next() (at int64, ok bool) {
	if w.inUse == 0 {
		return 0, false
	}
	_, _, start := w.earliest()
	return int64(start << tickBits), true
}

// earliest returns the slot in use that comes first, and the tick at which it starts.
func (w *Wheel) earliest() (level, slot uint8, start uint64) {
	level = uint8(bits.TrailingZeros8(w.inUse)) % levels
	slot = uint8(bits.TrailingZeros64(w.occupied[level])) % slotCount
	shift := level * slotBits
	above := w.current >> (shift + slotBits) << (shift + slotBits)
	return level, slot, above | uint64(slot)<<shift
}

// link puts a timer into the slot of its tick as seen from the current one.
func (w *Wheel) link(i uint32) {
	n := &w.nodes[i]
	invariant.Assert(n.tick >= w.current, "a timer lies ahead")
	differing := n.tick ^ w.current
	n.level = uint8(bits.Len64(differing|1)-1) / slotBits % levels
	n.slot = uint8(n.tick>>(n.level*slotBits)) % slotCount
	head := &w.heads[n.level][n.slot]
	n.prev, n.next = 0, *head
	if *head != 0 {
		w.nodes[*head].prev = i
	}
	*head = i
	w.occupied[n.level] |= 1 << n.slot
	w.inUse |= 1 << n.level
}

// unlink takes a timer out of its slot.
func (w *Wheel) unlink(i uint32) {
	n := &w.nodes[i]
	if n.next != 0 {
		w.nodes[n.next].prev = n.prev
	}
	if n.prev != 0 {
		w.nodes[n.prev].next = n.next
		return
	}
	w.heads[n.level][n.slot] = n.next
	if n.next == 0 {
		w.markEmpty(n.level, n.slot)
	}
}

func (w *Wheel) markEmpty(level, slot uint8) {
	w.occupied[level] &^= 1 << slot
	if w.occupied[level] == 0 {
		w.inUse &^= 1 << level
	}
}

// release puts a timer that is in no slot on the free list. Its handle is stale from here on.
func (w *Wheel) release(i uint32) {
	n := &w.nodes[i]
	invariant.Assert(n.generation&1 == 1, "an armed timer is released")
	n.generation++
	n.next = w.free
	w.free = i
	w.armed--
}

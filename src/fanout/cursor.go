package fanout

import (
	"math/bits"
	"strconv"

	"mithril/src/buf"
	"mithril/src/resp"
)

// A cursor of a walk is a number below 2^63, since clients keep it in a signed one:
//
//	62        48 47                                  0
//	| tag | rank | what the shard's primary has given |
//
// rank takes as many bits as there are shards, and the tag the others of the fifteen. It
// tells a walk over other shards, or over other primaries, whose cursors mean something
// else. The whole is 0 only at the begin and at the end.
const (
	nodeCursorBits = 48
	nodeCursorMax  = 1<<nodeCursorBits - 1
	markBits       = 63 - nodeCursorBits
)

// Walk is a way through all shards, one after the other. It is the same for every worker
// and every proxy that sees the same primaries.
type Walk struct {
	Shards int    // their number
	Tag    uint64 // from their primaries, by their order; random bits
}

// mark is the upper part of the cursors of a rank.
func (w Walk) mark(rank int) uint64 {
	rankBits := bits.Len(uint(w.Shards - 1))
	return w.Tag&(1<<(markBits-rankBits)-1)<<rankBits | uint64(rank)
}

// ShardsMax is how many shards a walk can tell apart.
const ShardsMax = 1 << markBits

// Cursor makes a cursor of the walk. ok is false for one of a node that does not fit.
func (w Walk) Cursor(rank int, node uint64) (cursor uint64, ok bool) {
	return w.mark(rank)<<nodeCursorBits | node, node <= nodeCursorMax
}

// Read takes a cursor of the walk apart. ok is false if it is none, or not of this walk.
func (w Walk) Read(text []byte) (rank int, node uint64, ok bool) {
	cursor, ok := ParseCursor(text)
	if !ok || cursor == 0 {
		return 0, 0, ok
	}
	mark := cursor >> nodeCursorBits
	rank = int(mark & (1<<bits.Len(uint(w.Shards-1)) - 1))
	return rank, cursor & nodeCursorMax, rank < w.Shards && mark == w.mark(rank)
}

// ParseCursor reads a cursor: decimal digits of an unsigned number of 64 bits.
func ParseCursor(text []byte) (cursor uint64, ok bool) {
	for _, b := range text {
		high, low := bits.Mul64(cursor, 10)
		sum, carry := bits.Add64(low, uint64(b-'0'), 0)
		if b < '0' || b > '9' || high != 0 || carry != 0 {
			return 0, false
		}
		cursor = sum
	}
	return cursor, len(text) > 0
}

// CursorPlace is where a reply has its cursor.
type CursorPlace uint8

// The places.
const (
	CursorFirst CursorPlace = iota // a string, the first of two elements: SCAN
	CursorLast                     // an integer, the last of two elements: FT.AGGREGATE WITHCURSOR
)

const errCursor = "-ERR a node has returned a cursor that this proxy cannot pass on\r\n"

// step makes the cursor in the node's reply one of the walk. Behind the last key of a shard
// the next one follows.
func (j *Join) step(a *buf.Arena, out *buf.Gather) bool {
	reply := j.parts[0].reply
	bytes := a.Bytes(reply)
	at, end, ok := j.place.find(bytes)
	if !ok {
		return out.Put(a, reply) // without a cursor
	}
	node, ok := j.nodeCursor(bytes[at:end])
	if !ok {
		return refuse(a, out, errMerge)
	}
	cursor, ok := j.next(node)
	if !ok {
		return refuse(a, out, errCursor)
	}
	var digits [20]byte
	var line [32]byte
	element := resp.AppendInt(line[:0], int64(cursor))
	if j.place == CursorFirst {
		element = resp.AppendBulk(line[:0], strconv.AppendUint(digits[:0], cursor, 10))
	}
	if !out.Put(a, reply.Sub(0, uint32(at))) {
		return false
	}
	if _, ok = out.Append(a, element); !ok {
		return false
	}
	return end == len(bytes) || out.Put(a, reply.Sub(uint32(end), uint32(len(bytes)-end)))
}

// find tells where in a reply its cursor is. FT.AGGREGATE gives none unless it is asked for
// one; the last of two elements is a row of results then.
func (p CursorPlace) find(reply []byte) (at, end int, ok bool) {
	n, at, ok := resp.ArrayHeader(reply)
	if !ok || n != 2 || reply[0] != '*' {
		return 0, 0, false
	}
	end = at + resp.NextElement(reply[at:])
	if p == CursorLast {
		at, end = end, len(reply)
		return at, end, reply[at] == ':'
	}
	return at, end, true
}

// nodeCursor reads the cursor that a node has given.
func (j *Join) nodeCursor(element []byte) (uint64, bool) {
	if j.place == CursorLast {
		v, ok := resp.Integer(element)
		return uint64(v), ok && v >= 0
	}
	text, ok := resp.Text(element)
	if !ok {
		return 0, false
	}
	return ParseCursor(text)
}

// next is the cursor behind the node's reply.
func (j *Join) next(node uint64) (cursor uint64, ok bool) {
	switch {
	case node != 0:
		return j.walk.Cursor(j.rank, node)
	case j.place == CursorLast || j.rank == j.walk.Shards-1:
		return 0, true
	}
	return j.walk.Cursor(j.rank+1, 0)
}

package fanout

import (
	"strconv"

	"mithril/src/invariant"
	"mithril/src/resp"
	"mithril/src/slot"
)

// Part is what goes to one slot.
type Part struct {
	Slot  uint16
	Items uint32 // keys, with their values where the command has them
	bytes uint32 // of the items as they stand in the client's frame
	first uint32 // its first item; the others follow through Plan.next
	last  uint32
}

// Plan is one request split by slot. It is scratch of a worker, used again for every
// request; Split overwrites it.
type Plan struct {
	Parts []Part
	Item  []uint32 // item -> part, in the client's order

	next   []uint32           // item -> next item of its part
	seen   [slot.Count]uint32 // slot -> round in which it was seen last
	part   [slot.Count]uint32 // slot -> its part in that round
	round  uint32
	prefix []byte // the command's name as a bulk, in the client's spelling
	step   int
}

// Split plans the request in frame: args[0] is the name, then items of step arguments
// each, the first of which is the key.
func (p *Plan) Split(frame []byte, args []resp.Arg, step int) {
	invariant.Assert(step > 0 && len(args) > 1 && (len(args)-1)%step == 0, "fanout: arguments do not make whole items")
	p.Parts, p.Item, p.next = p.Parts[:0], p.Item[:0], p.next[:0]
	p.step = step
	p.prefix = resp.AppendBulk(p.prefix[:0], args[0].Of(frame))
	p.round++
	if p.round == 0 {
		p.seen = [slot.Count]uint32{}
		p.round = 1
	}
	for i := 1; i < len(args); i += step {
		item := uint32(len(p.Item))
		s := slot.Of(args[i].Of(frame))
		if p.seen[s] != p.round {
			p.seen[s] = p.round
			p.part[s] = uint32(len(p.Parts))
			p.Parts = append(p.Parts, Part{Slot: s, first: item, last: item})
		}
		k := p.part[s]
		part := &p.Parts[k]
		if part.last != item {
			p.next[part.last] = item
			part.last = item
		}
		part.Items++
		from, to := span(args, i, step)
		part.bytes += to - from
		p.Item = append(p.Item, k)
		p.next = append(p.next, 0)
	}
}

// span is where the step arguments from i on lie in the frame, with their length lines
// and line ends.
func span(args []resp.Arg, i, step int) (from, to uint32) {
	const lineEnd = 2
	before, last := args[i-1], args[i+step-1]
	return before.Off + before.Len + lineEnd, last.Off + last.Len + lineEnd
}

// itemsKept is for how many items memory is kept for long.
const itemsKept = 8 << 10

// Rest gives back the memory that a large request has left behind. It is for now and
// then.
func (p *Plan) Rest() {
	if cap(p.Item) > itemsKept {
		p.Parts, p.Item, p.next = nil, nil, nil
	}
	if cap(p.prefix) > itemsKept {
		p.prefix = nil
	}
}

// FrameBytes is the size of part k's frame.
func (p *Plan) FrameBytes(k int) int {
	var line [24]byte
	return len(p.appendHeader(line[:0], k)) + len(p.prefix) + int(p.Parts[k].bytes)
}

func (p *Plan) appendHeader(dst []byte, k int) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendUint(dst, 1+uint64(p.Parts[k].Items)*uint64(p.step), 10)
	return append(dst, '\r', '\n')
}

// AppendFrame writes the frame of part k. frame and args are those given to Split.
func (p *Plan) AppendFrame(dst []byte, k int, frame []byte, args []resp.Arg) []byte {
	dst = p.appendHeader(dst, k)
	dst = append(dst, p.prefix...)
	part := &p.Parts[k]
	item := part.first
	for range part.Items {
		from, to := span(args, 1+int(item)*p.step, p.step)
		dst = append(dst, frame[from:to]...)
		item = p.next[item]
	}
	return dst
}

package fanout

import (
	"bytes"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/invariant"
	"mithril/src/resp"
	"mithril/src/ring"
)

// Join collects the replies to the parts of one request. It keeps its memory for the
// next one.
type Join struct {
	Owner ring.Token // the session that asked
	Seq   uint32     // its number of the request

	merge   command.Merge
	replies []buf.Slice // by part; each that is in holds one reference
	items   []uint32    // item -> part, for MergeArray
	cursor  []uint32    // part -> bytes of its reply already used
	shelf   buf.Shelf   // holds short replies
	held    int         // bytes of memory that the replies take
	missing int
	lost    bool // a reply could not be kept
}

// partBytes is the memory that a part takes beside the bytes of its reply.
const partBytes = 64

// Begin makes j wait for the parts of p.
func (j *Join) Begin(p *Plan, merge command.Merge, owner ring.Token, seq uint32) {
	j.Owner, j.Seq, j.merge = owner, seq, merge
	j.replies = j.replies[:0]
	for range p.Parts {
		j.replies = append(j.replies, buf.Slice{Block: buf.NoBlock})
	}
	j.items = j.items[:0]
	if merge == command.MergeArray {
		j.items = append(j.items, p.Item...)
	}
	j.missing, j.held, j.lost = len(p.Parts), 0, false
}

// Put keeps the reply to part k; the caller keeps its own reference. When the arena is
// exhausted it counts as in though it could not be kept: there will be no result. grown
// is how many bytes j holds more; done says that it was the last part.
func (j *Join) Put(a *buf.Arena, k uint32, reply buf.Slice) (grown int, done bool) {
	if j.lost {
		return 0, j.Lose(k)
	}
	kept, ok := j.shelf.Keep(a, reply)
	if !ok {
		return 0, j.Lose(k)
	}
	invariant.Assert(j.replies[k].Block == buf.NoBlock, "fanout: part answered twice")
	j.replies[k] = kept
	j.missing--
	grown = int(kept.Len) + partBytes
	j.held += grown
	return grown, j.missing == 0
}

// Held is how many bytes of memory the replies that are in take.
func (j *Join) Held() int { return j.held }

// Lose counts the reply to part k as in, though it could not be kept: there will be no
// result. done is as with Put.
func (j *Join) Lose(k uint32) (done bool) {
	invariant.Assert(j.replies[k].Block == buf.NoBlock, "fanout: part answered twice")
	j.lost = true
	j.missing--
	return j.missing == 0
}

// errMerge answers a client when a node's reply has not the shape the command has.
const errMerge = "-ERR unexpected reply from a node\r\n"

// Result joins the replies into one, with one reference, and lets go of them. It fails
// when one of them was lost or the arena is exhausted.
func (j *Join) Result(a *buf.Arena) (reply buf.Slice, ok bool) {
	invariant.Assert(j.missing == 0, "fanout: result before the last part")
	if !j.lost {
		reply, ok = j.result(a)
	}
	j.Forget(a)
	return reply, ok
}

func (j *Join) result(a *buf.Arena) (buf.Slice, bool) {
	for _, r := range j.replies {
		if a.Bytes(r)[0] == '-' {
			a.Retain(r.Block)
			return r, true
		}
	}
	switch j.merge {
	case command.MergeArray:
		return j.array(a)
	case command.MergeSum:
		return j.sum(a)
	}
	for _, r := range j.replies {
		if !bytes.Equal(a.Bytes(r), []byte("+OK\r\n")) {
			return a.Copy([]byte(errMerge))
		}
	}
	return a.Copy([]byte("+OK\r\n"))
}

func (j *Join) sum(a *buf.Arena) (buf.Slice, bool) {
	total := int64(0)
	for _, r := range j.replies {
		v, ok := resp.Integer(a.Bytes(r))
		if !ok {
			return a.Copy([]byte(errMerge))
		}
		total += v
	}
	var line [24]byte
	return a.Copy(resp.AppendInt(line[:0], total))
}

// array puts the elements of the parts' arrays into the client's order.
func (j *Join) array(a *buf.Arena) (buf.Slice, bool) {
	var line [24]byte
	header := resp.AppendArray(line[:0], len(j.items))
	size := len(header)
	j.cursor = j.cursor[:0]
	elements := 0
	for _, r := range j.replies {
		count, headerLen, ok := resp.ArrayHeader(a.Bytes(r))
		if !ok {
			return a.Copy([]byte(errMerge))
		}
		elements += count
		size += int(r.Len) - headerLen
		j.cursor = append(j.cursor, uint32(headerLen))
	}
	if elements != len(j.items) {
		return a.Copy([]byte(errMerge))
	}
	b, ok := a.Alloc(size)
	if !ok {
		return buf.Slice{Block: buf.NoBlock}, false
	}
	out := a.Whole(b).Sub(0, uint32(size))
	dst := append(a.Bytes(out)[:0], header...)
	for _, k := range j.items {
		rest := a.Bytes(j.replies[k])[j.cursor[k]:]
		if len(rest) == 0 {
			a.Release(b)
			return a.Copy([]byte(errMerge))
		}
		n := resp.NextElement(rest)
		dst = append(dst, rest[:n]...)
		j.cursor[k] += uint32(n)
	}
	invariant.Assert(len(dst) == size, "fanout: joined array has another size than its parts")
	return out, true
}

// Forget lets go of the replies that are in and keeps none that is to come, for a request
// whose client is gone. They are counted all the same.
func (j *Join) Forget(a *buf.Arena) {
	for k := range j.replies {
		if b := &j.replies[k].Block; *b != buf.NoBlock {
			a.Release(*b)
			*b = buf.NoBlock
		}
	}
	j.shelf.Drop(a)
	j.held, j.lost = 0, true
	if cap(j.items) > itemsKept {
		j.items, j.cursor = nil, nil // a large request is rare
	}
}

package fanout

import (
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/invariant"
	"mithril/src/ring"
)

// Join collects the replies to the parts of one request. It keeps its memory for the
// next one.
type Join struct {
	Owner ring.Token // the session that asked
	Seq   uint32     // its number of the request
	Reads bool       // executed in part it has changed nothing

	policy  policy
	parts   []part
	count   int      // of the parts, from the first on, whose replies count
	failed  int      // the first of those that was answered with an error; count if none was
	items   []uint32 // item -> part, for the client's order
	draw    uint64   // random, for a sample
	walk    Walk     // for a cursor
	rank    int      // for a cursor: the shard that was asked
	place   CursorPlace
	shelf   buf.Shelf // holds short replies
	held    int       // bytes of memory that the replies take
	missing int
	lost    bool // a reply could not be kept
}

// part is the reply to one part.
type part struct {
	reply buf.Slice // as far as it is in, with one reference
	used  uint32    // bytes of it that the joined reply has already
	whole bool      // nothing more of it is to come
}

// partBytes is the memory that a part takes beside the bytes of its reply.
const partBytes = 64

// Begin makes j wait for the parts of p, whose replies it joins by policy.
func (j *Join) Begin(p *Plan, response command.ResponsePolicy, owner ring.Token, seq uint32) {
	j.begin(policies[response], len(p.Parts), owner, seq)
	if response == command.ResponseDefaultHashslot {
		j.items = append(j.items, p.Item...)
	}
}

// BeginBroadcast makes j wait for the replies of several nodes, one part each. Only those
// of the first ones, count of them, make the reply.
func (j *Join) BeginBroadcast(parts, count int, response command.ResponsePolicy, owner ring.Token, seq uint32) {
	j.begin(policies[response], parts, owner, seq)
	j.count, j.failed = count, count
}

// BeginSample makes j wait for two answers of each shard: parts 0 to shards-1 tell how
// many keys it has, those behind tell one of them or none. The reply is one of these, drawn
// by a random number in proportion to the shards' keys.
func (j *Join) BeginSample(shards int, draw uint64, owner ring.Token, seq uint32) {
	j.begin(policy{merge: (*Join).sample}, 2*shards, owner, seq)
	j.draw = draw
}

// BeginCursor makes j wait for the reply of one node, the one of a rank in a walk, whose
// cursor it makes one of the walk.
func (j *Join) BeginCursor(w Walk, rank int, place CursorPlace, owner ring.Token, seq uint32) {
	j.begin(policy{merge: (*Join).step}, 1, owner, seq)
	j.walk, j.rank, j.place = w, rank, place
}

func (j *Join) begin(p policy, parts int, owner ring.Token, seq uint32) {
	j.Owner, j.Seq, j.Reads, j.policy = owner, seq, false, p
	j.parts, j.items = j.parts[:0], j.items[:0]
	for range parts {
		j.parts = append(j.parts, part{reply: buf.Slice{Block: buf.NoBlock}})
	}
	j.missing, j.count, j.failed, j.held, j.lost = parts, parts, parts, 0, false
}

// Put keeps the reply to part k, in place of what has come in pieces; the caller keeps its
// own reference. When the arena is exhausted it counts as in though it could not be kept:
// there will be no result. grown is how many bytes j holds more; done says that it was the
// last part.
func (j *Join) Put(a *buf.Arena, k uint32, reply buf.Slice) (grown int, done bool) {
	if j.lost {
		return 0, j.Lose(k)
	}
	kept, ok := j.shelf.Keep(a, reply)
	if !ok {
		return 0, j.Lose(k)
	}
	p := &j.parts[k]
	grown = int(kept.Len) + partBytes
	if p.reply.Block != buf.NoBlock {
		grown -= int(p.reply.Len) + partBytes
		a.Release(p.reply.Block)
	}
	p.reply = kept
	j.held += grown
	return grown, j.in(a, k)
}

// Extend is Put for the next piece of a reply that comes in several; it ends with the last
// one.
func (j *Join) Extend(a *buf.Arena, k uint32, piece buf.Slice, last bool) (grown int, done bool) {
	p := &j.parts[k]
	if j.lost || !p.extend(a, piece) {
		j.Abandon()
		return 0, last && j.end(k)
	}
	grown = int(piece.Len)
	if p.reply.Len == piece.Len { // the first one
		grown += partBytes
	}
	j.held += grown
	return grown, last && j.in(a, k)
}

// extend puts a piece behind what is in. It fails when the arena is exhausted.
func (p *part) extend(a *buf.Arena, piece buf.Slice) bool {
	have := p.reply
	size := have.Len + piece.Len
	if have.Block == buf.NoBlock || int(size) > a.Cap(have.Block) {
		b, ok := a.Alloc(int(size))
		if !ok {
			return false
		}
		p.reply = a.Whole(b).Sub(0, have.Len)
		if have.Block != buf.NoBlock {
			copy(a.Bytes(p.reply), a.Bytes(have))
			a.Release(have.Block)
		}
	}
	p.reply = a.Whole(p.reply.Block).Sub(0, size)
	copy(a.Bytes(p.reply)[have.Len:], a.Bytes(piece))
	return true
}

// in notes that the reply to part k is in.
func (j *Join) in(a *buf.Arena, k uint32) (done bool) {
	if a.Bytes(j.parts[k].reply)[0] == '-' && int(k) < j.failed {
		j.failed = int(k)
	}
	return j.end(k)
}

// end notes that nothing more of part k is to come.
func (j *Join) end(k uint32) (done bool) {
	p := &j.parts[k]
	invariant.Assert(!p.whole, "fanout: part answered twice")
	p.whole = true
	j.missing--
	return j.missing == 0
}

// Lose counts the reply to part k as in, though it could not be kept: there will be no
// result. done is as with Put.
func (j *Join) Lose(k uint32) (done bool) {
	j.Abandon()
	return j.end(k)
}

// Abandon makes j keep nothing of what is to come: nobody waits for it.
func (j *Join) Abandon() { j.lost = true }

// PartBytes is how much is in of the reply to part k.
func (j *Join) PartBytes(k uint32) int { return int(j.parts[k].reply.Len) }

// Held is how many bytes of memory the replies that are in take.
func (j *Join) Held() int { return j.held }

// Result joins the replies into one, which it puts into out, and lets go of them. It fails
// when one of them was lost or the arena is exhausted.
func (j *Join) Result(a *buf.Arena, out *buf.Gather) (ok bool) {
	invariant.Assert(j.missing == 0, "fanout: result before the last part")
	switch {
	case j.lost:
	case j.failed < j.count && !j.policy.bearsErrors:
		ok = out.Put(a, j.parts[j.failed].reply)
	default:
		ok = j.policy.merge(j, a, out)
	}
	j.Forget(a)
	return ok
}

// Forget lets go of the replies that are in and keeps none that is to come, for a request
// whose client is gone. They are counted all the same.
func (j *Join) Forget(a *buf.Arena) {
	for k := range j.parts {
		if b := &j.parts[k].reply.Block; *b != buf.NoBlock {
			a.Release(*b)
			*b = buf.NoBlock
		}
	}
	j.shelf.Drop(a)
	j.held, j.lost = 0, true
	if cap(j.items) > itemsKept || cap(j.parts) > itemsKept {
		j.items = nil // a large request is rare
		if j.missing == 0 {
			j.parts = nil
		}
	}
}

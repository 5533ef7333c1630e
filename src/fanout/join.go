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

	merge   merge       // makes the reply of those that count
	replies []buf.Slice // by part; each that is in holds one reference
	count   int         // of the parts, from the first on, whose replies count
	items   []uint32    // item -> part, for the client's order
	used    []uint32    // part -> bytes of its reply already used
	draw    uint64      // random, for a sample
	walk    Walk        // for a cursor
	rank    int         // for a cursor: the shard that was asked
	place   CursorPlace // for a cursor: where it is in the reply
	shelf   buf.Shelf   // holds short replies
	held    int         // bytes of memory that the replies take
	missing int
	lost    bool // a reply could not be kept
}

// partBytes is the memory that a part takes beside the bytes of its reply.
const partBytes = 64

// Begin makes j wait for the parts of p, whose replies it joins by policy.
func (j *Join) Begin(p *Plan, policy command.ResponsePolicy, owner ring.Token, seq uint32) {
	j.begin(merges[policy], len(p.Parts), owner, seq)
	if policy == command.ResponseDefaultHashslot {
		j.items = append(j.items, p.Item...)
	}
}

// BeginBroadcast makes j wait for the replies of several nodes, one part each. Only those
// of the first ones, count of them, make the reply.
func (j *Join) BeginBroadcast(parts, count int, policy command.ResponsePolicy, owner ring.Token, seq uint32) {
	j.begin(merges[policy], parts, owner, seq)
	j.count = count
}

// BeginSample makes j wait for two answers of each shard: parts 0 to shards-1 tell how
// many keys it has, those behind tell one of them or none. The reply is one of these, drawn
// by a random number in proportion to the shards' keys.
func (j *Join) BeginSample(shards int, draw uint64, owner ring.Token, seq uint32) {
	j.begin((*Join).sample, 2*shards, owner, seq)
	j.draw = draw
}

// BeginCursor makes j wait for the reply of one node, the one of a rank in a walk, whose
// cursor it makes one of the walk.
func (j *Join) BeginCursor(w Walk, rank int, place CursorPlace, owner ring.Token, seq uint32) {
	j.begin((*Join).step, 1, owner, seq)
	j.walk, j.rank, j.place = w, rank, place
}

func (j *Join) begin(m merge, parts int, owner ring.Token, seq uint32) {
	j.Owner, j.Seq, j.merge = owner, seq, m
	j.replies, j.items = j.replies[:0], j.items[:0]
	for range parts {
		j.replies = append(j.replies, buf.Slice{Block: buf.NoBlock})
	}
	j.missing, j.count, j.held, j.lost = parts, parts, 0, false
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

// Result joins the replies into one, with one reference, and lets go of them. It fails
// when one of them was lost or the arena is exhausted.
func (j *Join) Result(a *buf.Arena) (reply buf.Slice, ok bool) {
	invariant.Assert(j.missing == 0, "fanout: result before the last part")
	if !j.lost {
		reply, ok = j.merge(j, a)
	}
	j.Forget(a)
	return reply, ok
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
		j.items, j.used = nil, nil // a large request is rare
	}
}

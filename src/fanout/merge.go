package fanout

import (
	"bytes"
	"math"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/invariant"
	"mithril/src/resp"
)

// merge makes one reply of those that are in. It fails when the arena is exhausted.
type merge func(j *Join, a *buf.Arena, out *buf.Gather) bool

// policy says how replies become one.
type policy struct {
	merge       merge
	bearsErrors bool // errors are for merge to judge; else the first one is the reply
}

// policies are the response policies that a Join knows (ROUTE3).
var policies = [...]policy{
	command.ResponseDefaultKeyless:  {merge: (*Join).packed, bearsErrors: true},
	command.ResponseDefaultHashslot: {merge: (*Join).ordered},
	command.ResponseAllSucceeded:    {merge: (*Join).unanimous},
	command.ResponseOneSucceeded:    {merge: (*Join).firstGood, bearsErrors: true},
	command.ResponseAggSum:          {merge: (*Join).sum},
	command.ResponseAggMin:          {merge: (*Join).least},
	command.ResponseAggMax:          {merge: (*Join).greatest},
	command.ResponseAggLogicalAnd:   {merge: (*Join).and},
	command.ResponseAggLogicalOr:    {merge: (*Join).or},
}

// errMerge answers a client when a node's reply has not the shape the command has.
const errMerge = "-ERR unexpected reply from a node\r\n"

// errOverflow answers a client when a sum does not fit.
const errOverflow = "-ERR the sum of the nodes' replies is out of range\r\n"

// refuse makes an error the reply, whatever out has already.
func refuse(a *buf.Arena, out *buf.Gather, text string) bool {
	out.Drop(a)
	_, ok := out.Append(a, []byte(text))
	return ok
}

// counted are the parts whose replies make the result.
func (j *Join) counted() []part { return j.parts[:j.count] }

// unanimous is the reply that all nodes have given.
func (j *Join) unanimous(a *buf.Arena, out *buf.Gather) bool {
	first := j.parts[0].reply
	for k := range j.counted() {
		if !bytes.Equal(a.Bytes(j.parts[k].reply), a.Bytes(first)) {
			return refuse(a, out, errMerge)
		}
	}
	return out.Put(a, first)
}

var notBusy = []byte("-NOTBUSY ")

// good is the first reply that is no error. If all are, one that says more than that
// nothing was to be done comes first.
func (j *Join) good(a *buf.Arena) buf.Slice {
	best := j.parts[0].reply
	for k := range j.counted() {
		r := j.parts[k].reply
		if a.Bytes(r)[0] != '-' {
			return r
		}
		if bytes.HasPrefix(a.Bytes(best), notBusy) {
			best = r
		}
	}
	return best
}

func (j *Join) firstGood(a *buf.Arena, out *buf.Gather) bool { return out.Put(a, j.good(a)) }

// packed is one collection of all the nodes' elements, in no particular order. Replies that
// are none say the same thing, so that the first good one will do.
func (j *Join) packed(a *buf.Arena, out *buf.Gather) bool {
	first := j.good(a)
	if _, _, isCollection := resp.ArrayHeader(a.Bytes(first)); !isCollection {
		return out.Put(a, first)
	}
	if j.failed < j.count {
		return out.Put(a, j.parts[j.failed].reply)
	}
	kind, elements := a.Bytes(first)[0], 0
	for k := range j.counted() {
		p := &j.parts[k]
		n, headerLen, ok := resp.ArrayHeader(a.Bytes(p.reply))
		if !ok || n < 0 || a.Bytes(p.reply)[0] != kind {
			return refuse(a, out, errMerge)
		}
		elements += n
		p.used = uint32(headerLen)
	}
	var line [24]byte
	if _, ok := out.Append(a, resp.AppendCollection(line[:0], kind, elements)); !ok {
		return false
	}
	for k := range j.counted() {
		p := &j.parts[k]
		if rest := p.reply.Sub(p.used, p.reply.Len-p.used); rest.Len > 0 && !out.Put(a, rest) {
			return false
		}
	}
	return true
}

// ordered puts the elements of the parts' arrays into the client's order.
func (j *Join) ordered(a *buf.Arena, out *buf.Gather) bool {
	var line [24]byte
	header := resp.AppendArray(line[:0], len(j.items))
	size, elements := len(header), 0
	for k := range j.parts {
		p := &j.parts[k]
		n, headerLen, ok := resp.ArrayHeader(a.Bytes(p.reply))
		if !ok {
			return refuse(a, out, errMerge)
		}
		elements += n
		size += int(p.reply.Len) - headerLen
		p.used = uint32(headerLen)
	}
	if elements != len(j.items) {
		return refuse(a, out, errMerge)
	}
	whole, ok := out.Reserve(a, size)
	if !ok {
		return false
	}
	dst := append(a.Bytes(whole)[:0], header...)
	for _, k := range j.items {
		p := &j.parts[k]
		rest := a.Bytes(p.reply)[p.used:]
		if len(rest) == 0 {
			return refuse(a, out, errMerge)
		}
		n := resp.NextElement(rest)
		dst = append(dst, rest[:n]...)
		p.used += uint32(n)
	}
	invariant.Assert(len(dst) == size, "fanout: joined array has another size than its parts")
	return true
}

// fold makes one number of two; ok is false when it does not fit.
type fold func(x, y int64) (z int64, ok bool)

func (j *Join) sum(a *buf.Arena, out *buf.Gather) bool      { return j.folded(a, out, add) }
func (j *Join) least(a *buf.Arena, out *buf.Gather) bool    { return j.folded(a, out, lesser) }
func (j *Join) greatest(a *buf.Arena, out *buf.Gather) bool { return j.folded(a, out, greater) }
func (j *Join) and(a *buf.Arena, out *buf.Gather) bool      { return j.folded(a, out, both) }
func (j *Join) or(a *buf.Arena, out *buf.Gather) bool       { return j.folded(a, out, either) }

func add(x, y int64) (int64, bool) {
	if y > 0 && x > math.MaxInt64-y || y < 0 && x < math.MinInt64-y {
		return 0, false
	}
	return x + y, true
}

func lesser(x, y int64) (int64, bool)  { return min(x, y), true }
func greater(x, y int64) (int64, bool) { return max(x, y), true }
func both(x, y int64) (int64, bool)    { return truth(x != 0 && y != 0), true }
func either(x, y int64) (int64, bool)  { return truth(x != 0 || y != 0), true }

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// folded folds the integers that the nodes have answered, or the arrays of them, element by
// element.
func (j *Join) folded(a *buf.Arena, out *buf.Gather, f fold) bool {
	count, isArray := 1, a.Bytes(j.parts[0].reply)[0] == '*'
	for k := range j.counted() {
		p := &j.parts[k]
		n, headerLen := 1, 0
		if isArray {
			var ok bool
			if n, headerLen, ok = resp.ArrayHeader(a.Bytes(p.reply)); !ok || n < 0 {
				return refuse(a, out, errMerge)
			}
		}
		if k > 0 && n != count {
			return refuse(a, out, errMerge)
		}
		count = n
		p.used = uint32(headerLen)
	}
	const lineMax = 24
	b, ok := a.Alloc(lineMax * (count + 1))
	if !ok {
		return false
	}
	dst := a.Bytes(a.Whole(b))[:0]
	if isArray {
		dst = resp.AppendArray(dst, count)
	}
	for range count {
		total, problem := j.foldNext(a, f)
		if problem != "" {
			a.Release(b)
			return refuse(a, out, problem)
		}
		dst = resp.AppendInt(dst, total)
	}
	out.AppendRef(a, a.Whole(b).Sub(0, uint32(len(dst))))
	return true
}

// foldNext folds the next integer of every reply.
func (j *Join) foldNext(a *buf.Arena, f fold) (total int64, problem string) {
	for k := range j.counted() {
		p := &j.parts[k]
		rest := a.Bytes(p.reply)[p.used:]
		n := resp.NextElement(rest)
		v, ok := resp.Integer(rest[:n])
		if !ok {
			return 0, errMerge
		}
		p.used += uint32(n)
		if k == 0 {
			total = v
		} else if total, ok = f(total, v); !ok {
			return 0, errOverflow
		}
	}
	return total, ""
}

// sample is one of the shards' random keys, each shard as likely as it has many.
func (j *Join) sample(a *buf.Arena, out *buf.Gather) bool {
	shards := j.count / 2
	total := int64(0)
	for k := range shards {
		size, ok := resp.Integer(a.Bytes(j.parts[k].reply))
		if !ok || size < 0 {
			return refuse(a, out, errMerge)
		}
		if total, ok = add(total, size); !ok {
			return refuse(a, out, errOverflow)
		}
	}
	chosen := 0
	if total > 0 {
		for at := int64(j.draw % uint64(total)); chosen < shards-1; chosen++ {
			size, _ := resp.Integer(a.Bytes(j.parts[chosen].reply))
			if at -= size; at < 0 {
				break
			}
		}
	}
	// The last keys of the chosen shard may have gone since it was counted.
	for i := range shards {
		r := j.parts[shards+(chosen+i)%shards].reply
		if i == shards-1 || !resp.IsNull(a.Bytes(r)) {
			return out.Put(a, r)
		}
	}
	panic("fanout: a sample of no shard")
}

package fanout

import (
	"bytes"
	"math"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/invariant"
	"mithril/src/resp"
)

// merge makes one reply of those that are in, with one reference. It fails when the arena is
// exhausted.
type merge func(j *Join, a *buf.Arena) (buf.Slice, bool)

// merges says how replies become one, by policy (ROUTE3). A policy without a line is not one
// that a Join knows.
var merges = [...]merge{
	command.ResponseDefaultKeyless:  (*Join).packed,
	command.ResponseDefaultHashslot: (*Join).ordered,
	command.ResponseAllSucceeded:    (*Join).unanimous,
	command.ResponseOneSucceeded:    (*Join).firstGood,
	command.ResponseAggSum:          (*Join).sum,
	command.ResponseAggMin:          (*Join).least,
	command.ResponseAggMax:          (*Join).greatest,
	command.ResponseAggLogicalAnd:   (*Join).and,
	command.ResponseAggLogicalOr:    (*Join).or,
}

// errMerge answers a client when a node's reply has not the shape the command has.
const errMerge = "-ERR unexpected reply from a node\r\n"

// errOverflow answers a client when a sum does not fit.
const errOverflow = "-ERR the sum of the nodes' replies is out of range\r\n"

func refuse(a *buf.Arena, text string) (buf.Slice, bool) { return a.Copy([]byte(text)) }

// counted are the replies that make the result.
func (j *Join) counted() []buf.Slice { return j.replies[:j.count] }

// failed returns the first error among the replies that count, with a reference.
func (j *Join) failed(a *buf.Arena) (buf.Slice, bool) {
	for _, r := range j.counted() {
		if a.Bytes(r)[0] == '-' {
			a.Retain(r.Block)
			return r, true
		}
	}
	return buf.Slice{}, false
}

// unanimous is the reply that all nodes have given.
func (j *Join) unanimous(a *buf.Arena) (buf.Slice, bool) {
	if r, ok := j.failed(a); ok {
		return r, true
	}
	first := j.replies[0]
	for _, r := range j.counted()[1:] {
		if !bytes.Equal(a.Bytes(r), a.Bytes(first)) {
			return refuse(a, errMerge)
		}
	}
	a.Retain(first.Block)
	return first, true
}

var notBusy = []byte("-NOTBUSY ")

// firstGood is the first reply that is no error. If all are, one that says more than that
// nothing was to be done comes first.
func (j *Join) firstGood(a *buf.Arena) (buf.Slice, bool) {
	best := j.replies[0]
	for _, r := range j.counted() {
		if a.Bytes(r)[0] != '-' {
			best = r
			break
		}
		if bytes.HasPrefix(a.Bytes(best), notBusy) {
			best = r
		}
	}
	a.Retain(best.Block)
	return best, true
}

// packed is one collection of all the nodes' elements, in no particular order. Replies that
// are none say the same thing, so that the first good one will do.
func (j *Join) packed(a *buf.Arena) (buf.Slice, bool) {
	first, ok := j.firstGood(a)
	if _, _, isCollection := resp.ArrayHeader(a.Bytes(first)); !ok || !isCollection {
		return first, ok
	}
	kind := a.Bytes(first)[0]
	a.Release(first.Block)
	if r, failed := j.failed(a); failed {
		return r, true
	}
	elements, size := 0, 0
	j.used = j.used[:0]
	for _, r := range j.counted() {
		n, headerLen, ok := resp.ArrayHeader(a.Bytes(r))
		if !ok || n < 0 || a.Bytes(r)[0] != kind {
			return refuse(a, errMerge)
		}
		elements += n
		size += int(r.Len) - headerLen
		j.used = append(j.used, uint32(headerLen))
	}
	var line [24]byte
	header := resp.AppendCollection(line[:0], kind, elements)
	size += len(header)
	b, ok := a.Alloc(size)
	if !ok {
		return buf.Slice{Block: buf.NoBlock}, false
	}
	out := a.Whole(b).Sub(0, uint32(size))
	dst := append(a.Bytes(out)[:0], header...)
	for k, r := range j.counted() {
		dst = append(dst, a.Bytes(r)[j.used[k]:]...)
	}
	invariant.Assert(len(dst) == size, "fanout: packed collection has another size than its parts")
	return out, true
}

// ordered puts the elements of the parts' arrays into the client's order.
func (j *Join) ordered(a *buf.Arena) (buf.Slice, bool) {
	if r, ok := j.failed(a); ok {
		return r, true
	}
	var line [24]byte
	header := resp.AppendArray(line[:0], len(j.items))
	size := len(header)
	j.used = j.used[:0]
	elements := 0
	for _, r := range j.replies {
		count, headerLen, ok := resp.ArrayHeader(a.Bytes(r))
		if !ok {
			return refuse(a, errMerge)
		}
		elements += count
		size += int(r.Len) - headerLen
		j.used = append(j.used, uint32(headerLen))
	}
	if elements != len(j.items) {
		return refuse(a, errMerge)
	}
	b, ok := a.Alloc(size)
	if !ok {
		return buf.Slice{Block: buf.NoBlock}, false
	}
	out := a.Whole(b).Sub(0, uint32(size))
	dst := append(a.Bytes(out)[:0], header...)
	for _, k := range j.items {
		rest := a.Bytes(j.replies[k])[j.used[k]:]
		if len(rest) == 0 {
			a.Release(b)
			return refuse(a, errMerge)
		}
		n := resp.NextElement(rest)
		dst = append(dst, rest[:n]...)
		j.used[k] += uint32(n)
	}
	invariant.Assert(len(dst) == size, "fanout: joined array has another size than its parts")
	return out, true
}

// fold makes one number of two; ok is false when it does not fit.
type fold func(x, y int64) (z int64, ok bool)

func (j *Join) sum(a *buf.Arena) (buf.Slice, bool)      { return j.folded(a, add) }
func (j *Join) least(a *buf.Arena) (buf.Slice, bool)    { return j.folded(a, lesser) }
func (j *Join) greatest(a *buf.Arena) (buf.Slice, bool) { return j.folded(a, greater) }
func (j *Join) and(a *buf.Arena) (buf.Slice, bool)      { return j.folded(a, both) }
func (j *Join) or(a *buf.Arena) (buf.Slice, bool)       { return j.folded(a, either) }

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
func (j *Join) folded(a *buf.Arena, f fold) (buf.Slice, bool) {
	if r, ok := j.failed(a); ok {
		return r, true
	}
	j.used = j.used[:0]
	count, isArray := 1, a.Bytes(j.replies[0])[0] == '*'
	for k, r := range j.counted() {
		n, headerLen := 1, 0
		if isArray {
			var ok bool
			if n, headerLen, ok = resp.ArrayHeader(a.Bytes(r)); !ok || n < 0 {
				return refuse(a, errMerge)
			}
		}
		if k > 0 && n != count {
			return refuse(a, errMerge)
		}
		count = n
		j.used = append(j.used, uint32(headerLen))
	}
	const lineMax = 24
	b, ok := a.Alloc(lineMax * (count + 1))
	if !ok {
		return buf.Slice{Block: buf.NoBlock}, false
	}
	dst := a.Bytes(a.Whole(b))[:0]
	if isArray {
		dst = resp.AppendArray(dst, count)
	}
	for range count {
		total, problem := j.foldNext(a, f)
		if problem != "" {
			a.Release(b)
			return refuse(a, problem)
		}
		dst = resp.AppendInt(dst, total)
	}
	return a.Whole(b).Sub(0, uint32(len(dst))), true
}

// foldNext folds the next integer of every reply.
func (j *Join) foldNext(a *buf.Arena, f fold) (total int64, problem string) {
	for k, r := range j.counted() {
		rest := a.Bytes(r)[j.used[k]:]
		n := resp.NextElement(rest)
		v, ok := resp.Integer(rest[:n])
		if !ok {
			return 0, errMerge
		}
		j.used[k] += uint32(n)
		if k == 0 {
			total = v
		} else if total, ok = f(total, v); !ok {
			return 0, errOverflow
		}
	}
	return total, ""
}

// sample is one of the shards' random keys, each shard as likely as it has many.
func (j *Join) sample(a *buf.Arena) (buf.Slice, bool) {
	if r, ok := j.failed(a); ok {
		return r, true
	}
	shards := j.count / 2
	total := int64(0)
	for _, r := range j.replies[:shards] {
		size, ok := resp.Integer(a.Bytes(r))
		if total, ok = total+size, ok && size >= 0; !ok {
			return refuse(a, errMerge)
		}
	}
	chosen := 0
	if total > 0 {
		for at := int64(j.draw % uint64(total)); chosen < shards-1; chosen++ {
			size, _ := resp.Integer(a.Bytes(j.replies[chosen]))
			if at -= size; at < 0 {
				break
			}
		}
	}
	for i := range shards {
		r := j.replies[shards+(chosen+i)%shards]
		if i == shards-1 || !resp.IsNull(a.Bytes(r)) {
			a.Retain(r.Block)
			return r, true
		}
	}
	panic("fanout: a sample of no shard")
}

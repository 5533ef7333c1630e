package pipe

import (
	"mithril/src/buf"
	"mithril/src/invariant"
)

// Large replies and requests pass in parts. What becomes of the reply that is being
// received:
//
//	Undecided  it is collected as long as it is short; Next says Large when it is not
//	Collected  it is collected whole however long it is
//	Parted     Next gives it in parts
//
// The end of the reply makes it Undecided again.
type intake uint8

const (
	intakeUndecided intake = iota
	intakeCollected
	intakeParted
)

// TakeWhole makes Next collect the reply that it has called Large.
func (p *Pipe) TakeWhole() { p.decide(intakeCollected) }

// TakeParts makes Next give the reply that it has called Large in parts.
func (p *Pipe) TakeParts() { p.decide(intakeParted) }

func (p *Pipe) decide(next intake) {
	invariant.Assert(p.intake == intakeUndecided, "pipe: a large reply decided on twice")
	p.intake = next
}

// Parting says that a reply is being given in parts.
func (p *Pipe) Parting() bool { return p.intake == intakeParted }

// roomAtOnceMax bounds the memory that is taken for a reply because a node announces its
// size; beyond it memory follows what is received.
const roomAtOnceMax = 1 << 20

// isLarge says that the unfinished reply that starts with type byte is one to decide on.
// Pushes, errors and replies that nobody waits for are not.
func (p *Pipe) isLarge(first byte) bool {
	return p.intake == intakeUndecided && p.scan.Announced() > p.largeFrom && first != '>' && first != '-' &&
		p.tail-p.head > p.unsent && p.oldest().skip == 0
}

// part stores in r what has been received of a large reply, or asks what shall become of it.
func (p *Pipe) part(first byte, view buf.Slice, r *Reply) Progress {
	if p.isLarge(first) {
		r.Request = p.oldest().Request
		return Large
	}
	settled := p.scan.Settled()
	if p.intake != intakeParted || settled == 0 {
		return Waiting
	}
	p.scan.Discard(settled)
	p.shown = settled
	r.Request, r.Bytes = p.oldest().Request, view.Sub(0, uint32(settled))
	return Part
}

// Coming is the least number of bytes that the unfinished reply has, as far as is known.
func (p *Pipe) Coming() int { return p.scan.Announced() }

// Settle moves what has been received out of the receive chunks, for a pipe that is not
// read now. It fails when the arena is exhausted.
func (p *Pipe) Settle(a *buf.Arena) bool { return p.in.Settle(a) }

// Begin is Push for the beginning of a request whose other parts follow by Extend.
func (p *Pipe) Begin(a *buf.Arena, now int64, r Request, before Prefix) bool {
	if !p.Push(a, now, &r, before) {
		return false
	}
	p.begun = true
	return true
}

// Extend adds a part to the request that has begun; the caller keeps its reference. It
// fails when the arena is exhausted; the request has no end then.
func (p *Pipe) Extend(a *buf.Arena, now int64, part buf.Slice, last bool) bool {
	invariant.Assert(p.begun && p.Takes(), "pipe: part of a request that has not begun")
	if !p.out.Put(a, part) {
		return false
	}
	p.newest().since = now
	p.begun = !last
	return true
}

// Unsent is how many bytes of requests wait to be sent, in whatever state.
func (p *Pipe) Unsent() int { return p.out.Bytes() }

// Asked is the request whose reply comes next, if there is one.
func (p *Pipe) Asked() Request { return p.oldest().Request }

// OthersBehind says that replies to others than the one who gets the next reply are
// awaited behind it.
func (p *Pipe) OthersBehind() bool {
	first := p.oldest().Owner
	for i := p.head + 1; i != p.tail; i++ {
		if owner := p.queue[i&uint32(len(p.queue)-1)].Owner; owner != first && owner != 0 {
			return true
		}
	}
	return false
}

// Moved notes that some of the request that has begun has left.
func (p *Pipe) Moved(now int64) { p.newest().since = now }

// Begun says that the newest request is not whole yet.
func (p *Pipe) Begun() bool { return p.begun }

// Disown makes the reply to the newest request nobody's.
func (p *Pipe) Disown() {
	invariant.Assert(p.tail != p.head, "pipe: no request to disown")
	p.newest().Owner = 0
}

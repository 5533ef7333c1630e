package pipe

import (
	"mithril/src/buf"
	"mithril/src/resp"
)

// Reply is a reply with the request it answers. Bytes is valid until the next call
// of Next; the reference of Request.Frame passes to the caller.
type Reply struct {
	Request
	Bytes buf.Slice
}

// Progress is what Next found.
type Progress uint8

// What Next found.
const (
	Waiting  Progress = iota // no complete reply
	Got                      // a reply
	Large                    // a reply that is going to be large: TakeWhole or TakeParts, sooner or later
	Part                     // a part of a reply; its request stays
	LastPart                 // the end of it
	Greeted                  // the greeting is answered: the pipe is Ready now
	Broken                   // the node's bytes cannot be paired with requests any more
)

// Put hands over received bytes with their reference.
func (p *Pipe) Put(s buf.Slice) { p.in.Put(s) }

// Next takes the next reply off what was received and stores it in r. After Large nothing
// is taken, and the request is only shown. After Broken the connection is to be closed;
// reason says why.
func (p *Pipe) Next(a *buf.Arena, r *Reply) (got Progress, reason string) {
	if p.shown > 0 {
		p.in.Consume(a, p.shown)
		p.shown = 0
	}
	for {
		view := p.in.View()
		if view.Len == 0 {
			return Waiting, ""
		}
		frame := a.Bytes(view)
		n, status := p.scan.Scan(frame)
		switch status {
		case resp.Invalid:
			return Broken, "the node's reply is not RESP"
		case resp.NeedMore:
			if got := p.part(frame[0], view, r); got != Waiting {
				return got, ""
			}
			grown, ok := p.in.GrowTo(a, p.scan.Need(), min(p.scan.Announced(), roomAtOnceMax))
			if ok && !grown {
				ok = p.in.Settle(a)
			}
			if !ok {
				return Broken, "out of memory for a reply"
			}
			if !grown {
				return Waiting, ""
			}
			continue
		}
		if frame[0] == '>' && p.intake != intakeParted {
			// Pushes answer no request. (RESP3 specification, "Push type")
			p.in.Consume(a, n)
			continue
		}
		if p.state == Greeting {
			done, reason := p.greeted(frame[:n])
			p.in.Consume(a, n)
			if reason != "" {
				return Broken, reason
			}
			if done {
				return Greeted, ""
			}
			continue
		}
		if p.tail-p.head <= p.unsent {
			return Broken, "the node sent a reply that nothing asked for"
		}
		e := p.oldest()
		if e.skip > 0 {
			e.skip--
			p.in.Consume(a, n)
			continue
		}
		p.pop()
		p.shown = n
		got = Got
		if p.intake == intakeParted {
			got = LastPart
		}
		p.intake = intakeUndecided
		r.Request, r.Bytes = e.Request, view.Sub(0, uint32(n))
		return got, ""
	}
}

// greeted takes one reply to the greeting.
func (p *Pipe) greeted(reply []byte) (done bool, reason string) {
	if reply[0] == '-' {
		return false, string(resp.Complaint(reply))
	}
	p.greeting--
	if p.greeting > 0 {
		return false, ""
	}
	p.become(Ready)
	return true, ""
}

package pipe

import (
	"mithril/src/buf"
	"mithril/src/ring"
)

// A pipe can be the end of a connection that is somebody else's: what it would send is
// handed over, and what comes in is handed over too. The one who has the connection relays:
// its pipe carries requests of which it knows no more than how many replies they bring.

// Share makes a pipe hold one of so many parts of what a pipe may hold: the others are held by
// those whose requests go over the same connection.
func (p *Pipe) Share(parts int) {
	p.most, p.mostBytes = max(PendingMax/uint32(parts), 1), PendingBytesMax/parts
}

// Join makes a new pipe Ready on a connection that somebody else has opened and greeted.
func (p *Pipe) Join() { p.become(Ready) }

// Owed is how many replies the requests bring that have not been handed over: one for each,
// and one for each command that precedes it in its group.
func (p *Pipe) Owed() (replies uint32) {
	for i := p.tail - p.unsent; i != p.tail; i++ {
		replies += 1 + uint32(p.queue[i&uint32(len(p.queue)-1)].skip)
	}
	return replies
}

const (
	// gatherFactor is how many times as many requests wait for a send as the node has yet to
	// answer. With 1 two batches of one size would be under way most of the time.
	gatherFactor = 2

	// gatherBytesMax is how many bytes of requests wait for others to be sent with them.
	gatherBytesMax = 64 << 10
)

// Gathered says that the requests that wait are worth a send: they are twice as many as those
// that the node has and has not answered. So batches are as large as the load makes them, and a
// lone request waits for nothing. Nor is a slow reply waited for in vain: the node would not
// begin with what comes behind it before. What waits is sent with the last reply at the
// latest.
func (p *Pipe) Gathered() bool {
	return p.state != Ready || p.unsent >= gatherFactor*(p.tail-p.head-p.unsent) || p.out.Bytes() >= gatherBytesMax
}

// Recall says how many of the replies that are due have been asked of the node. The requests
// of the others count as not sent again: they were handed over and went no further.
func (p *Pipe) Recall(asked uint32) {
	p.unsent = p.tail - p.head
	for i := p.head; i != p.tail; i++ {
		group := 1 + uint32(p.queue[i&uint32(len(p.queue)-1)].skip)
		if group > asked {
			return
		}
		asked -= group
		p.unsent--
	}
}

// Relay queues bytes of whole requests that are somebody else's, who keeps what is needed to
// send them again: parts, whose references pass over, and behind them a copy of last. They
// bring so many replies. It fails when the arena is exhausted; p is unchanged then.
func (p *Pipe) Relay(a *buf.Arena, now int64, owner ring.Token, parts *buf.Gather, last []byte, replies uint32) bool {
	if parts.Bytes() > 0 {
		if _, ok := parts.Append(a, last); !ok {
			return false
		}
		for _, s := range parts.Slices() {
			p.out.AppendRef(a, s)
		}
		parts.Give(len(parts.Slices()))
	} else if _, ok := p.out.Append(a, last); !ok {
		return false
	}
	r := Request{Owner: owner, Frame: buf.Slice{Block: buf.NoBlock}}
	for range replies {
		p.enqueue(&r, 0, now)
	}
	p.relayed += replies
	return true
}

package pipe

import (
	"mithril/src/buf"
	"mithril/src/invariant"
	"mithril/src/resp"
	"mithril/src/ring"
)

const (
	// PendingMax is how many requests one pipe may hold unanswered. Sessions whose
	// next request would go beyond it stop reading.
	PendingMax = 32 << 10

	// PendingBytesMax is how many bytes of unanswered requests one pipe may hold.
	PendingBytesMax = 64 << 20

	queueMin = 64
)

// Key is what distinguishes the pipes of a worker. Requests of different keys never
// share a connection, because each part is state of the connection at the node.
type Key struct {
	Node     uint32     // the worker's number of the node
	DB       uint32     // SELECTed database
	Lane     uint16     // which of the `backend-conns` connections
	Proto    resp.Proto // negotiated with HELLO
	ReadOnly bool       // READONLY was sent: replicas answer reads
	Tracking bool       // invalidations are redirected to the worker's tracker
}

// IsPlain says that nothing but lane and protocol sets the pipe apart from others to its
// node.
func (k Key) IsPlain() bool { return k.DB == 0 && !k.ReadOnly && !k.Tracking }

// Request is one request on its way. It moves from pipe to pipe when it is
// redirected; whoever holds it holds one reference of Frame.
type Request struct {
	Owner  ring.Token // whose request it is
	Seq    uint32     // which of the owner's requests
	Slot   uint16     // slot of its keys
	Hops   uint8      // redirects followed so far
	Traits Traits
	Frame  buf.Slice // the bytes, as the node shall get them
}

// Traits are what is special about a request, one bit each: a Request is copied often and
// must stay small.
type Traits uint8

// The traits.
const (
	Scripted  Traits = 1 << iota // the reply may have been made up by a script
	BySHA                        // it names a script that the node may lack
	Passed                       // Frame is the beginning only: it cannot be sent again
	Asking                       // an ASKING precedes it
	Loading                      // the script that it names precedes it
	RawErrors                    // lines of the client's may follow an error: nobody else may wait behind it
)

// Has says that the request has a trait, or one of several.
func (r *Request) Has(t Traits) bool { return r.Traits&t != 0 }

// entry is a request with what its reply needs.
type entry struct {
	Request
	since int64 // when it was pushed, ns
	skip  uint8 // replies of the group to swallow before the one that counts
}

// Pipe is one backend connection. The zero Pipe is not usable; see Init.
type Pipe struct {
	Key Key

	out   buf.Gather // requests that wait to be sent, until the pipe is Ready too
	hello buf.Gather // the greeting

	state    State
	greeting uint8 // replies outstanding in Greeting
	in       buf.Inbox
	scan     resp.ReplyScanner
	shown    int // bytes of the reply, or of its part, last returned by Next
	intake   intake
	readOn   int64 // when reading was last begun again, ns

	largeFrom int    // bytes of a reply from which on it is Large
	most      uint32 // requests that it may hold unanswered
	mostBytes int    // and their bytes

	queue   []entry // ring buffer, a power of two long
	head    uint32
	tail    uint32
	unsent  uint32 // newest entries that have not been handed to the ring
	relayed uint32 // entries that are somebody else's; see relay.go
	pending int    // bytes of the frames in queue
	begun   bool   // the newest request is not whole yet: Extend goes on with it
}

// Init makes p a new pipe whose connection is being opened. Replies of more than largeFrom
// bytes are Large.
func (p *Pipe) Init(key Key, largeFrom int) {
	*p = Pipe{Key: key, queue: p.queue, largeFrom: largeFrom, most: PendingMax, mostBytes: PendingBytesMax}
}

// State is where the pipe is in its life.
func (p *Pipe) State() State { return p.state }

// Takes says that the pipe's state lets requests in.
func (p *Pipe) Takes() bool { return p.state < Closed }

// Len is how many requests are unanswered.
func (p *Pipe) Len() int { return int(p.tail - p.head) }

// Full says that the pipe takes no further request for now. What is relayed does not count:
// whose it is has a limit of its own.
func (p *Pipe) Full() bool { return p.tail-p.head-p.relayed >= p.most || p.pending >= p.mostBytes }

// HalfEmpty says that a pipe that was Full has drained enough to go on.
func (p *Pipe) HalfEmpty() bool {
	return p.tail-p.head-p.relayed <= p.most/2 && p.pending <= p.mostBytes/2
}

// Replies counts the requests that have been answered, and wraps around.
func (p *Pipe) Replies() uint32 { return p.head }

// Newest is how many requests have been pushed, counted as Replies counts.
func (p *Pipe) Newest() uint32 { return p.tail }

// Touch notes that the reply to the oldest request is on its way.
func (p *Pipe) Touch(now int64) {
	if p.tail != p.head {
		p.oldest().since = now
	}
}

// ReadOn notes that replies are read again, which were not for a while.
func (p *Pipe) ReadOn(now int64) { p.readOn = now }

// Oldest is since when the node has owed the reply to the oldest unanswered request: it was
// pushed then, or Touch was called for it, or ReadOn. ok is false without one.
func (p *Pipe) Oldest() (at int64, ok bool) {
	if p.tail == p.head {
		return 0, false
	}
	return max(p.oldest().since, p.readOn), true
}

func (p *Pipe) oldest() *entry { return &p.queue[p.head&uint32(len(p.queue)-1)] }
func (p *Pipe) newest() *entry { return &p.queue[(p.tail-1)&uint32(len(p.queue)-1)] }

// Sendable is what shall be sent now, which may be empty.
func (p *Pipe) Sendable() *buf.Gather {
	if p.state == Greeting {
		return &p.hello
	}
	return &p.out
}

// MaySend says that Sendable has bytes for the node in this state.
func (p *Pipe) MaySend() bool {
	switch p.state {
	case Greeting:
		return p.hello.Bytes() > 0
	case Ready:
		return p.out.Bytes() > 0
	}
	return false
}

// Flushed notes that everything in Sendable has been handed to the ring: from now
// on the node may have executed it.
func (p *Pipe) Flushed() {
	if p.state != Greeting {
		p.unsent = 0
	}
}

// Prefix is the beginning of a group: whole commands that go to the node directly before a
// request, and whose replies are swallowed. The zero Prefix is none.
type Prefix struct {
	Bytes    []byte // copied by Push
	Commands uint8
}

// AskingPrefix precedes a request that follows an ASK redirect.
// (redis.io/docs/reference/cluster-spec, "ASK redirection")
var AskingPrefix = Prefix{Bytes: []byte("*1\r\n$6\r\nASKING\r\n"), Commands: 1}

// Push queues r behind a prefix and takes over its reference of the frame when it
// succeeds. It fails when the arena is exhausted; p is unchanged then.
//
// A short frame is copied behind the other requests, and the copy serves as the
// frame from then on: the chunk it was received in is free at once.
func (p *Pipe) Push(a *buf.Arena, now int64, r *Request, before Prefix) bool {
	if r.Frame.Len <= buf.CopyBytesMax || a.Scarce() && a.IsReceiveChunk(r.Frame.Block) {
		s, ok := p.out.Reserve(a, len(before.Bytes)+int(r.Frame.Len))
		if !ok {
			return false
		}
		copy(a.Bytes(s), before.Bytes)
		frame := s.Sub(uint32(len(before.Bytes)), r.Frame.Len)
		copy(a.Bytes(frame), a.Bytes(r.Frame))
		a.Retain(s.Block)
		a.Release(r.Frame.Block)
		r.Frame = frame
	} else {
		if before.Commands > 0 {
			if _, ok := p.out.Append(a, before.Bytes); !ok {
				return false
			}
		}
		a.Retain(r.Frame.Block)
		p.out.AppendRef(a, r.Frame)
	}
	p.enqueue(r, before.Commands, now)
	return true
}

// Reserve queues a request whose frame of n bytes the caller writes into the
// returned slice before anything is sent. r.Frame is ignored.
func (p *Pipe) Reserve(a *buf.Arena, now int64, r Request, n int) (buf.Slice, bool) {
	s, ok := p.out.Reserve(a, n)
	if !ok {
		return s, false
	}
	a.Retain(s.Block)
	r.Frame = s
	p.enqueue(&r, 0, now)
	return s, true
}

func (p *Pipe) enqueue(r *Request, skip uint8, now int64) {
	invariant.Assert(p.Takes(), "pipe: push in a state that takes no requests")
	invariant.Assert(!p.begun, "pipe: push behind a request that is not whole")
	if p.tail-p.head == uint32(len(p.queue)) {
		p.grow()
	}
	e := &p.queue[p.tail&uint32(len(p.queue)-1)]
	e.Request, e.since, e.skip = *r, now, skip
	p.tail++
	p.unsent++
	p.pending += int(r.Frame.Len)
}

func (p *Pipe) grow() {
	bigger := make([]entry, max(queueMin, 2*len(p.queue)))
	for i := p.head; i != p.tail; i++ {
		bigger[i&uint32(len(bigger)-1)] = p.queue[i&uint32(len(p.queue)-1)]
	}
	p.queue = bigger
}

// Pop takes back the oldest request, whose reply will never come, with its
// reference. sent says that the node may have executed it. It is for a Closed
// pipe.
func (p *Pipe) Pop() (r Request, sent, ok bool) {
	if p.tail == p.head {
		return Request{}, false, false
	}
	sent = p.tail-p.head > p.unsent
	if !sent {
		p.unsent--
	}
	if p.begun && p.tail-p.head == 1 {
		sent = false // without its end no node executes it
	}
	return p.pop().Request, sent, true
}

// pop takes the oldest request out of the queue.
func (p *Pipe) pop() *entry {
	e := p.oldest()
	p.head++
	p.pending -= int(e.Frame.Len)
	if e.Frame.Block == buf.NoBlock {
		p.relayed--
	}
	return e
}

package worker

import (
	"encoding/binary"
	"net/netip"

	"mithril/src/pipe"
	"mithril/src/resp"
	"mithril/src/ring"
)

// A far pipe is a pipe whose connection another worker has. To the sessions of this one it
// is a pipe like any other: it pairs replies with requests, keeps what a redirect would send
// again, and is full, detached or lost as others are. Only its bytes take another way:
//
//	session -> far pipe == letters ==> line (line.go) -> pipe -> node
//	session <- far pipe <== letters == line           <- pipe <- node
//
// So whatever is done with requests and replies is done by the worker of the session, and the
// one with the connection has to know no more than where replies end.

// Sharing is which worker has the connection that requests take.
type Sharing uint8

// The ways of sharing, as in `backend-sharding`.
const (
	OwnPipes    Sharing = iota // every worker has its own
	SharedPipes                // one worker of all, told by node, database and protocol
)

// keeperOf returns the worker that has the connection of a key to n, nil if that is this one.
func (w *Worker) keeperOf(n *node, key pipe.Key) *peer {
	if w.Sharing == OwnPipes || len(w.others) == 0 {
		return nil
	}
	if k := (n.spread + key.DB + uint32(protoIndex(key.Proto))) % uint32(len(w.peers)); int(k) != w.Number {
		return &w.peers[k]
	}
	return nil
}

// spreadOf tells addresses apart, so that neighbouring ones come to different workers.
func spreadOf(addr netip.AddrPort) (sum uint32) {
	for _, b := range addr.Addr().Unmap().AsSlice() {
		sum += uint32(b)
	}
	return sum + uint32(addr.Port())
}

// laneOf is which connection of several to each node a new client takes, as long as it lives.
func (w *Worker) laneOf(client ring.Token) uint16 {
	if w.Sharing == SharedPipes {
		return 0
	}
	return uint16(client.Index() % uint32(w.Lanes))
}

// join opens a far pipe. It is nil when there is no memory.
func (w *Worker) join(n *node, key pipe.Key, p *peer) *backend {
	w.scratch = appendAim(w.scratch[:0], n.addr, key)
	where, ok := w.Arena.Copy(w.scratch)
	if !ok {
		n.reason = "out of memory"
		return nil
	}
	b := w.newBackend(n, key)
	b.far = p
	b.end.become(endOpen)
	b.end.recv = recvOver // nothing is received on a socket
	b.Join()
	w.fars++
	p.tell(letter{kind: letterOpen, token: b.end.token, data: where})
	return b
}

// appendAim writes which connection a far pipe is to join.
func appendAim(dst []byte, addr netip.AddrPort, key pipe.Key) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, addr.Port())
	dst = binary.LittleEndian.AppendUint32(dst, key.DB)
	dst = append(dst, byte(key.Proto), flag(key.ReadOnly)|flag(key.Tracking)<<1)
	ip := addr.Addr().As16()
	dst = append(dst, flag(addr.Addr().Is4()))
	return append(dst, ip[:]...)
}

// readAim reads what appendAim has written.
func readAim(b []byte) (addr netip.AddrPort, key pipe.Key) {
	port := binary.LittleEndian.Uint16(b)
	key.DB = binary.LittleEndian.Uint32(b[2:])
	key.Proto, key.ReadOnly, key.Tracking = resp.Proto(b[6]), b[7]&1 != 0, b[7]&2 != 0
	ip := netip.AddrFrom16([16]byte(b[9:]))
	if b[8] != 0 {
		ip = ip.Unmap()
	}
	return netip.AddrPortFrom(ip, port), key
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// handOver hands what a far pipe has to send to the worker with the connection.
func (w *Worker) handOver(b *backend) {
	p, out := b.far, b.Sendable()
	slices := out.Slices()
	given := 0
	for ; given < len(slices) && p.mayLend(); given++ {
		l := letter{kind: letterRequests, token: b.end.token, data: slices[given]}
		if given == len(slices)-1 {
			l.n = b.Owed()
			w.counters.HandedOver += uint64(l.n)
			b.Flushed()
		}
		p.lend(l)
	}
	out.Give(given)
	if out.Bytes() > 0 {
		p.wait(b)
		p.rouse = true
		return
	}
	b.handed.more(b.Newest(), p.out.Position())
	p.look(b)
	w.due.expect(&p.due)
}

// handed tells the oldest unanswered requests of a far pipe from those handed over since.
// What is behind requests that the keeper has taken needs no bell: the node answers them
// first, and for that the keeper wakes.
type handed struct {
	oldest, rest batch // rest is empty as long as there is one batch only
}

// batch is what was handed over until it is known of that it is taken.
type batch struct {
	until uint32 // the number of the newest request
	at    uint64 // the position behind it in the queue to the keeper; 0: there is none
}

func (h *handed) more(until uint32, at uint64) {
	if h.oldest.at == 0 {
		h.oldest = batch{until, at}
	} else {
		h.rest = batch{until, at}
	}
}

// answered drops what has been answered, up to the oldest request that is not.
func (h *handed) answered(oldest uint32) {
	if h.oldest.at > 0 && int32(oldest-h.oldest.until) >= 0 {
		h.oldest, h.rest = h.rest, batch{}
		if h.oldest.at > 0 && int32(oldest-h.oldest.until) >= 0 {
			h.oldest = batch{}
		}
	}
}

// look makes the keeper be rung if it has not taken what a far pipe waits for.
func (p *peer) look(b *backend) {
	if b.handed.oldest.at > p.out.Taken() {
		p.rouse, *p.writes = true, true
	}
}

// farReplies takes bytes of replies. They are copied: the one who has lent them gets them
// back when the letter is done with, whatever becomes of the client.
func (w *Worker) farReplies(p *peer, l *letter) {
	b := w.pipes.get(l.token)
	if b == nil || b.State() == pipe.Closed {
		return
	}
	data, ok := w.landing.Put(w.Arena, p.bytes(l))
	if !ok {
		w.losePipe(b, "out of memory for a reply")
		return
	}
	if b.Replies() == 0 {
		b.node.failures = 0 // but a pause that has begun meanwhile is kept
	}
	w.replied(b, data)
	b.handed.answered(b.Replies())
	p.look(b)
}

// farDetached makes new requests take another connection.
func (w *Worker) farDetached(l *letter) {
	b := w.pipes.get(l.token)
	if b == nil || b.tenure != tenureShared {
		return
	}
	w.abandon(b)
	if b.Len() == 0 {
		w.quiet(b)
	} else {
		b.others = b.OthersBehind()
	}
}

// farEnded ends a far pipe whose connection is gone, or could not be made.
func (w *Worker) farEnded(p *peer, l *letter) {
	b := w.pipes.get(l.token)
	if b == nil || b.State() == pipe.Closed {
		return
	}
	if l.kind == letterRefused {
		b.node.failed(w.now, p.why(l))
	}
	b.ended, b.askedOf, b.endedFor = true, l.n, p.why(l)
	if b.stopped == readOn {
		w.endFar(b)
		return
	}
	w.abandon(b) // replies that are in come first; see readOnAgain
}

// endFar ends a far pipe whose replies are all read and whose connection is gone.
func (w *Worker) endFar(b *backend) {
	b.Recall(b.askedOf)
	w.losePipe(b, b.endedFor)
}

// farHurried lets a far pipe read on whose client takes a large reply slowly, because others
// have waited long enough.
func (w *Worker) farHurried(l *letter) {
	b := w.pipes.get(l.token)
	if b == nil {
		return
	}
	b.others, b.patience = true, 0
	if b.stopped == stoppedSlow {
		w.readOnAgain(b)
	}
}

// tellFar writes to the worker that has the connection of a far pipe.
func (b *backend) tellFar(kind letterKind) {
	b.far.say(kind, b.end.token)
}

// leaveFar tells the worker with the connection that a far pipe is no more, and with a reason
// that the connection is to be given up too.
func (w *Worker) leaveFar(b *backend, reason string) {
	switch {
	case b.ended:
	case reason == "":
		b.tellFar(letterClose)
	default:
		w.tellWhy(b.far, letterDrop, b.end.token, 0, reason)
	}
}

// kindLine is the token kind of the lines, which only the worker itself uses.
const kindLine = kindDoubt + 1

// isLine says that what is asked for by owner belongs to another worker.
func isLine(owner ring.Token) bool { return owner.Kind() == kindLine }

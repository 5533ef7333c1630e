package sim

import (
	"mithril/src/buf"
	"mithril/src/ring"
)

// sending is a send in flight.
type sending struct {
	token ring.Token
	out   []buf.Slice
	bytes []byte // instead of out, when a mutant has changed what is sent
	total int    // bytes asked
	done  int    // bytes on the wire
	over  bool   // nothing more of it will be
	told  bool   // and its event may come
	err   ring.Err
}

// socketOf is the socket of an operation, checked.
func (r *Ring) socketOf(op *ring.Op) *socket {
	s := r.files.get(op.Socket)
	switch {
	case s == nil:
		r.world.fail("%s on socket %d, which is not open", opNamesOfRing[op.Kind], op.Socket)
	case s.ring != r && s.handed:
		s.adopt(r)
	case s.ring != r:
		r.world.fail("%s on socket %d, which is another worker's", opNamesOfRing[op.Kind], op.Socket)
	}
	s.handed = false
	return s
}

// adopt makes a socket that another ring has accepted one of r.
func (s *socket) adopt(r *Ring) {
	r.world.trace("adopt", int64(s.number), int64(s.ring.number), nil)
	s.ring, s.queued = r, false
}

var opNamesOfRing = [...]string{
	ring.OpAccept: "accept", ring.OpAcceptStop: "accept-stop", ring.OpConnect: "connect", ring.OpRecv: "recv",
	ring.OpRecvStop: "recv-stop", ring.OpSend: "send", ring.OpShutdown: "shutdown", ring.OpClose: "close",
	ring.OpBell: "bell",
}

// do carries out one operation.
func (r *Ring) do(op *ring.Op) {
	r.world.trace(opNamesOfRing[op.Kind], int64(op.Token), int64(op.Socket), nil)
	switch op.Kind {
	case ring.OpConnect:
		r.connect(op)
		return
	case ring.OpBell:
		r.ring(op)
		return
	}
	s := r.socketOf(op)
	if s.connect != nil {
		r.world.fail("%s on socket %d, which is still connecting", opNamesOfRing[op.Kind], op.Socket)
	}
	switch op.Kind {
	case ring.OpAccept, ring.OpRecv:
		s.arm(op)
	case ring.OpAcceptStop, ring.OpRecvStop:
		if s.recv == recvArmed {
			s.recv, s.stopAt = recvStopping, r.world.now+r.late()
			r.world.after(s.stopAt-r.world.now, s.mark)
		}
	case ring.OpSend:
		s.begin(op)
	case ring.OpShutdown:
		if s.shut {
			r.world.fail("second shutdown of socket %d", s.number)
		}
		s.shut = true
		s.end.out.finish()
		s.mark()
	case ring.OpClose:
		r.close(s, op.Token)
	}
}

// ring rings the bell of another ring, which takes a moment.
func (r *Ring) ring(op *ring.Op) {
	s := r.files.get(op.Socket)
	if s == nil || !s.bell || s.ring == r {
		r.world.fail("bell of socket %d, which is none of another worker", op.Socket)
	}
	r.world.after(r.world.between(0, 5*microsecond), s.ring.Wake)
}

// acceptRestMax is how long a worker may rest when accepting has failed.
const acceptRestMax = 110 * millisecond

func (s *socket) arm(op *ring.Op) {
	if s.recv != recvIdle {
		s.ring.world.fail("%s on socket %d, which has one already", opNamesOfRing[op.Kind], s.number)
	}
	if s.shut {
		s.ring.world.fail("%s on socket %d after its shutdown", opNamesOfRing[op.Kind], s.number)
	}
	if s.listens != (op.Kind == ring.OpAccept) {
		s.ring.world.fail("%s on socket %d, which is of the other kind", opNamesOfRing[op.Kind], s.number)
	}
	if rest := s.ring.world.now - s.restsSince; s.restsSince > 0 && rest > acceptRestMax {
		s.ring.world.fail("accepting has rested for %d ms", rest/millisecond)
	}
	s.restsSince = 0
	s.recv, s.recvToken, s.losesEnd = recvArmed, op.Token, false
	if s.accepts = -1; op.Max > 0 {
		s.accepts = int(op.Max)
	}
	s.mark()
}

func (r *Ring) connect(op *ring.Op) {
	takes, err, accept := r.network.connect(r, op.Addr)
	s := r.open(&socket{})
	s.connect = &connecting{token: op.Token, addr: op.Addr, began: r.world.now, err: err, accept: accept}
	r.world.after(takes, func() {
		s.connect.over = true
		s.mark()
	})
}

func (r *Ring) close(s *socket, token ring.Token) {
	if s.recv != recvIdle || s.send != nil {
		r.world.fail("close of socket %d, which has operations in flight", s.number)
	}
	if s.end != nil {
		s.end.watch(func() {}, func() {})
		s.end.close()
	}
	for _, waiting := range s.backlog {
		waiting.end.reset()
	}
	r.files.take(s)
	r.dead = append(r.dead, token)
}

// recvEvent is the next event of an armed receive.
func (s *socket) recvEvent(ev *ring.Event) bool {
	if s.recv == recvIdle {
		return false
	}
	r, in := s.ring, s.end.in
	*ev = ring.Event{Kind: ring.RecvEnded, Token: s.recvToken, Socket: s.number, Data: noData}
	stopping := s.recv == recvStopping && s.stopAt <= r.world.now || s.shut
	switch {
	case stopping && (len(in.arrived) == 0 || r.world.chance(0.5)):
		ev.Err = ring.ErrCanceled
	case len(in.arrived) > 0:
		if s.receive(ev) {
			return true
		}
		if s.starved && !stopping {
			if !s.waiting {
				s.waiting = true
				r.parked = append(r.parked, s)
			}
			return false
		}
		s.starved = true
		ev.Err = ring.ErrNoBuffers
	case s.losesEnd:
		return false
	case in.broken:
		ev.Err = ring.ErrReset
	case in.ended:
		ev.Err = ring.ErrNone
	default:
		return false
	}
	s.recv = recvIdle
	return true
}

// receive fills a chunk. It fails when there is none, or none shall be found.
func (s *socket) receive(ev *ring.Event) bool {
	r := s.ring
	if !s.starved && r.world.chance(r.faults.NoBuffers) {
		return false
	}
	chunk, ok := r.chunk()
	if !ok {
		return false
	}
	s.starved = false
	most := buf.ReceiveChunkBytes
	if r.world.chance(r.faults.ShortRecv) {
		most = 1 + r.world.rng.IntN(1<<r.world.rng.IntN(8))
	}
	if s.crumbsIn > 0 && r.faults.Crumbs > 0 {
		s.crumbsIn--
		most = 1
	}
	n := copy(r.arena.Bytes(r.arena.Whole(chunk)), s.end.in.read(most))
	ev.Kind, ev.N, ev.Data = ring.Received, uint32(n), r.arena.Received(chunk, n)
	if r.mutant != nil && r.mutant.received != nil {
		r.mutant.received(r, ev)
	}
	return true
}

// begin starts a send.
func (s *socket) begin(op *ring.Op) {
	r := s.ring
	if s.send != nil {
		r.world.fail("second send in flight on socket %d", s.number)
	}
	if s.shut {
		r.world.fail("send on socket %d after its shutdown", s.number)
	}
	o := &sending{token: op.Token, out: append([]buf.Slice(nil), op.Out...)}
	for _, slice := range o.out {
		if slice.Len == 0 {
			r.world.fail("send of an empty slice on socket %d", s.number)
		}
		o.total += int(slice.Len)
	}
	if o.total == 0 {
		r.world.fail("send of nothing on socket %d", s.number)
	}
	if r.mutant != nil && r.mutant.send != nil {
		o.bytes = r.mutant.send(r, op, r.gathered(o.out))
	}
	s.send = o
	r.world.after(r.world.between(0, 20*microsecond), s.progress)
}

func (r *Ring) gathered(out []buf.Slice) (b []byte) {
	for _, slice := range out {
		b = append(b, r.arena.Bytes(slice)...)
	}
	return b
}

// progress puts more of a send on the wire. The bytes are read as late as this: whoever
// releases or changes them before the send has ended is found out.
func (s *socket) progress() {
	r, o := s.ring, s.send
	if o == nil || o.over {
		return
	}
	most := o.total
	if r.world.chance(r.faults.ShortSend) {
		most = min(o.total, o.done+1+r.world.rng.IntN(1<<r.world.rng.IntN(12)))
	}
	if s.crumbsOut > 0 && r.faults.Crumbs > 0 && o.bytes == nil {
		s.crumbsOut--
		most = o.done + 1
	}
	switch {
	case o.bytes != nil:
		s.end.out.write(o.bytes)
		o.done = o.total
	default:
		o.done += s.writeSlices(o.out, o.done, most)
	}
	switch {
	case o.done > 0 && (o.done == o.total || most < o.total || s.shut):
	case s.end.out.broken:
		o.err = ring.ErrReset
	case s.shut:
		o.err = ring.ErrCanceled
	default:
		return // goes on when the wire has room
	}
	o.over = true
	r.world.after(r.late(), func() {
		o.told = true
		s.mark()
	})
}

// late is how long the end of an operation is held back.
func (r *Ring) late() int64 {
	if r.world.chance(r.faults.Late) {
		return r.world.between(0, 20*millisecond)
	}
	return 0
}

// writeSlices writes the bytes from..to of the slices, as far as the wire has room.
func (s *socket) writeSlices(out []buf.Slice, from, to int) (n int) {
	at := 0
	for _, slice := range out {
		low, high := max(from, at), min(to, at+int(slice.Len))
		if low < high {
			part := s.ring.arena.Bytes(slice)[low-at : high-at]
			k := s.end.out.write(part)
			n += k
			if k < len(part) {
				return n
			}
		}
		at += int(slice.Len)
	}
	return n
}

// sendEvent is the end of a send.
func (s *socket) sendEvent(ev *ring.Event) bool {
	o := s.send
	if o == nil {
		return false
	}
	s.progress()
	if !o.told {
		return false
	}
	*ev = ring.Event{Kind: ring.Sent, Token: o.token, Socket: s.number, N: uint32(o.done), Err: o.err, Data: noData}
	if o.err != ring.ErrNone {
		ev.N = 0
	}
	s.send = nil
	return true
}

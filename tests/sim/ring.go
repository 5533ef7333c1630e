package sim

import (
	"net/netip"

	"mithril/src/buf"
	"mithril/src/ring"
)

// Ring is the ring.Ring of one worker, over wires in virtual time. It also checks that the
// worker keeps its side of the contract (package ring, doc.go).
type Ring struct {
	world   *World
	number  int // the worker's
	arena   *buf.Arena
	faults  *Faults
	network network

	files  *descriptors
	ready  []*socket // that may have an event
	parked []*socket // whose OpRecv waits for a chunk
	chunks []buf.Block
	dead   []ring.Token // of sockets closed before

	turns int64
	bell  *socket
	woken bool // Wake was called, or the bell was rung
	pause pause
	yield func() // lets the others go on until the pause is over

	mutant *mutant // breaks the program on purpose; see mutant.go
}

// pause is when a worker goes on.
type pause struct {
	until int64 // at this time
	alert bool  // or when something has happened on its ring
}

// network is what the connects of rings lead to.
type network interface {
	// connect answers how long a connect to addr takes and how it ends. Without an error
	// accept then makes the connection, or answers nil when nobody is there any more.
	connect(r *Ring, addr netip.AddrPort) (takes int64, err ring.Err, accept func() *end)
	// failed is told when the worker has learned that a connect to addr has failed, took
	// nanoseconds after it was given.
	failed(r *Ring, addr netip.AddrPort, took int64)
}

// socket is what the kernel holds of one.
type socket struct {
	ring   *Ring
	number ring.Socket
	end    *end // nil: a listener, or not connected yet
	queued bool // listed in ready
	handed bool // accepted, and no worker has done anything with it: so any may
	shut   bool
	peer   netip.AddrPort

	recv      recvPhase
	recvToken ring.Token
	stopAt    int64 // recvStopping: when it takes effect
	starved   bool  // told ErrNoBuffers: the next OpRecv waits for a chunk
	losesEnd  bool  // the end of the connection is told to the next OpRecv only
	waiting   bool  // in Ring.parked

	send    *sending
	connect *connecting

	crumbsIn, crumbsOut int // bytes that will still be moved one by one

	bell       bool
	listens    bool
	accepts    int        // connections its OpAccept may still take, below 0 any number
	backlog    []*inbound // connections nobody has accepted
	restsSince int64      // when accepting ended for an error, 0: it has not
}

type recvPhase uint8

const (
	recvIdle recvPhase = iota
	recvArmed
	recvStopping
)

type connecting struct {
	token  ring.Token
	addr   netip.AddrPort
	began  int64
	err    ring.Err
	accept func() *end
	over   bool
}

type inbound struct {
	end  *end
	addr netip.AddrPort
}

// open makes a socket of this ring.
func (r *Ring) open(s *socket) *socket {
	s.ring = r
	r.files.give(s)
	return s
}

// listen makes a listening socket.
func (r *Ring) listen() *socket { return r.open(&socket{listens: true}) }

// Peer is the client's address.
func (r *Ring) Peer(number ring.Socket) netip.AddrPort { return r.files.sockets[number].peer }

// Local is where clients connect to.
func (r *Ring) Local(ring.Socket) netip.AddrPort { return proxyAddr }

var proxyAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 7979)

// Left is what the client's end says.
func (r *Ring) Left(number ring.Socket) bool { return r.files.sockets[number].end.in.left() }

// Now is virtual time.
func (r *Ring) Now() int64 { return r.world.now }

// CPU is made up: each turn has a price.
func (r *Ring) CPU() int64 { return r.turns * turnCPU }

const turnCPU = 5 * microsecond

// Wake ends the wait that virtual time is in, or the next one.
func (r *Ring) Wake() { r.woken = true }

// Bell is what the others ring.
func (r *Ring) Bell() ring.Socket { return r.bell.number }

// pass lets time pass until some time, whatever happens.
func (r *Ring) pass(until int64) {
	r.pause = pause{until: until}
	r.yield()
}

// await lets time pass until some time, or until something has happened on this ring.
func (r *Ring) await(until int64) {
	r.pause = pause{until: until, alert: true}
	r.yield()
}

// isDue says that the pause is over.
func (r *Ring) isDue() bool {
	return r.world.now >= r.pause.until || r.pause.alert && (r.woken || len(r.ready) > 0)
}

// Turn carries out ops and lets time pass until there are events.
func (r *Ring) Turn(ops []ring.Op, wait ring.Wait, events []ring.Event) int {
	w := r.world
	r.turns++
	for i := range ops {
		r.do(&ops[i])
	}
	r.takeChunks()
	r.pass(w.now + r.duration())
	limit := len(events)
	if w.chance(r.faults.Backlog) {
		limit = min(limit, 2+w.rng.IntN(4)) // disturb takes up to two
	}
	n := r.disturb(events)
	need, windowEnd := 1, w.now
	if wait.Window > 0 {
		need, windowEnd = max(wait.Min, 1), w.now+wait.Window
	}
	for {
		if r.woken && n < limit {
			r.woken = false
			events[n] = ring.Event{Kind: ring.Woken, Socket: ring.NoSocket, Data: noData}
			n++
		}
		n += r.harvest(events[n:limit])
		until := wait.Deadline
		if n > 0 {
			until = min(until, windowEnd)
		}
		if n >= need || n == limit || until <= w.now {
			return n
		}
		r.await(until)
	}
}

// duration is how long a turn takes, beside its wait.
func (r *Ring) duration() int64 {
	w := r.world
	if w.chance(r.faults.SlowTurn) {
		return w.between(0, slowTurnMax)
	}
	return w.between(microsecond, 20*microsecond)
}

// slowTurnMax is the longest turn: long enough for others to do much meanwhile.
const slowTurnMax = 5 * millisecond

// disturb adds events that mean nothing.
func (r *Ring) disturb(events []ring.Event) (n int) {
	w := r.world
	if w.chance(r.faults.Wake) {
		events[n] = ring.Event{Kind: ring.Woken, Socket: ring.NoSocket, Data: noData}
		n++
	}
	if len(r.dead) > 0 && w.chance(r.faults.Stale) {
		token := r.dead[w.rng.IntN(len(r.dead))]
		ev := ring.Event{Token: token, Socket: ring.NoSocket, Data: noData}
		switch w.rng.IntN(4) {
		case 0:
			ev.Kind, ev.N = ring.Sent, 1
		case 1:
			ev.Kind, ev.Err = ring.RecvEnded, ring.ErrReset
		case 2:
			ev.Kind, ev.Err = ring.Connected, ring.ErrRefused
		case 3:
			chunk, ok := r.chunk()
			if !ok {
				return n
			}
			junk := copy(r.arena.Bytes(r.arena.Whole(chunk)), "*1\r\n$7\r\nFLUSHDB\r\n")
			ev.Kind, ev.Data = ring.Received, r.arena.Received(chunk, junk)
		}
		w.trace("stale", int64(ev.Kind), int64(token), nil)
		events[n] = ev
		n++
	}
	return n
}

var noData = buf.Slice{Block: buf.NoBlock}

// takeChunks collects the receive chunks that nobody refers to any more.
func (r *Ring) takeChunks() {
	for {
		chunk, ok := r.arena.TakeReturned()
		if !ok {
			break
		}
		r.chunks = append(r.chunks, chunk)
	}
	if len(r.chunks) == 0 {
		return
	}
	for _, s := range r.parked {
		s.waiting = false
		s.mark()
	}
	r.parked = r.parked[:0]
}

// chunk gives out any of the free receive chunks.
func (r *Ring) chunk() (buf.Block, bool) {
	k := len(r.chunks)
	if k == 0 {
		return buf.NoBlock, false
	}
	i := r.world.rng.IntN(k)
	chunk := r.chunks[i]
	r.chunks[i] = r.chunks[k-1]
	r.chunks = r.chunks[:k-1]
	return chunk, true
}

// mark lists a socket that may have an event.
func (s *socket) mark() {
	if !s.queued {
		s.queued = true
		s.ring.ready = append(s.ring.ready, s)
	}
}

// harvest takes events of random sockets until there are none, or no room.
func (r *Ring) harvest(events []ring.Event) (n int) {
	for n < len(events) && len(r.ready) > 0 {
		i := r.world.rng.IntN(len(r.ready))
		s := r.ready[i]
		isOurs := s.ring == r
		if isOurs && s.event(&events[n]) {
			ev := &events[n]
			r.world.trace(eventNames[ev.Kind], int64(ev.Token), int64(ev.N)<<8|int64(ev.Err), r.dataOf(ev))
			n++
			continue
		}
		if isOurs {
			s.queued = false
		}
		last := len(r.ready) - 1
		r.ready[i] = r.ready[last]
		r.ready = r.ready[:last]
	}
	return n
}

var eventNames = [...]string{
	ring.Accepted: "accepted", ring.AcceptEnded: "accept-ended", ring.Connected: "connected", ring.Received: "received",
	ring.RecvEnded: "recv-ended", ring.Sent: "sent", ring.Woken: "woken",
}

func (r *Ring) dataOf(ev *ring.Event) []byte {
	if ev.Kind != ring.Received {
		return nil
	}
	return r.arena.Bytes(ev.Data)
}

// event stores the next event of a socket, if it has one.
func (s *socket) event(ev *ring.Event) bool {
	switch {
	case !s.isOpen(): // closed meanwhile
		return false
	case s.listens:
		return s.acceptEvent(ev)
	case s.connect != nil:
		return s.connectEvent(ev)
	case s.ring.world.chance(0.5):
		return s.sendEvent(ev) || s.recvEvent(ev)
	}
	return s.recvEvent(ev) || s.sendEvent(ev)
}

func (s *socket) acceptEvent(ev *ring.Event) bool {
	r := s.ring
	*ev = ring.Event{Token: s.recvToken, Socket: s.number, Data: noData}
	switch {
	case s.recv != recvIdle && s.accepts == 0:
		if ev.Kind = ring.AcceptEnded; s.recv == recvStopping {
			ev.Err = ring.ErrCanceled
		}
		s.recv = recvIdle
		return true
	case s.recv == recvStopping && (len(s.backlog) == 0 || r.world.chance(0.5)):
		s.recv = recvIdle
		ev.Kind, ev.Err = ring.AcceptEnded, ring.ErrCanceled
		return true
	case s.recv == recvIdle || len(s.backlog) == 0:
		return false
	case r.world.chance(r.faults.Descriptors):
		s.recv = recvIdle
		s.restsSince = r.world.now
		ev.Kind, ev.Err = ring.AcceptEnded, ring.ErrDescriptors
		if r.world.chance(0.5) {
			ev.Err = ring.ErrOther
		}
		return true
	}
	from := s.backlog[0]
	s.backlog = s.backlog[1:]
	s.accepts--
	ev.Kind, ev.Socket = ring.Accepted, r.connected(&socket{handed: true}, from.end, from.addr)
	return true
}

// crumbsMax bounds the bytes of a connection that are moved one by one, and so the time
// that a run takes.
const crumbsMax = 3000

func (r *Ring) connected(s *socket, e *end, peer netip.AddrPort) ring.Socket {
	if s.ring == nil {
		r.open(s)
	}
	s.end, s.peer = e, peer
	if n := r.files.clients(); r.files.clientsMax > 0 && n > r.files.clientsMax {
		r.world.fail("%d clients have a descriptor, %d may", n, r.files.clientsMax)
	}
	if r.world.chance(r.faults.Crumbs) {
		s.crumbsIn, s.crumbsOut = r.world.rng.IntN(crumbsMax), r.world.rng.IntN(crumbsMax)
	}
	e.watch(s.mark, s.mark)
	return s.number
}

func (s *socket) connectEvent(ev *ring.Event) bool {
	c := s.connect
	if !c.over {
		return false
	}
	s.connect = nil
	*ev = ring.Event{Kind: ring.Connected, Err: c.err, Token: c.token, Socket: ring.NoSocket, Data: noData}
	if c.err == ring.ErrNone {
		if e := c.accept(); e != nil {
			ev.Socket = s.ring.connected(s, e, netip.AddrPort{})
			return true
		}
		ev.Err = ring.ErrRefused
	}
	s.ring.network.failed(s.ring, c.addr, s.ring.world.now-c.began)
	s.ring.files.take(s)
	return true
}

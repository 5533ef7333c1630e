package micro

import (
	"net/netip"

	"mithril/src/buf"
	"mithril/src/ring"
)

// turnTime is by how much the clock moves with each turn, in nanoseconds.
const turnTime = 1000

// Ring answers sends at once. Its clients and nodes are only numbers.
type Ring struct {
	arena  *buf.Arena
	now    int64
	events []ring.Event // of the next turn
	nodes  []netip.AddrPort
	owner  []int  // socket -> node, or noNode
	greet  []bool // socket -> the greeting has been answered

	// Reply is what node answers to all that one send has carried.
	Reply func(node int) []byte

	client      ring.Token
	clientReady bool
	Delivered   int // bytes sent to clients
}

const (
	noNode   = -1
	listener = ring.Socket(0)
)

// NewRing makes a ring whose connects lead to nodes.
func NewRing(arena *buf.Arena, nodes []netip.AddrPort) *Ring {
	return &Ring{arena: arena, now: turnTime, nodes: nodes, owner: []int{noNode}, greet: []bool{false}}
}

// Turn carries out ops and hands over what they bring about. It never waits.
func (r *Ring) Turn(ops []ring.Op, _ ring.Wait, events []ring.Event) int {
	r.now += turnTime
	for i := range ops {
		r.do(&ops[i])
	}
	n := copy(events, r.events)
	r.events = r.events[:0]
	return n
}

// Now is a clock of its own.
func (r *Ring) Now() int64 { return r.now }

// CPU moves with the clock, as if the worker never slept.
func (r *Ring) CPU() int64 { return r.now }

// Peer is some local client.
func (r *Ring) Peer(ring.Socket) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 20_000)
}

// Local is the proxy's address.
func (r *Ring) Local(ring.Socket) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 7979)
}

// Left is said of nobody.
func (r *Ring) Left(ring.Socket) bool { return false }

// Wake is not used.
func (r *Ring) Wake() {}

// Bell is not used.
func (r *Ring) Bell() ring.Socket { return ring.NoSocket }

func (r *Ring) do(op *ring.Op) {
	switch op.Kind {
	case ring.OpConnect:
		for i, addr := range r.nodes {
			if addr == op.Addr {
				r.put(ring.Event{Kind: ring.Connected, Token: op.Token, Socket: r.open(i), Data: noData})
			}
		}
	case ring.OpRecv:
		if r.owner[op.Socket] == noNode {
			r.client, r.clientReady = op.Token, true
		}
	case ring.OpSend:
		r.send(op)
	}
}

func (r *Ring) open(owner int) ring.Socket {
	r.owner = append(r.owner, owner)
	r.greet = append(r.greet, false)
	return ring.Socket(len(r.owner) - 1)
}

func (r *Ring) send(op *ring.Op) {
	n := 0
	for _, s := range op.Out {
		n += int(s.Len)
	}
	r.put(ring.Event{Kind: ring.Sent, Token: op.Token, Socket: op.Socket, N: uint32(n), Data: noData})
	node := r.owner[op.Socket]
	if node == noNode {
		r.Delivered += n
		return
	}
	if !r.greet[op.Socket] {
		r.greet[op.Socket] = true
		r.receive(op.Token, op.Socket, greeting)
		return
	}
	r.receive(op.Token, op.Socket, r.Reply(node))
}

var (
	greeting = []byte("+OK\r\n")
	noData   = buf.Slice{Block: buf.NoBlock}
)

func (r *Ring) put(e ring.Event) { r.events = append(r.events, e) }

// receive makes bytes arrive in the next turn, a chunk at a time.
func (r *Ring) receive(token ring.Token, s ring.Socket, bytes []byte) {
	for len(bytes) > 0 {
		chunk, ok := r.arena.TakeReturned()
		if !ok {
			panic("micro: the worker has not given its receive chunks back")
		}
		n := copy(r.arena.Bytes(r.arena.Whole(chunk)), bytes)
		bytes = bytes[n:]
		data := r.arena.Received(chunk, n)
		r.put(ring.Event{Kind: ring.Received, Token: token, Socket: s, N: data.Len, Data: data})
	}
}

// Accept makes a client connect.
func (r *Ring) Accept() {
	r.put(ring.Event{
		Kind: ring.Accepted, Token: ring.MakeToken(ring.KindListener, 0, 0), Socket: r.open(noNode), Data: noData,
	})
}

// Request makes the client's bytes arrive in the next turn.
func (r *Ring) Request(bytes []byte) { r.receive(r.client, ring.Socket(1), bytes) }

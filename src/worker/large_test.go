package worker

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"

	"mithril/src/admin"
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/topology"
)

// ends is a ring with one client and one node, which take everything at once and send what
// the test says. It allocates nothing by itself.
type ends struct {
	arena  *buf.Arena
	now    int64
	events []ring.Event
	token  [nodeEnd + 2]ring.Token // by socket; connections of their own come after the first
	armed  [nodeEnd + 2]bool
	took   [nodeEnd + 2]int // bytes
	opened ring.Socket      // the newest connection to the node
}

const (
	listenerEnd ring.Socket = iota
	clientEnd
	nodeEnd
)

var noData = buf.Slice{Block: buf.NoBlock}

func (e *ends) event(kind ring.EventKind, s ring.Socket, n uint32, data buf.Slice) {
	e.events = append(e.events, ring.Event{Kind: kind, Socket: s, Token: e.token[s], N: n, Data: data})
}

// Turn does everything at once. A turn takes a microsecond.
func (e *ends) Turn(ops []ring.Op, _ ring.Wait, events []ring.Event) int {
	e.now += 1000
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case ring.OpAccept:
			e.token[listenerEnd] = op.Token
		case ring.OpConnect:
			e.opened = max(e.opened+1, nodeEnd)
			e.token[e.opened] = op.Token
			e.event(ring.Connected, e.opened, 0, noData)
		case ring.OpRecv:
			e.token[op.Socket], e.armed[op.Socket] = op.Token, true
		case ring.OpSend:
			n := 0
			for _, s := range op.Out {
				n += int(s.Len)
			}
			e.took[op.Socket] += n
			e.event(ring.Sent, op.Socket, uint32(n), noData)
		case ring.OpRecvStop:
			e.armed[op.Socket] = false
			e.event(ring.RecvEnded, op.Socket, 0, noData)
			e.events[len(e.events)-1].Err = ring.ErrCanceled
		default:
			panic(fmt.Sprintf("an operation of kind %d, which is for ends that are not ready", op.Kind))
		}
	}
	n := copy(events, e.events)
	e.events = append(e.events[:0], e.events[n:]...)
	return n
}

// send makes a far end send something.
func (e *ends) send(s ring.Socket, text []byte) {
	chunk, ok := e.arena.TakeReturned()
	if !ok || !e.armed[s] {
		panic("nothing can be received")
	}
	n := copy(e.arena.Bytes(e.arena.Whole(chunk)), text)
	e.event(ring.Received, s, uint32(n), e.arena.Received(chunk, n))
}

// Now is the time of the turns.
func (e *ends) Now() int64 { return e.now }

// CPU is not used.
func (e *ends) CPU() int64 { return e.now }

// Peer is a local client.
func (e *ends) Peer(ring.Socket) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:1") }

// Local is some address.
func (e *ends) Local(ring.Socket) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:2") }

// Left says that nobody leaves.
func (e *ends) Left(ring.Socket) bool { return false }

// Wake is not used.
func (e *ends) Wake() {}

// Bell is not used.
func (e *ends) Bell() ring.Socket { return ring.NoSocket }

// newEnds is a worker between a client that is connected and a node that owns all slots.
func newEnds(t *testing.T) (*Worker, *ends) {
	arena, err := buf.NewArena(make(buf.HeapMemory, 8<<20), 16)
	if err != nil {
		t.Fatal(err)
	}
	addr := netip.MustParseAddrPort("10.0.0.1:7000")
	slots := &topology.Snapshot{
		Engine: topology.EngineRedis, Version: topology.Version{Major: 7},
		Nodes: []topology.Node{{Addr: addr.String(), Dial: addr}}, Shards: []topology.Shard{{Primary: 0}},
	}
	e := &ends{arena: arena, events: make([]ring.Event, 0, 64)}
	w := New(Options{
		Ring: e, Arena: arena, Listeners: []ring.Socket{listenerEnd}, Shared: &Shared{},
		Log:      slog.New(slog.DiscardHandler),
		Session:  session.Env{Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated},
		Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 7, 0) },
		Lanes:    1, MaxClients: 10, PrivateMax: 10,
		Topology: func() *topology.Snapshot { return slots }, Wish: func() {}, Admin: &admin.Server{},
		Resolve: func([]byte, uint16, netip.AddrPort) (netip.AddrPort, bool) { return addr, true },
	})
	w.Turn()
	e.event(ring.Accepted, listenerEnd, 0, noData)
	e.events[0].Socket = clientEnd
	for !e.armed[clientEnd] {
		w.Turn()
	}
	return w, e
}

// turns is enough for what was sent to reach its end.
func (w *Worker) turns() {
	for range 6 {
		w.Turn()
	}
}

// TestPartsDoNotAllocate is the gate: of large requests and replies, no part allocates.
func TestPartsDoNotAllocate(t *testing.T) {
	const size = 500_000_000
	for _, bytes := range []int{1 << 10, buf.ReceiveChunkBytes} {
		part := make([]byte, bytes)
		t.Run(fmt.Sprintf("reply in parts of %d bytes", bytes), func(t *testing.T) {
			w, e := newEnds(t)
			e.send(clientEnd, resp.AppendCommand(nil, "GET", "k"))
			w.turns()
			e.send(nodeEnd, []byte("*0\r\n"))
			w.turns()
			e.send(nodeEnd, fmt.Appendf(nil, "$%d\r\n", size))
			w.turns()
			passAlong(t, w, e, nodeEnd, clientEnd, part)
		})
		t.Run(fmt.Sprintf("request in parts of %d bytes", bytes), func(t *testing.T) {
			w, e := newEnds(t)
			e.send(clientEnd, fmt.Appendf(nil, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", size))
			for range StreamFrom / 16 / bytes {
				e.send(clientEnd, part)
				w.turns()
			}
			e.send(nodeEnd, []byte("*0\r\n")) // to the greeting
			w.turns()
			e.send(nodeEnd, []byte(":1\r\n")) // to EXISTS
			w.turns()
			e.send(e.opened, []byte("*0\r\n")) // on the request's own connection
			w.turns()
			passAlong(t, w, e, clientEnd, e.opened, part)
		})
	}
}

// passAlong sends parts from one end to the other, and checks that each arrives and that
// none allocates.
func passAlong(t *testing.T, w *Worker, e *ends, from, to ring.Socket, part []byte) {
	t.Helper()
	pass := func() {
		before := e.took[to]
		e.send(from, part)
		if w.turns(); e.took[to] != before+len(part) {
			t.Fatalf("%d bytes arrive of a part of %d", e.took[to]-before, len(part))
		}
	}
	for range 100 {
		pass()
	}
	if n := testing.AllocsPerRun(1000, pass); n != 0 {
		t.Errorf("%v allocations per part", n)
	}
	if n := e.arena.Live(); n > 2 {
		t.Errorf("%d blocks are kept", n)
	}
}

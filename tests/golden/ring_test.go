package golden

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"mithril/src/buf"
	"mithril/src/ring"
)

// scriptRing is a ring.Ring whose far ends the script plays. What the worker does happens at
// once, and is told; time passes only up to the moment that the script has set.
type scriptRing struct {
	arena  *buf.Arena
	now    int64
	until  int64 // the time up to which turns may wait
	start  int64 // of the present directive
	active bool  // the last turn did something
	events []ring.Event
	links  []*link // by socket
	told   []string

	refusing map[netip.AddrPort]bool   // nodes that refuse dials
	stalling map[netip.AddrPort]bool   // nodes that do not answer them
	greeting map[netip.AddrPort]string // of nodes that answer the greeting otherwise
	stalled  []ring.Op                 // dials that are not answered
}

// link is a connection as its far end sees it.
type link struct {
	name    string         // "a" of a client, "n1" of a node
	node    netip.AddrPort // not valid for a client
	token   ring.Token
	armed   bool
	deaf    bool     // the far end takes nothing
	sending *ring.Op // a send that waits for it, nil without one
	arrived []byte   // for the worker, and not received yet
	ended   bool     // the far end has closed,
	broken  bool     // or broken the connection
	over    bool     // the worker knows
	shut    bool     // the worker has closed
}

const listener = ring.Socket(0)

func newRing(a *buf.Arena) *scriptRing {
	start := int64(time.Hour)
	return &scriptRing{
		arena: a, now: start, until: start, start: start, links: []*link{{name: "listener"}},
		refusing: map[netip.AddrPort]bool{}, stalling: map[netip.AddrPort]bool{}, greeting: map[netip.AddrPort]string{},
	}
}

// tell adds a line about what has just happened.
func (r *scriptRing) tell(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if r.now > r.start {
		line = fmt.Sprintf("after %v ", time.Duration(r.now-r.start).Round(100*time.Microsecond)) + line
	}
	r.told = append(r.told, line)
}

// Turn carries out ops. With nothing to do it lets time pass, to the deadline of the worker
// or to the end of what the script allows.
func (r *scriptRing) Turn(ops []ring.Op, wait ring.Wait, events []ring.Event) int {
	for i := range ops {
		r.do(&ops[i])
	}
	for socket, l := range r.links {
		r.receive(ring.Socket(socket), l)
	}
	n := copy(events, r.events)
	r.events = append(r.events[:0], r.events[n:]...)
	r.active = n > 0 || len(ops) > 0
	if at := min(wait.Deadline, r.until); !r.active && at > r.now {
		r.now, r.active = at, true
	}
	return n
}

// Now is the time of the script.
func (r *scriptRing) Now() int64 { return r.now }

// CPU does not move: no script looks for a batch window.
func (r *scriptRing) CPU() int64 { return 0 }

// Peer is some local client.
func (r *scriptRing) Peer(s ring.Socket) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(20_000+s))
}

// Local is the proxy's address.
func (r *scriptRing) Local(ring.Socket) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 7979)
}

// Left says that the far end has closed.
func (r *scriptRing) Left(s ring.Socket) bool { return r.links[s].ended }

// Wake is not used.
func (r *scriptRing) Wake() {}

// Bell is not used.
func (r *scriptRing) Bell() ring.Socket { return ring.NoSocket }

func (r *scriptRing) event(e ring.Event) { r.events = append(r.events, e) }

func (r *scriptRing) do(op *ring.Op) {
	noData := buf.Slice{Block: buf.NoBlock}
	if op.Kind == ring.OpConnect {
		r.connect(op)
		return
	}
	l := r.links[op.Socket]
	switch op.Kind {
	case ring.OpAccept:
		l.token = op.Token
	case ring.OpRecv:
		l.token, l.armed = op.Token, true
	case ring.OpRecvStop:
		if l.armed {
			l.armed = false
			r.event(ring.Event{Kind: ring.RecvEnded, Err: ring.ErrCanceled, Token: op.Token, Socket: op.Socket, Data: noData})
		}
	case ring.OpSend:
		send := *op
		l.sending = &send
		r.goOn(l)
	case ring.OpShutdown:
		r.shut(l)
		if l.sending != nil {
			l.sending = nil
			r.event(ring.Event{Kind: ring.Sent, Err: ring.ErrReset, Token: op.Token, Socket: op.Socket, Data: noData})
		}
		if l.armed {
			l.armed = false
			r.event(ring.Event{Kind: ring.RecvEnded, Err: ring.ErrCanceled, Token: op.Token, Socket: op.Socket, Data: noData})
		}
	case ring.OpClose:
		r.shut(l)
		l.name = "" // nobody has the name any more
	}
}

// goOn carries out a send when its far end takes something.
func (r *scriptRing) goOn(l *link) {
	if l.deaf || l.sending == nil {
		return
	}
	var sent []byte
	for _, s := range l.sending.Out {
		sent = append(sent, r.arena.Bytes(s)...)
	}
	r.event(ring.Event{
		Kind: ring.Sent, Token: l.sending.Token, Socket: l.sending.Socket, N: uint32(len(sent)), Data: buf.Slice{Block: buf.NoBlock},
	})
	l.sending = nil
	r.sent(l, sent)
}

// shut is the worker closing its side.
func (r *scriptRing) shut(l *link) {
	if !l.shut && !l.ended {
		r.tell("%s is closed by the proxy", l.name)
	}
	l.shut = true
}

// sent tells what a far end gets. Nodes answer the greeting by themselves.
func (r *scriptRing) sent(l *link, bytes []byte) {
	if !l.node.IsValid() {
		for _, reply := range ShowReplies(bytes) {
			r.tell("%s gets %s", l.name, reply)
		}
		return
	}
	lines := ShowRequests(bytes)
	for _, request := range lines {
		r.tell("%s gets %s", l.name, request)
	}
	if strings.HasPrefix(lines[0], "HELLO ") {
		l.arrived = append(l.arrived, cmp.Or(r.greeting[l.node], "*0\r\n")...)
	}
}

// connect dials a node.
func (r *scriptRing) connect(op *ring.Op) {
	e := ring.Event{Kind: ring.Connected, Token: op.Token, Socket: ring.NoSocket, Data: buf.Slice{Block: buf.NoBlock}}
	switch {
	case r.stalling[op.Addr]:
		r.tell("%s does not answer a dial", nodeName(op.Addr))
		r.stalled = append(r.stalled, *op)
		return
	case r.refusing[op.Addr]:
		r.tell("%s refuses a dial", nodeName(op.Addr))
		e.Err = ring.ErrRefused
	default:
		e.Socket = r.open(&link{name: r.free(nodeName(op.Addr)), node: op.Addr})
	}
	r.event(e)
}

// answerDials answers the dials that have stalled.
func (r *scriptRing) answerDials() {
	for _, op := range r.stalled {
		r.connect(&op)
	}
	r.stalled = nil
}

// find returns the open link of a name, nil without one.
func (r *scriptRing) find(name string) *link {
	for _, l := range r.links {
		if l.name == name && !l.ended && !l.shut {
			return l
		}
	}
	return nil
}

// free marks a name that is in use already.
func (r *scriptRing) free(name string) string {
	for r.find(name) != nil {
		name += "'"
	}
	return name
}

func (r *scriptRing) open(l *link) ring.Socket {
	r.links = append(r.links, l)
	return ring.Socket(len(r.links) - 1)
}

// accept lets a client connect.
func (r *scriptRing) accept(name string) *link {
	l := &link{name: name}
	r.event(ring.Event{
		Kind: ring.Accepted, Token: r.links[listener].token, Socket: r.open(l), Data: buf.Slice{Block: buf.NoBlock},
	})
	return l
}

// receive hands the worker what has arrived on an armed link.
func (r *scriptRing) receive(socket ring.Socket, l *link) {
	for l.armed && len(l.arrived) > 0 {
		chunk, ok := r.arena.TakeReturned()
		if !ok {
			panic(mistake("the worker has not given its receive chunks back"))
		}
		n := copy(r.arena.Bytes(r.arena.Whole(chunk)), l.arrived)
		l.arrived = l.arrived[n:]
		data := r.arena.Received(chunk, n)
		r.event(ring.Event{Kind: ring.Received, Token: l.token, Socket: socket, N: data.Len, Data: data})
	}
	if l.armed && l.ended && !l.over {
		l.armed, l.over = false, true
		e := ring.Event{Kind: ring.RecvEnded, Token: l.token, Socket: socket, Data: buf.Slice{Block: buf.NoBlock}}
		if l.broken {
			e.Err = ring.ErrReset
		}
		r.event(e)
	}
}

// nodeAddr is where a node is, by the name of nodeName.
func nodeAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7000)
}

// nodeName names a node by the end of its host: n1 is at 10.0.0.1:7000.
func nodeName(addr netip.AddrPort) string {
	name := fmt.Sprintf("n%d", addr.Addr().As4()[3])
	if addr.Port() != 7000 {
		name += fmt.Sprintf(":%d", addr.Port())
	}
	return name
}

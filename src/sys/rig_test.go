package sys

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/buf"
	"mithril/src/ring"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(runChild(child))
	}
	// Every engine blocks a scheduler slot while it waits.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 6))
	os.Exit(m.Run())
}

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// loopback is the address tests listen at, port 0.
var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// rig is an engine under test with its arena, driven like a worker drives it.
type rig struct {
	testing.TB
	Engine
	engine  string
	options rigOptions

	arena  *buf.Arena
	events []ring.Event
	ops    []ring.Op
	got    []ring.Event // events no test step has asked for yet
	turns  int
}

// rigOptions vary the rig.
type rigOptions struct {
	Options
	chunks int // receive chunks; 0 takes 64
	events int // room for events in one turn; 0 takes 64
}

// newRig is a rig of the test's own thread, until the end of the test.
func newRig(t testing.TB, engine string, o rigOptions) *rig {
	t.Helper()
	r, end := openRig(t, engine, o)
	t.Cleanup(end)
	return r
}

// openRig is a rig of the calling thread, until end is called there.
func openRig(t testing.TB, engine string, o rigOptions) (r *rig, end func()) {
	t.Helper()
	if o.chunks == 0 {
		o.chunks = 64
	}
	if o.events == 0 {
		o.events = 64
	}
	region, err := Map(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	arena, err := buf.NewArena(region, o.chunks)
	if err != nil {
		t.Fatal(err)
	}
	r = &rig{TB: t, engine: engine, options: o, arena: arena, events: make([]ring.Event, o.events)}
	runtime.LockOSThread()
	switch engine {
	case EngineUring:
		r.Engine, err = NewUring(arena, region, o.Options)
	case EngineEpoll:
		r.Engine, err = NewEpoll(arena, o.Options)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, func() {
		r.Close()
		runtime.UnlockOSThread()
		region.Unmap()
		if live := arena.Live(); live != 0 && !t.Failed() {
			t.Errorf("%d blocks are referenced at the end", live)
		}
	}
}

// beside runs another engine of the same kind on a thread of its own, which does what serve
// says. join waits for that and closes the other engine.
func (r *rig) beside(serve func(other *rig)) (other *rig, join func()) {
	opened, leave, done := make(chan *rig, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		other, end := openRig(r.TB, r.engine, r.options)
		defer end()
		opened <- other
		serve(other)
		<-leave
	}()
	return hear(r, opened), func() {
		close(leave)
		hear(r, done)
	}
}

// hear waits for word from the thread of another rig.
func hear[T any](t testing.TB, from <-chan T) (word T) {
	t.Helper()
	select {
	case word = <-from:
	case <-time.After(2 * patience):
		t.Fatal("no word from the other engine's thread")
	}
	return word
}

// engines are what the conformance tests run against: every engine, and io_uring
// once more as on a kernel without minimum waits and messages.
var engines = []struct {
	name    string
	engine  string
	options Options
}{
	{"io_uring", EngineUring, Options{}},
	{"io_uring-older", EngineUring, Options{noMinWait: true, noMessage: true}},
	{"epoll", EngineEpoll, Options{}},
}

// conformance runs a test against every engine.
func conformance(t *testing.T, o rigOptions, test func(r *rig)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			with := o
			with.noMinWait, with.noMessage = e.options.noMinWait, e.options.noMessage
			test(newRig(t, e.engine, with))
		})
	}
}

// give hands over an operation with the next turn.
func (r *rig) give(op ring.Op) { r.ops = append(r.ops, op) }

// turn runs one turn and keeps its events in got.
func (r *rig) turn(wait ring.Wait) int {
	n := r.Turn(r.ops, wait, r.events)
	r.turns++
	clear(r.ops)
	r.ops = r.ops[:0]
	r.got = append(r.got, r.events[:n]...)
	return n
}

// in is the Wait that blocks for at most d.
func (r *rig) in(d time.Duration) ring.Wait { return ring.Wait{Deadline: Now() + int64(d)} }

// take removes from got and returns the first event of that kind and token.
func (r *rig) take(kind ring.EventKind, token ring.Token) (ring.Event, bool) {
	for i, e := range r.got {
		if e.Kind == kind && e.Token == token {
			r.got = append(r.got[:i], r.got[i+1:]...)
			return e, true
		}
	}
	return ring.Event{}, false
}

// await turns until an event of that kind and token is there.
func (r *rig) await(kind ring.EventKind, token ring.Token) ring.Event {
	r.Helper()
	limit := time.Now().Add(patience)
	for {
		if e, ok := r.take(kind, token); ok {
			return e
		}
		if time.Now().After(limit) {
			r.Fatalf("no %s for %s within %s; other events: %s", eventName(kind), token, patience, r.describe())
		}
		r.turn(r.in(50 * time.Millisecond))
	}
}

// never turns for a while and fails when an event of that kind and token comes.
func (r *rig) never(kind ring.EventKind, token ring.Token, d time.Duration) {
	r.Helper()
	for end := Now() + int64(d); Now() < end; {
		r.turn(ring.Wait{Deadline: end})
		if e, ok := r.take(kind, token); ok {
			r.Fatalf("an unwanted event: %s", describe(e))
		}
	}
}

// nothingElse fails when events are left that no step has asked for.
func (r *rig) nothingElse() {
	r.Helper()
	r.turn(ring.Wait{})
	if len(r.got) > 0 {
		r.Fatalf("unexpected events: %s", r.describe())
	}
}

// receive turns until n bytes have been received for token and returns them.
func (r *rig) receive(token ring.Token, n int) []byte {
	r.Helper()
	var got []byte
	for len(got) < n {
		got = append(got, r.consume(r.await(ring.Received, token))...)
	}
	return got
}

// consume copies the bytes of a Received event and drops its reference.
func (r *rig) consume(e ring.Event) []byte {
	p := append([]byte(nil), r.arena.Bytes(e.Data)...)
	r.arena.Release(e.Data.Block)
	return p
}

// put is a slice of the arena that holds p.
func (r *rig) put(p []byte) buf.Slice {
	r.Helper()
	s, ok := r.arena.Copy(p)
	if !ok {
		r.Fatal("the arena is used up")
	}
	return s
}

// send sends p, over again where a send was short, until its end.
func (r *rig) send(s ring.Socket, token ring.Token, p []byte) {
	r.Helper()
	slice := r.put(p)
	for rest := slice; rest.Len > 0; {
		r.give(ring.Op{Kind: ring.OpSend, Socket: s, Token: token, Out: []buf.Slice{rest}})
		e := r.await(ring.Sent, token)
		if e.Err != ring.ErrNone {
			r.Fatalf("send of %d bytes: %s", rest.Len, e.Err)
		}
		rest = rest.Sub(e.N, rest.Len-e.N)
	}
	r.arena.Release(slice.Block)
}

// listen opens a listener and arms it.
func (r *rig) listen(addr netip.AddrPort, token ring.Token) (ring.Socket, netip.AddrPort) {
	r.Helper()
	s, err := Listen(addr, ListenOptions{})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { Close(s) })
	r.give(ring.Op{Kind: ring.OpAccept, Socket: s, Token: token})
	r.turn(ring.Wait{})
	return s, LocalAddr(s)
}

// pair is a connection accepted by the engine and its peer.
func (r *rig) pair() (ring.Socket, *net.TCPConn) {
	r.Helper()
	_, addr := r.listen(loopback, listenerToken)
	return r.connectTo(addr)
}

// connectTo dials an armed listener.
func (r *rig) connectTo(addr netip.AddrPort) (ring.Socket, *net.TCPConn) {
	r.Helper()
	peer := dial(r, addr)
	e := r.await(ring.Accepted, listenerToken)
	return e.Socket, peer
}

func dial(t testing.TB, addr netip.AddrPort) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addr))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { conn.Close() })
	return conn
}

// arm gives an OpRecv.
func (r *rig) arm(s ring.Socket, token ring.Token) {
	r.give(ring.Op{Kind: ring.OpRecv, Socket: s, Token: token})
}

// finish closes a connection as a worker does: shutdown, the end of what is armed,
// close. armed says whether an OpRecv is.
func (r *rig) finish(s ring.Socket, token ring.Token, armed bool) {
	r.Helper()
	r.give(ring.Op{Kind: ring.OpShutdown, Socket: s})
	if armed {
		r.await(ring.RecvEnded, token)
	}
	r.give(ring.Op{Kind: ring.OpClose, Socket: s})
	r.turn(ring.Wait{})
}

// replace finishes a connection and accepts another, which gets its number.
func (r *rig) replace(l ring.Socket, addr netip.AddrPort, s ring.Socket, token ring.Token, armed bool) (ring.Socket, *net.TCPConn) {
	r.Helper()
	// The peer's descriptor must not be the one that takes the number.
	r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
	r.await(ring.AcceptEnded, listenerToken)
	peer := dial(r, addr)
	r.finish(s, token, armed)
	r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
	e := r.await(ring.Accepted, listenerToken)
	if e.Socket != s {
		r.Fatalf("socket %d, the freed number is %d", e.Socket, s)
	}
	return s, peer
}

var (
	listenerToken = ring.MakeToken(ring.KindListener, 0, 0)
	sessionToken  = ring.MakeToken(ring.KindSession, 7, 42)
	pipeToken     = ring.MakeToken(ring.KindPipe, ring.GenerationMask, 3)
)

func eventName(k ring.EventKind) string {
	return [...]string{"0", "Accepted", "AcceptEnded", "Connected", "Received", "RecvEnded", "Sent", "Woken"}[k]
}

func describe(e ring.Event) string {
	return fmt.Sprintf("%s token=%s/%d socket=%d n=%d err=%q", eventName(e.Kind), e.Token, e.Token.Generation(), e.Socket, e.N, e.Err)
}

func (r *rig) describe() string {
	var all []string
	for _, e := range r.got {
		all = append(all, describe(e))
	}
	return "[" + strings.Join(all, "; ") + "]"
}

// readAll is everything a peer still gets.
func readAll(t testing.TB, peer *net.TCPConn) []byte {
	t.Helper()
	p, err := io.ReadAll(peer)
	if err != nil {
		t.Fatalf("peer: %s", err)
	}
	return p
}

func readFull(t testing.TB, peer *net.TCPConn, n int) []byte {
	t.Helper()
	p := make([]byte, n)
	if _, err := io.ReadFull(peer, p); err != nil {
		t.Fatalf("peer: %s", err)
	}
	return p
}

func write(t testing.TB, peer *net.TCPConn, p []byte) {
	t.Helper()
	if _, err := peer.Write(p); err != nil {
		t.Fatalf("peer: %s", err)
	}
}

// setInt sets an option of an engine's socket.
func (r *rig) setInt(s ring.Socket, level, option, value int) {
	r.Helper()
	if err := unix.SetsockoptInt(int(s), level, option, value); err != nil {
		r.Fatal(err)
	}
}

func arenaOf(t testing.TB, region *Region, chunks int) *buf.Arena {
	t.Helper()
	arena, err := buf.NewArena(region, chunks)
	if err != nil {
		t.Fatal(err)
	}
	return arena
}

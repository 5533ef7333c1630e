package sys

import (
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

// servant is another engine whose thread does what the test tells it.
type servant struct {
	*rig
	orders chan func()
	done   chan bool
	join   func()
}

func (r *rig) servant() *servant {
	s := &servant{orders: make(chan func(), 1), done: make(chan bool, 1)}
	s.rig, s.join = r.beside(func(*rig) {
		for order := range s.orders {
			order()
			s.done <- true
		}
	})
	return s
}

// do runs an order on the thread of the servant.
func (s *servant) do(order func()) {
	s.Helper()
	s.orders <- order
	hear(s.rig, s.done)
}

func (s *servant) end() {
	close(s.orders)
	s.join()
}

// serve checks that a connection works in an engine.
func (r *rig) serve(s ring.Socket, token ring.Token, peer *net.TCPConn) {
	r.Helper()
	r.arm(s, token)
	write(r, peer, []byte("ask"))
	if got := r.receive(token, 3); string(got) != "ask" {
		r.Fatalf("received %q", got)
	}
	r.send(s, token, []byte("reply"))
	if got := readFull(r, peer, 5); string(got) != "reply" {
		r.Fatalf("the peer got %q", got)
	}
}

// listenWithMax opens a listener from which acceptOne takes connections one by one.
func (r *rig) listenWithMax() (ring.Socket, netip.AddrPort) {
	r.Helper()
	l, err := Listen(loopback, ListenOptions{KeepaliveSecs: 60})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { Close(l) })
	return l, LocalAddr(l)
}

func (r *rig) acceptOne(l ring.Socket) ring.Socket {
	r.Helper()
	r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken, Max: 1})
	s := r.await(ring.Accepted, listenerToken).Socket
	r.await(ring.AcceptEnded, listenerToken)
	return s
}

// A connection that one engine has accepted serves in the engine of another thread, with all
// that was set on it.
func TestAcceptedSocketIsAdopted(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := r.listenWithMax()
		other := r.servant()
		peer := dial(r, addr)
		s := r.acceptOne(l)
		other.do(func() {
			other.serve(s, sessionToken, peer)
			if got, want := other.Peer(s).String(), peer.LocalAddr().String(); got != want {
				other.Errorf("Peer is %s, want %s", got, want)
			}
			if got := other.Local(s); got != addr {
				other.Errorf("Local is %s, want %s", got, addr)
			}
			if other.Left(s) {
				other.Error("the peer is said to have left")
			}
			other.checkOption(s, "TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			other.checkOption(s, "SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
			other.checkOption(s, "TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 60)
			peer.CloseWrite()
			if e := other.await(ring.RecvEnded, sessionToken); e.Err != ring.ErrNone {
				other.Errorf("%s: want the end of the stream", describe(e))
			}
			other.finish(s, sessionToken, false)
			other.nothingElse()
		})
		if rest := readAll(r, peer); len(rest) > 0 {
			r.Errorf("the peer got %q after the reply", rest)
		}
		other.end()
		r.nothingElse() // what happens to it is no concern of the engine that accepted it
	})
}

// The number of an adopted connection may be anybody's next: of a connection that either
// engine makes, or that the first one accepts and keeps or hands on again.
func TestNumberOfAnAdoptedSocketComesBack(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := r.listenWithMax()
		listener, there := server(r, "127.0.0.1:0")
		other := r.servant()
		peer := dial(r, addr)
		s := r.acceptOne(l)
		adopt := func(peer *net.TCPConn, generation uint32) (next *net.TCPConn) {
			token := ring.MakeToken(ring.KindSession, generation, 0)
			other.do(func() { other.serve(s, token, peer) })
			next = dial(r, addr) // or its descriptor would be given the number
			other.do(func() {
				other.finish(s, token, true)
				other.nothingElse()
			})
			return next
		}
		use := func(engine *rig) {
			engine.give(ring.Op{Kind: ring.OpConnect, Addr: there, Token: pipeToken})
			engine.same(engine.await(ring.Connected, pipeToken).Socket, s)
			engine.serve(s, pipeToken, acceptFrom(engine, listener))
			engine.finish(s, pipeToken, true)
		}
		peer = adopt(peer, 1)
		r.same(r.acceptOne(l), s)
		kept := adopt(peer, 2)
		other.do(func() { use(other.rig) })
		use(r)
		r.same(r.acceptOne(l), s)
		r.serve(s, sessionToken, kept)
		peer = dial(r, addr)
		r.finish(s, sessionToken, true)
		r.same(r.acceptOne(l), s)
		adopt(peer, 3)
		r.same(r.acceptOne(l), s)
		other.end()
		r.finish(s, sessionToken, false)
		r.nothingElse()
		if n := r.Counters().Stale + other.Counters().Stale; n != 0 {
			r.Errorf("%d stale completions", n)
		}
	})
}

// same fails if a number is not the one that has become free.
func (r *rig) same(got, want ring.Socket) {
	r.Helper()
	if got != want {
		r.Fatalf("socket %d, the freed number is %d", got, want)
	}
}

// acceptFrom is the far end of a connection that an engine has made.
func acceptFrom(t testing.TB, listener *net.TCPListener) *net.TCPConn {
	t.Helper()
	conn, err := listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// One engine accepts, and hands every connection to another one, whose bell it rings, while
// clients come and go and it makes connections of its own: everybody is served by the engine
// that has his connection, whatever had its number before.
func TestAdoptionWhileNumbersComeBack(t *testing.T) {
	const clients, visits, beyond = 20, 15, 300
	conformance(t, rigOptions{chunks: 256, events: 128}, func(r *rig) {
		// The numbers shall be beyond the records that both engines begin with.
		for range beyond {
			filler, err := unix.Dup(0)
			if err != nil {
				r.Fatal(err)
			}
			defer unix.Close(filler)
		}
		_, addr := r.listen(loopback, listenerToken)
		listener, there := server(r, "127.0.0.1:0")
		handed := make(chan ring.Socket, clients*visits)
		other, join := r.beside(func(other *rig) {
			w := echoWorker{rig: other, handed: handed}
			w.run(clients * visits)
		})
		var crowd sync.WaitGroup
		for i := range uint32(clients) {
			crowd.Go(func() {
				for visit := range uint32(visits) {
					echoPeer(r, addr.String(), i*visits+visit, 2)
				}
			})
		}
		highest := ring.NoSocket
		for accepted := range clients * visits {
			s := r.await(ring.Accepted, listenerToken).Socket
			highest = max(highest, s)
			handed <- s
			r.ring(other)
			if accepted%8 == 0 {
				r.give(ring.Op{Kind: ring.OpConnect, Addr: there, Token: pipeToken})
				own := r.await(ring.Connected, pipeToken).Socket
				r.serve(own, pipeToken, acceptFrom(r, listener))
				r.finish(own, pipeToken, true)
			}
		}
		r.turn(ring.Wait{})
		crowd.Wait()
		join()
		if highest < beyond || highest >= beyond+clients*visits {
			r.Errorf("numbers up to %d: they are low or did not come back", highest)
		}
		if n := r.Counters().Stale + other.Counters().Stale; n != 0 {
			r.Errorf("%d stale completions", n)
		}
	})
}

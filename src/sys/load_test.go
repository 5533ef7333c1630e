package sys

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"mithril/src/buf"
	"mithril/src/ring"
)

// Queues far too short for what is going on: completions are set aside by the
// kernel, operations that ended for that reason go on, nothing is lost.
func TestCompletionQueueOverflows(t *testing.T) {
	const sockets = 100
	for _, e := range engines[:2] {
		t.Run(e.name, func(t *testing.T) {
			o := e.options
			o.submissions, o.completions = 4, 8
			r := newRig(t, e.engine, rigOptions{Options: o, chunks: 256, events: 4})
			peers, finish := gathered(r, sockets)
			got := make([][]byte, sockets)
			for round := range 3 {
				for i, peer := range peers {
					write(r, peer, pattern(2000, uint32(i+round)))
				}
				time.Sleep(5 * time.Millisecond)
				limit := time.Now().Add(patience)
				for done := 0; done < sockets; {
					if r.turn(r.in(50 * time.Millisecond)); time.Now().After(limit) {
						r.Fatalf("round %d: %d of %d sockets served", round, done, sockets)
					}
					for _, e := range r.got {
						if e.Kind != ring.Received {
							r.Fatalf("unexpected event: %s", describe(e))
						}
						i := e.Token.Index()
						got[i] = append(got[i], r.consume(e)...)
						if len(got[i]) == 2000 {
							done++
						}
					}
					r.got = r.got[:0]
				}
				for i := range got {
					if !bytes.Equal(got[i], pattern(2000, uint32(i+round))) {
						r.Errorf("round %d: socket %d got other bytes than were sent", round, i)
					}
					got[i] = got[i][:0]
				}
			}
			if r.Counters().Overflows == 0 {
				t.Error("the completion queue never overflowed: the test shows nothing")
			}
			finish()
			r.nothingElse()
		})
	}
}

// Likewise for a listener with more connections waiting than completions fit.
func TestAcceptOverflows(t *testing.T) {
	const connections = 60
	for _, e := range engines[:2] {
		t.Run(e.name, func(t *testing.T) {
			o := e.options
			o.submissions, o.completions = 4, 8
			r := newRig(t, e.engine, rigOptions{Options: o})
			l, err := Listen(loopback, ListenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer Close(l)
			for round := range 2 {
				for range connections {
					dial(r, LocalAddr(l))
				}
				if round == 0 {
					r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
				}
				for range connections {
					r.finish(r.await(ring.Accepted, listenerToken).Socket, sessionToken, false)
				}
			}
			if r.Counters().Overflows == 0 {
				t.Error("the completion queue never overflowed: the test shows nothing")
			}
			r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
			r.await(ring.AcceptEnded, listenerToken)
			r.nothingElse()
		})
	}
}

// One turn with more operations, and more slices, than a submission queue and its
// scratch memory take: they go out in several parts, in order and unharmed.
func TestTurnLargerThanTheQueue(t *testing.T) {
	const sockets, slices = 80, sendSlicesMax
	conformance(t, rigOptions{Options: Options{submissions: 16, completions: 1024}, events: 256}, func(r *rig) {
		_, addr := r.listen(loopback, listenerToken)
		all := make([]ring.Socket, sockets)
		peers := make([]*net.TCPConn, sockets)
		blocks := make([]buf.Slice, sockets)
		token := func(i int) ring.Token { return ring.MakeToken(ring.KindSession, 0, uint32(i)) }
		for i := range all {
			all[i], peers[i] = r.connectTo(addr)
			blocks[i] = r.put(pattern(slices, uint32(i)))
		}
		for i := range all {
			out := make([]buf.Slice, slices)
			for k := range out {
				out[k] = blocks[i].Sub(uint32(k), 1)
			}
			r.give(ring.Op{Kind: ring.OpSend, Socket: all[i], Token: token(i), Out: out})
			r.arm(all[i], token(i))
		}
		for i := range all {
			if e := r.await(ring.Sent, token(i)); e.N != slices {
				r.Fatalf("%s: want %d bytes sent", describe(e), slices)
			}
			if got := readFull(r, peers[i], slices); !bytes.Equal(got, pattern(slices, uint32(i))) {
				r.Fatalf("peer %d got other bytes than were sent", i)
			}
			r.arena.Release(blocks[i].Block)
		}
		for i := range all {
			r.finish(all[i], token(i), true)
		}
		r.nothingElse()
	})
}

// io_uring goes on with a send until all is out: one event, however slow the peer.
func TestUringSendsAll(t *testing.T) {
	r := newRig(t, EngineUring, rigOptions{})
	s, peer := r.pair()
	fill := r.put(pattern(fillBytes, 1))
	if before := r.fillSocket(s, sessionToken, fill); before != 0 {
		t.Fatalf("a send ended after %d bytes", before)
	}
	go io.Copy(io.Discard, peer)
	if e := r.await(ring.Sent, sessionToken); e.N != fillBytes {
		t.Errorf("%s: want all %d bytes", describe(e), fillBytes)
	}
	r.arena.Release(fill.Block)
	r.finish(s, sessionToken, false)
}

// The records of sends that wait for room are used again.
func TestBlockedSendsAreForgotten(t *testing.T) {
	r := newRig(t, EngineEpoll, rigOptions{})
	s, peer := r.pair()
	for range 5 {
		fill := r.put(pattern(fillBytes, 1))
		before := r.fillSocket(s, sessionToken, fill)
		received := make(chan error)
		go func() {
			_, err := io.ReadFull(peer, make([]byte, before+1))
			received <- err
		}()
		r.await(ring.Sent, sessionToken)
		if err := <-received; err != nil {
			t.Fatal(err)
		}
		r.arena.Release(fill.Block)
	}
	if n := len(r.Engine.(*Epoll).blocked); n != 1 {
		t.Errorf("%d records for one blocked send at a time", n)
	}
	r.finish(s, sessionToken, false)
}

// echo is a session of the echo worker below.
type echo struct {
	socket  ring.Socket
	armed   bool
	waiting []buf.Slice // received, to be sent
	sending []buf.Slice // in flight, or about to be
	busy    bool
	ended   bool
	shut    bool
}

// echoWorker sends back what it receives, by reference, and closes what its peers
// close: the smallest worker there is. It serves what it accepts, and what is handed to
// it before its bell is rung.
type echoWorker struct {
	*rig
	handed   chan ring.Socket
	sessions []*echo
	served   int
	open     int
}

func (w *echoWorker) run(total int) {
	for w.served < total || w.open > 0 {
		n := w.Turn(w.ops, ring.Wait{Deadline: Now() + int64(patience), Min: 16, Window: 200_000}, w.events)
		if n == 0 {
			w.Fatalf("nothing happens with %d of %d served, %d open", w.served, total, w.open)
		}
		w.ops = w.ops[:0]
		for i := range w.events[:n] {
			switch e := &w.events[i]; e.Kind {
			case ring.Accepted:
				w.serve(e.Socket)
			case ring.Woken:
				for n := len(w.handed); n > 0; n-- {
					w.serve(<-w.handed)
				}
			default:
				w.step(w.sessions[e.Token.Index()], e)
			}
		}
	}
	w.turn(ring.Wait{}) // the last ones are closed
}

func (w *echoWorker) serve(s ring.Socket) {
	token := ring.MakeToken(ring.KindSession, 0, uint32(len(w.sessions)))
	w.sessions = append(w.sessions, &echo{socket: s, armed: true})
	w.arm(s, token)
	w.served++
	w.open++
}

func (w *echoWorker) step(s *echo, e *ring.Event) {
	switch e.Kind {
	case ring.Received:
		s.waiting = append(s.waiting, e.Data)
	case ring.RecvEnded:
		s.armed = false
		if e.Err == ring.ErrNoBuffers {
			s.armed = true
			w.arm(s.socket, e.Token)
		} else {
			s.ended = true
		}
	case ring.Sent:
		s.busy = false
		if e.Err != ring.ErrNone {
			w.Fatalf("send: %s", describe(*e))
		}
		for n := e.N; n > 0; {
			first := &s.sending[0]
			if n < first.Len {
				*first = first.Sub(n, first.Len-n)
				break
			}
			n -= first.Len
			w.arena.Release(first.Block)
			s.sending = s.sending[1:]
		}
	}
	if !s.busy && len(s.sending) == 0 {
		s.sending, s.waiting = s.waiting, nil
	}
	if !s.busy && len(s.sending) > 0 {
		s.busy = true
		w.give(ring.Op{Kind: ring.OpSend, Socket: s.socket, Token: e.Token, Out: s.sending})
	}
	if s.ended && !s.busy && !s.armed && !s.shut {
		s.shut = true
		w.open--
		w.give(ring.Op{Kind: ring.OpShutdown, Socket: s.socket})
		w.give(ring.Op{Kind: ring.OpClose, Socket: s.socket})
	}
}

func TestThousandSocketsEcho(t *testing.T) {
	const sockets, rounds = 1000, 4
	conformance(t, rigOptions{chunks: 512, events: 256}, func(r *rig) {
		l, err := Listen(loopback, ListenOptions{Backlog: sockets})
		if err != nil {
			r.Fatal(err)
		}
		defer Close(l)
		addr := LocalAddr(l)
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		var peers sync.WaitGroup
		for i := range uint32(sockets) {
			peers.Go(func() { echoPeer(r, addr.String(), i, rounds) })
		}
		(&echoWorker{rig: r}).run(sockets)
		peers.Wait()
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		r.await(ring.AcceptEnded, listenerToken)
		r.nothingElse()
	})
}

// echoPeer writes random amounts and compares what comes back, byte by byte.
func echoPeer(t testing.TB, addr string, seed uint32, rounds int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(6 * patience))
	random := rand.New(rand.NewPCG(1, uint64(seed)))
	for round := range rounds {
		n := 1 + random.IntN(200)
		if random.IntN(8) == 0 {
			n = 1 + random.IntN(100_000)
		}
		want := pattern(n, seed*7+uint32(round))
		if _, err := conn.Write(want); err != nil {
			t.Error(err)
			return
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("peer %d, round %d: %d bytes came back otherwise (%v)", seed, round, n, err)
			return
		}
	}
	conn.(*net.TCPConn).CloseWrite()
	if rest, err := io.ReadAll(conn); len(rest) > 0 || err != nil {
		t.Errorf("peer %d: %d more bytes at the end (%v)", seed, len(rest), err)
	}
}

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
// close: the smallest worker there is.
type echoWorker struct {
	*rig
	sessions []*echo
	open     int
}

func (w *echoWorker) run(total int) {
	for served := 0; served < total || w.open > 0; {
		n := w.Turn(w.ops, ring.Wait{Deadline: Now() + int64(patience), Min: 16, Window: 200_000}, w.events)
		if n == 0 {
			w.Fatalf("nothing happens with %d of %d served, %d open", served, total, w.open)
		}
		w.ops = w.ops[:0]
		for i := range w.events[:n] {
			if e := &w.events[i]; e.Kind == ring.Accepted {
				token := ring.MakeToken(ring.KindSession, 0, uint32(len(w.sessions)))
				w.sessions = append(w.sessions, &echo{socket: e.Socket, armed: true})
				w.arm(e.Socket, token)
				served++
				w.open++
			} else {
				w.step(w.sessions[e.Token.Index()], e)
			}
		}
	}
	w.turn(ring.Wait{}) // the last ones are closed
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

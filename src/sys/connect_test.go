package sys

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

// server is an ordinary listener of the net package, plain TCP.
func server(t testing.TB, addr string) (*net.TCPListener, netip.AddrPort) {
	t.Helper()
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener), l.Addr().(*net.TCPAddr).AddrPort()
}

func TestConnect(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		conformance(t, rigOptions{Options: Options{KeepaliveSecs: 90, ConnectTimeoutMs: 3000}}, func(r *rig) {
			l, addr := server(r, listen)
			r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: addr})
			e := r.await(ring.Connected, pipeToken)
			if e.Err != ring.ErrNone || e.Socket < 0 {
				r.Fatal(describe(e))
			}
			s := e.Socket
			conn, err := l.AcceptTCP()
			if err != nil {
				r.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(patience))
			if got, want := LocalAddr(s).String(), conn.RemoteAddr().String(); got != want {
				r.Errorf("connected from %s, the server sees %s", got, want)
			}
			r.checkOption(s, "TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
			r.checkOption(s, "SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
			r.checkOption(s, "TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 90)
			r.checkOption(s, "TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 30)
			r.checkOption(s, "TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3)
			r.checkOption(s, "TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 0)

			r.arm(s, pipeToken)
			r.send(s, pipeToken, []byte("PING"))
			if got := readFull(r, conn, 4); string(got) != "PING" {
				r.Errorf("the server got %q", got)
			}
			write(r, conn, []byte("+PONG"))
			if got := r.receive(pipeToken, 5); string(got) != "+PONG" {
				r.Errorf("received %q", got)
			}
			r.finish(s, pipeToken, true)
			r.nothingElse()
		})
	}
}

func (r *rig) checkOption(s ring.Socket, what string, level, option, want int) {
	r.Helper()
	got, err := unix.GetsockoptInt(int(s), level, option)
	if err != nil {
		r.Fatalf("%s: %s", what, err)
	}
	if option == unix.SO_KEEPALIVE || option == unix.TCP_NODELAY {
		got = min(got, 1)
	}
	if got != want {
		r.Errorf("%s is %d, want %d", what, got, want)
	}
}

func TestConnectRefused(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, addr := server(r, "127.0.0.1:0")
		l.Close()
		before := openDescriptors(r)
		for range 3 {
			r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: addr})
			if e := r.await(ring.Connected, pipeToken); e.Err != ring.ErrRefused || e.Socket != ring.NoSocket {
				r.Fatalf("%s: want a refusal and no socket", describe(e))
			}
		}
		if after := openDescriptors(r); after != before {
			r.Errorf("%d descriptors are open, %d before", after, before)
		}
		r.nothingElse()
	})
}

func TestConnectToNowhere(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		// The test network of RFC 3849, with a zone that names no interface.
		addr := netip.AddrPortFrom(netip.MustParseAddr("fe80::1%no-such-device"), 1)
		r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: addr})
		if e := r.await(ring.Connected, pipeToken); e.Err != ring.ErrUnreachable || e.Socket != ring.NoSocket {
			r.Fatalf("%s: want it unreachable", describe(e))
		}
		r.nothingElse()
	})
}

// A peer that does not answer: its queue of connections is full, so that it drops
// what asks for another.
func TestConnectTimesOut(t *testing.T) {
	conformance(t, rigOptions{Options: Options{ConnectTimeoutMs: 700}}, func(r *rig) {
		l, err := Listen(loopback, ListenOptions{Backlog: 1})
		if err != nil {
			r.Fatal(err)
		}
		defer Close(l)
		addr := LocalAddr(l)
		for range 2 { // a backlog of 1 takes two
			dial(r, addr)
		}
		start := time.Now()
		r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: addr})
		if e := r.await(ring.Connected, pipeToken); e.Err != ring.ErrTimedOut || e.Socket != ring.NoSocket {
			r.Fatalf("%s: want a time-out", describe(e))
		}
		if took := time.Since(start); took < 600*time.Millisecond || took > 3*time.Second {
			r.Errorf("timed out after %s, asked for 700 ms", took)
		}
		r.nothingElse()
	})
}

// Closing the engine closes the sockets that are still connecting: nobody else
// knows them.
func TestCloseWhileConnecting(t *testing.T) {
	for _, e := range engines {
		l, err := Listen(loopback, ListenOptions{Backlog: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer Close(l)
		for range 2 {
			dial(t, LocalAddr(l))
		}
		before := openDescriptors(t)
		t.Run(e.name, func(t *testing.T) {
			r := newRig(t, e.engine, rigOptions{Options: e.options})
			r.give(ring.Op{Kind: ring.OpConnect, Token: pipeToken, Addr: LocalAddr(l)})
			r.turn(ring.Wait{})
		})
		if after := openDescriptors(t); after != before {
			t.Errorf("%s: %d descriptors are open, %d before", e.name, after, before)
		}
	}
}

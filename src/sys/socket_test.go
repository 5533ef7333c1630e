package sys

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

// Linux hands the options of a listener on to what it accepts: nothing is set per
// connection.
func TestAcceptedSocketsInheritOptions(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		l, err := Listen(loopback, ListenOptions{KeepaliveSecs: 60})
		if err != nil {
			r.Fatal(err)
		}
		defer Close(l)
		r.give(ring.Op{Kind: ring.OpAccept, Socket: l, Token: listenerToken})
		dial(r, LocalAddr(l))
		s := r.await(ring.Accepted, listenerToken).Socket
		r.checkOption(s, "TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		r.checkOption(s, "SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
		r.checkOption(s, "TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 60)
		r.checkOption(s, "TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 20)
		r.checkOption(s, "TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3)
		flags, err := unix.FcntlInt(uintptr(s), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			r.Errorf("the accepted socket survives exec (flags %#x, %v)", flags, err)
		}
		r.finish(s, sessionToken, false)
		r.give(ring.Op{Kind: ring.OpAcceptStop, Socket: l})
		r.await(ring.AcceptEnded, listenerToken)
	})
}

func TestListenOnATakenAddress(t *testing.T) {
	first, err := Listen(loopback, ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer Close(first)
	addr := LocalAddr(first)
	before := openDescriptors(t)
	_, err = Listen(addr, ListenOptions{})
	want := "cannot listen on " + addr.String() + ": bind: address already in use"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

// A listener on :: leaves IPv4 to another one.
func TestListenIPv6Only(t *testing.T) {
	six, err := Listen(netip.MustParseAddrPort("[::]:0"), ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer Close(six)
	four, err := Listen(netip.AddrPortFrom(netip.IPv4Unspecified(), LocalAddr(six).Port()), ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Close(four)
}

func TestListenOnAForeignAddress(t *testing.T) {
	// 192.0.2.0/24 is for documentation, RFC 5737: no machine has it.
	_, err := Listen(netip.MustParseAddrPort("192.0.2.1:7979"), ListenOptions{})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot listen on 192.0.2.1:7979: bind: cannot assign") {
		t.Errorf("error %v", err)
	}
}

func TestSockaddrRoundTrip(t *testing.T) {
	for _, text := range []string{"1.2.3.4:5", "[::1]:65535", "[2001:db8::7]:80", "[fe80::1%1]:7979"} {
		want := netip.MustParseAddrPort(text)
		var a sockaddr
		if err := a.encode(want); err != nil {
			t.Fatal(err)
		}
		if got := a.decode(); got != want {
			t.Errorf("%s comes back as %s", want, got)
		}
	}
	var a sockaddr
	if err := a.encode(netip.MustParseAddrPort("[::ffff:1.2.3.4]:5")); err != nil || a.decode().String() != "1.2.3.4:5" {
		t.Errorf("a mapped address becomes %s (%v)", a.decode(), err)
	}
	if err := a.encode(netip.MustParseAddrPort("[fe80::1%lo]:5")); err != nil || a.decode().Addr().Zone() != "1" {
		t.Errorf("the zone lo becomes %s (%v)", a.decode(), err)
	}
}

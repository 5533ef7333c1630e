package sys

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"mithril/src/ring"
)

const (
	// Backlog is how many connections wait to be accepted at a listener, at most, unless
	// options say otherwise; the system caps it at net.core.somaxconn.
	Backlog = 511

	// keepaliveProbes unanswered probes end a connection, a third of the idle time
	// apart, as Redis does.
	keepaliveProbes = 3
)

// ListenOptions are the properties of a listener.
type ListenOptions struct {
	Backlog       int // connections waiting to be accepted; 0 takes the default, 511
	KeepaliveSecs int // idle seconds before keepalive probes; 0 sends none
}

// Listen opens a TCP listener for an engine's OpAccept. Accepted connections
// inherit TCP_NODELAY and keepalive from it.
func Listen(addr netip.AddrPort, o ListenOptions) (ring.Socket, error) {
	fail := func(what string, err error) (ring.Socket, error) {
		return ring.NoSocket, fmt.Errorf("cannot listen on %s: %s: %w", addr, what, err)
	}
	family := familyOf(addr.Addr())
	// Linux makes plain TCP of IPPROTO_TCP; multipath TCP sockets, which the net
	// package listens with, do not work with a ring.
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return fail("socket", err)
	}
	keep := false
	defer func() {
		if !keep {
			unix.Close(fd)
		}
	}()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return fail("SO_REUSEADDR", err)
	}
	if family == unix.AF_INET6 {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
			return fail("IPV6_V6ONLY", err)
		}
	}
	if err := setStreamOptions(fd, o.KeepaliveSecs); err != nil {
		return fail("socket options", err)
	}
	var name sockaddr
	if err := name.encode(addr); err != nil {
		return fail("address", err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&name)), uintptr(name.length())); errno != 0 {
		return fail("bind", errno)
	}
	backlog := o.Backlog
	if backlog <= 0 {
		backlog = Backlog
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return fail("listen", err)
	}
	keep = true
	return ring.Socket(fd), nil
}

// LocalAddr is the address a socket is bound to, which tells the port when Listen
// was given port 0.
func LocalAddr(s ring.Socket) netip.AddrPort {
	return addressOf(unix.SYS_GETSOCKNAME, s)
}

// Close closes a socket that no engine has an operation on.
func Close(s ring.Socket) { unix.Close(int(s)) }

func peerAddr(s ring.Socket) netip.AddrPort {
	return addressOf(unix.SYS_GETPEERNAME, s)
}

// peerLeft says that a connection's peer has closed its sending side, or that the
// connection is broken.
func peerLeft(s ring.Socket) bool {
	poll := unix.PollFd{Fd: int32(s), Events: unix.POLLRDHUP}
	now := unix.Timespec{}
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return errno == 0 && n == 1
}

func addressOf(call uintptr, s ring.Socket) netip.AddrPort {
	var name sockaddr
	length := uint32(unsafe.Sizeof(name))
	_, _, errno := unix.RawSyscall(call, uintptr(s), uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&length)))
	if errno != 0 {
		return netip.AddrPort{}
	}
	return name.decode()
}

func familyOf(addr netip.Addr) int {
	if addr.Unmap().Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// setStreamOptions sets what every TCP socket of ours has.
func setStreamOptions(fd int, keepaliveSecs int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	if keepaliveSecs <= 0 {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepaliveSecs); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(keepaliveSecs/3, 1)); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepaliveProbes)
}

// openStream opens a socket that an engine is about to connect. flags are those of
// socket(2) beyond SOCK_CLOEXEC.
func openStream(addr netip.Addr, flags int, o *Options) (int, unix.Errno) {
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(familyOf(addr)), uintptr(unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags), unix.IPPROTO_TCP)
	if errno != 0 {
		return -1, errno
	}
	err := setStreamOptions(int(fd), o.KeepaliveSecs)
	if err == nil && o.ConnectTimeoutMs > 0 {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, o.ConnectTimeoutMs)
	}
	if err != nil {
		unix.Close(int(fd))
		errno, _ := err.(unix.Errno)
		return -1, errno
	}
	return int(fd), 0
}

// connectSettled undoes the time limit that was meant for connecting only: on an
// established connection it would bound how long sent bytes may stay unacknowledged.
func connectSettled(fd int, o *Options) {
	if o.ConnectTimeoutMs > 0 {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 0)
	}
}

// setNonblock sets or clears O_NONBLOCK. The io_uring of some kernels completes an
// operation on a nonblocking socket with EAGAIN instead of waiting; accepting behind
// epoll needs the opposite, since a connection may be gone when it is taken.
func setNonblock(s ring.Socket, on bool) { _ = unix.SetNonblock(int(s), on) }

// sockaddr is struct sockaddr_in or sockaddr_in6 as the kernel reads it.
type sockaddr struct {
	family uint16 // host byte order
	port   [2]byte
	rest   [24]byte // in: 4 bytes of address; in6: 4 of flow, 16 of address, 4 of scope
}

func (a *sockaddr) length() int {
	if a.family == unix.AF_INET {
		return unix.SizeofSockaddrInet4
	}
	return unix.SizeofSockaddrInet6
}

func (a *sockaddr) encode(addr netip.AddrPort) error {
	*a = sockaddr{family: uint16(familyOf(addr.Addr()))}
	binary.BigEndian.PutUint16(a.port[:], addr.Port())
	if a.family == unix.AF_INET {
		ip := addr.Addr().Unmap().As4()
		copy(a.rest[:4], ip[:])
		return nil
	}
	ip := addr.Addr().As16()
	copy(a.rest[4:20], ip[:])
	zone := addr.Addr().Zone()
	if zone == "" {
		return nil
	}
	scope, err := strconv.Atoi(zone)
	if err != nil {
		device, err := net.InterfaceByName(zone)
		if err != nil {
			return fmt.Errorf("no network interface %q", zone)
		}
		scope = device.Index
	}
	binary.NativeEndian.PutUint32(a.rest[20:], uint32(scope))
	return nil
}

func (a *sockaddr) decode() netip.AddrPort {
	port := binary.BigEndian.Uint16(a.port[:])
	switch a.family {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a.rest[:4])), port)
	case unix.AF_INET6:
		ip := netip.AddrFrom16([16]byte(a.rest[4:20]))
		if scope := binary.NativeEndian.Uint32(a.rest[20:]); scope != 0 {
			ip = ip.WithZone(strconv.Itoa(int(scope)))
		}
		return netip.AddrPortFrom(ip, port)
	}
	return netip.AddrPort{}
}

package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Of sock_diag(7), <linux/sock_diag.h>, <linux/inet_diag.h> and include/net/tcp_states.h.
const (
	netlinkSockDiag  = 4
	sockDiagByFamily = 20
	diagRequestLen   = syscall.NLMSG_HDRLEN + 56
	diagReplyLen     = 72
	diagNoCookie     = 0xffffffff
	diagAnyState     = 0xffffffff
	diagKeepalive    = 2 // of idiag_timer

	tcpEstablished = 1
	tcpTimeWait    = 6
	tcpCloseWait   = 8
)

// Socket is what the kernel tells of a TCP socket over IPv4.
type Socket struct {
	Local, Remote netip.AddrPort
	Keepalive     bool          // the keepalive timer runs
	Timer         time.Duration // until the timer ends

	state  uint8
	unread uint32 // bytes that its process has yet to read
	inode  uint32 // of the process's descriptor
}

// tcpSockets are those in certain states, and with certain ports unless these are 0. Of
// /proc/net/tcp the kernel writes every line, with thousands in TIME_WAIT.
func tcpSockets(states uint32, localPort, remotePort int) (list []Socket, err error) {
	any4 := netip.IPv4Unspecified()
	request := diagRequest(syscall.NLM_F_DUMP, states, netip.AddrPortFrom(any4, uint16(localPort)), netip.AddrPortFrom(any4, uint16(remotePort)))
	err = askDiag(request, func(s Socket) { list = append(list, s) })
	return list, err
}

// unreadBytes asks the kernel how many bytes the process at the other end of a loopback
// connection has not read yet. To look one socket up costs microseconds.
func unreadBytes(conn net.Conn) (n uint32, err error) {
	local, ok := conn.RemoteAddr().(*net.TCPAddr)
	remote, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok || !ok2 || local.IP.To4() == nil {
		return 0, fmt.Errorf("%v is no TCP connection over IPv4", conn.RemoteAddr())
	}
	unmapped := func(a *net.TCPAddr) netip.AddrPort {
		return netip.AddrPortFrom(a.AddrPort().Addr().Unmap(), uint16(a.Port))
	}
	err = askDiag(diagRequest(0, diagAnyState, unmapped(local), unmapped(remote)), func(s Socket) { n = s.unread })
	if errors.Is(err, syscall.ENOENT) {
		err = nil // closed, which the caller sees when it writes
	}
	return n, err
}

// diagRequest asks for the one socket with these addresses, or with the flag NLM_F_DUMP for all
// with these ports.
func diagRequest(flags uint16, states uint32, local, remote netip.AddrPort) []byte {
	native, network := binary.NativeEndian, binary.BigEndian
	b := native.AppendUint32(nil, diagRequestLen)
	b = native.AppendUint16(b, sockDiagByFamily)
	b = native.AppendUint16(b, syscall.NLM_F_REQUEST|flags)
	b = native.AppendUint64(b, 0) // sequence and port id
	b = append(b, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, states)
	b = network.AppendUint16(b, local.Port())
	b = network.AppendUint16(b, remote.Port())
	b = append(append(b, local.Addr().AsSlice()...), make([]byte, 12)...)
	b = append(append(b, remote.Addr().AsSlice()...), make([]byte, 12)...)
	b = native.AppendUint32(b, 0) // any interface
	b = native.AppendUint32(b, diagNoCookie)
	return native.AppendUint32(b, diagNoCookie)
}

// askDiag sends a request and calls found for every socket in the answer.
func askDiag(request []byte, found func(Socket)) error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return fmt.Errorf("sock_diag: %w", err)
	}
	defer syscall.Close(fd)
	if err := syscall.Sendto(fd, request, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return fmt.Errorf("sock_diag: %w", err)
	}
	reply := make([]byte, 64<<10)
	for {
		n, _, err := syscall.Recvfrom(fd, reply, 0)
		if err != nil {
			return fmt.Errorf("sock_diag: %w", err)
		}
		messages, err := syscall.ParseNetlinkMessage(reply[:n])
		if err != nil {
			return fmt.Errorf("sock_diag: %w", err)
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == syscall.NLMSG_DONE:
				return nil
			case m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4:
				return fmt.Errorf("sock_diag: %w", syscall.Errno(-int32(binary.NativeEndian.Uint32(m.Data))))
			case m.Header.Type != sockDiagByFamily || len(m.Data) < diagReplyLen:
				return fmt.Errorf("sock_diag: unexpected message %d of %d bytes", m.Header.Type, len(m.Data))
			}
			found(readDiag(m.Data))
			if m.Header.Flags&syscall.NLM_F_MULTI == 0 {
				return nil
			}
		}
	}
}

// readDiag reads a struct inet_diag_msg.
func readDiag(b []byte) Socket {
	native, network := binary.NativeEndian, binary.BigEndian
	addr := func(at int) netip.Addr { return netip.AddrFrom4([4]byte(b[at:])) }
	return Socket{
		Local: netip.AddrPortFrom(addr(8), network.Uint16(b[4:])), Remote: netip.AddrPortFrom(addr(24), network.Uint16(b[6:])),
		Keepalive: b[2] == diagKeepalive, Timer: time.Duration(native.Uint32(b[52:])) * time.Millisecond,
		state: b[1], unread: native.Uint32(b[56:]), inode: native.Uint32(b[68:]),
	}
}

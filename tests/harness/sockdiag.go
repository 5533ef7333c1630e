package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Of sock_diag(7), <linux/sock_diag.h> and <linux/inet_diag.h>.
const (
	netlinkSockDiag   = 4
	sockDiagByFamily  = 20
	diagHeaderLen     = syscall.NLMSG_HDRLEN
	diagRequestLen    = diagHeaderLen + 56
	diagNoCookie      = 0xffffffff
	diagReceiveQueue  = diagHeaderLen + 4 + 48 + 4 // idiag_rqueue
	diagErrorNumber   = diagHeaderLen
	diagReplyLenLeast = diagReceiveQueue + 4
)

// unreadBytes asks the kernel how many bytes the process at the other end of a loopback
// connection has not read yet. A look-up of one socket costs microseconds; /proc/net/tcp
// walks all of them.
func unreadBytes(conn net.Conn) (uint32, error) {
	local, ok := conn.RemoteAddr().(*net.TCPAddr)
	remote, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok || !ok2 || local.IP.To4() == nil {
		return 0, fmt.Errorf("%v is no TCP connection over IPv4", conn.RemoteAddr())
	}
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	defer syscall.Close(fd)
	request := diagRequest(local, remote)
	if err := syscall.Sendto(fd, request, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	reply := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, reply, 0)
	if err != nil {
		return 0, fmt.Errorf("sock_diag: %w", err)
	}
	kind := binary.NativeEndian.Uint16(reply[4:])
	switch {
	case kind == syscall.NLMSG_ERROR && n >= diagErrorNumber+4:
		errno := syscall.Errno(-int32(binary.NativeEndian.Uint32(reply[diagErrorNumber:])))
		if errors.Is(errno, syscall.ENOENT) {
			return 0, nil // closed, which the caller sees when it writes
		}
		return 0, fmt.Errorf("sock_diag: %w", errno)
	case kind != sockDiagByFamily || n < diagReplyLenLeast:
		return 0, fmt.Errorf("sock_diag: unexpected message %d of %d bytes", kind, n)
	}
	return binary.NativeEndian.Uint32(reply[diagReceiveQueue:]), nil
}

// diagRequest asks for the one socket with these addresses.
func diagRequest(local, remote *net.TCPAddr) []byte {
	native, network := binary.NativeEndian, binary.BigEndian
	b := native.AppendUint32(nil, diagRequestLen)
	b = native.AppendUint16(b, sockDiagByFamily)
	b = native.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = native.AppendUint64(b, 0) // sequence and port id
	b = append(b, syscall.AF_INET, syscall.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, 0xffffffff) // in any state
	b = network.AppendUint16(b, uint16(local.Port))
	b = network.AppendUint16(b, uint16(remote.Port))
	b = append(append(b, local.IP.To4()...), make([]byte, 12)...)
	b = append(append(b, remote.IP.To4()...), make([]byte, 12)...)
	b = native.AppendUint32(b, 0) // any interface
	b = native.AppendUint32(b, diagNoCookie)
	return native.AppendUint32(b, diagNoCookie)
}

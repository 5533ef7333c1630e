package harness

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// Sockets are the TCP connections over IPv4 that the proxy has.
func (p *Proxy) Sockets() (list []Socket, err error) {
	owned := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			owned[target] = true
		}
	}
	all, err := tcpSockets(1<<tcpEstablished, 0, 0)
	for _, s := range all {
		if owned[fmt.Sprintf("socket:[%d]", s.inode)] {
			list = append(list, s)
		}
	}
	return list, err
}

// TimeWaits counts the connections to a port whose end without that port is in TIME_WAIT: it has
// closed first, and its own port stays in use for a minute.
func TimeWaits(port int) (n int, err error) {
	all, err := tcpSockets(1<<tcpTimeWait, 0, port)
	return len(all), err
}

// UnreadAt is how many bytes the process with a port has yet to read from its connections there.
func UnreadAt(port int) (n int, err error) {
	all, err := tcpSockets(1<<tcpEstablished, port, 0)
	for _, s := range all {
		n += int(s.unread)
	}
	return n, err
}

// openSockets counts the connections to a loopback port that its process has not closed:
// those whose client is there, and those whose client has gone.
func openSockets(port int) (established, closeWait int, err error) {
	all, err := tcpSockets(1<<tcpEstablished|1<<tcpCloseWait, port, 0)
	for _, s := range all {
		switch {
		case s.Local.Addr() != netip.AddrFrom4([4]byte{127, 0, 0, 1}):
		case s.state == tcpEstablished:
			established++
		case s.state == tcpCloseWait:
			closeWait++
		}
	}
	return established, closeWait, err
}

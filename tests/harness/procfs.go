package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procStatus returns a field of /proc/PID/status (proc(5)) in its unit, such as the kB
// of VmRSS.
func procStatus(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name == field {
			return strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no field %s", pid, field)
}

// procDescriptors counts the open files of a process.
func procDescriptors(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries), err
}

// Socket states as /proc/net/tcp has them (include/net/tcp_states.h).
const (
	tcpEstablished = "01"
	tcpTimeWait    = "06"
	tcpCloseWait   = "08"
)

// Socket is a line of /proc/net/tcp (proc(5), the kernel's
// Documentation/networking/proc_net_tcp.rst).
type Socket struct {
	LocalPort, RemotePort int
	Keepalive             bool  // the keepalive timer runs
	TimerTicks            int64 // until the timer ends, in hundredths of a second

	state string
	local string // address and port in hexadecimal
	inode string // of the process's descriptor
}

// tcpSockets are all TCP sockets over IPv4.
func tcpSockets() (list []Socket, err error) {
	const keepaliveTimer = "02"
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[0] == "sl" {
			continue
		}
		timer, ticks, _ := strings.Cut(fields[5], ":")
		s := Socket{
			LocalPort: portOf(fields[1]), RemotePort: portOf(fields[2]), Keepalive: timer == keepaliveTimer,
			state: fields[3], local: fields[1], inode: fields[9],
		}
		if s.TimerTicks, err = strconv.ParseInt(ticks, 16, 64); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func portOf(addr string) int {
	_, text, _ := strings.Cut(addr, ":")
	port, _ := strconv.ParseInt(text, 16, 32)
	return int(port)
}

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
	all, err := tcpSockets()
	for _, s := range all {
		if s.state == tcpEstablished && owned["socket:["+s.inode+"]"] {
			list = append(list, s)
		}
	}
	return list, err
}

// TimeWaits counts the connections to a port whose end without that port is in TIME_WAIT: it has
// closed first, and its own port stays in use for a minute.
func TimeWaits(port int) (n int, err error) {
	all, err := tcpSockets()
	for _, s := range all {
		if s.state == tcpTimeWait && s.RemotePort == port {
			n++
		}
	}
	return n, err
}

// openSockets counts the connections to a loopback port that its process has not closed:
// those whose client is there, and those whose client has gone.
func openSockets(port int) (established, closeWait int, err error) {
	all, err := tcpSockets()
	local := fmt.Sprintf("0100007F:%04X", port)
	for _, s := range all {
		switch {
		case s.local != local:
		case s.state == tcpEstablished:
			established++
		case s.state == tcpCloseWait:
			closeWait++
		}
	}
	return established, closeWait, err
}

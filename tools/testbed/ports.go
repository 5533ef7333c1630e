package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// BusOffset is the distance from a node's client port to its cluster bus
// port (Redis cluster specification).
const BusOffset = 10000

// Free ports are handed out in blocks. Client ports start at portFirst, bus
// ports end below 32768, where Linux begins to hand out ports to outgoing
// connections, and the two ranges do not meet.
const (
	portFirst  = 11000
	portBlock  = 16
	portBlocks = 624 // portFirst + 624*16 = 20984 <= portFirst + BusOffset
)

// Ports is a range of client ports that were free, together with their bus
// ports, when it was taken, and that no other process takes by FreePorts.
type Ports struct {
	Base int // first port
	N    int // how many follow each other
	held net.Listener
}

// Release lets others take the range.
func (p Ports) Release() {
	if p.held != nil {
		p.held.Close()
	}
}

// FreePorts takes n consecutive ports, n at most 16, for as long as the
// process lives or until Release. Processes that run at the same time get
// different ranges, since each holds a name for its block: an abstract unix
// socket (unix(7)), which ends with its process, leaves no file behind, and is
// known in just the network namespace whose ports it stands for.
func FreePorts(n int) (Ports, error) {
	if n < 1 || n > portBlock {
		return Ports{}, fmt.Errorf("free ports come in ranges of 1 to %d, not %d", portBlock, n)
	}
	// Neighbouring process ids start far apart, so they seldom meet.
	start := os.Getpid() * 89 % portBlocks
	for i := range portBlocks {
		base := portFirst + (start+i)%portBlocks*portBlock
		held, err := hold(base)
		if err != nil {
			return Ports{}, err
		}
		if held == nil {
			continue
		}
		if portsAreFree(base, n) {
			return Ports{Base: base, N: n, held: held}, nil
		}
		held.Close()
	}
	return Ports{}, fmt.Errorf("no free range of %d ports in %d..%d", n, portFirst, portFirst+portBlocks*portBlock-1)
}

// hold takes the name of the block that starts at base. It is nil if another holds it.
func hold(base int) (net.Listener, error) {
	held, err := net.Listen("unix", fmt.Sprintf("@mithril-ports-%d", base))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, nil
	}
	return held, err
}

func portsAreFree(base, n int) bool {
	for port := base; port < base+n; port++ {
		if !portIsFree(port) || !portIsFree(port+BusOffset) {
			return false
		}
	}
	return true
}

// checkPorts names the first port that cannot be listened on.
func checkPorts(ports ...int) error {
	for _, port := range ports {
		if !portIsFree(port) {
			return fmt.Errorf("port %d is in use by another process", port)
		}
	}
	return nil
}

// portIsFree listens on the port for a moment. ForkLock keeps a child that is
// forked in that moment from holding the listener until it executes.
func portIsFree(port int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	listener, err := config.Listen(context.Background(), "tcp4", loopback(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

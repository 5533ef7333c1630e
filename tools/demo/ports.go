package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"mithril/tools/testbed"
)

const (
	nodeCount = 6
	portMax   = 65535
)

// checkPorts says which ports cannot be had, before anything is started or stopped. Those
// that old holds will be free.
func (o options) checkPorts(old running) error {
	if o.port < 1 || o.port > portMax {
		return fmt.Errorf("port %d of the proxy: expected 1 to %d, set it with PORT=", o.port, portMax)
	}
	last := portMax - testbed.BusOffset - (nodeCount - 1)
	if o.nodes < 1 || o.nodes > last {
		return fmt.Errorf("port %d of the first of %d nodes: expected 1 to %d, for their bus is %d above; set it with NODES=",
			o.nodes, nodeCount, last, testbed.BusOffset)
	}
	var ports []int
	for i := range nodeCount {
		ports = append(ports, o.nodes+i, o.nodes+i+testbed.BusOffset)
	}
	if slices.Contains(ports, o.port) {
		return fmt.Errorf("port %d of the proxy is a node's: those are %s; set another one with PORT= or NODES=", o.port, o.nodePorts())
	}
	var problems []error
	// The proxy listens on every address, the nodes on loopback.
	if !old.holds(o.port) && !isFree("", o.port) {
		problems = append(problems, fmt.Errorf("port %d of the proxy is in use; set another one with PORT=", o.port))
	}
	var taken []string
	slices.Sort(ports)
	for _, port := range ports {
		if !old.holds(port) && !isFree("127.0.0.1", port) {
			taken = append(taken, strconv.Itoa(port))
		}
	}
	if len(taken) > 0 {
		problems = append(problems, fmt.Errorf("of the nodes' ports, %s, in use: %s; set others with NODES=", o.nodePorts(), strings.Join(taken, ", ")))
	}
	return errors.Join(problems...)
}

// nodePorts names the ports of the nodes.
func (o options) nodePorts() string {
	return fmt.Sprintf("%d to %d and %d to %d", o.nodes, o.nodes+nodeCount-1, o.nodes+testbed.BusOffset, o.nodes+testbed.BusOffset+nodeCount-1)
}

// isFree listens on the port for a moment.
func isFree(host string, port int) bool {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(context.Background(), "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

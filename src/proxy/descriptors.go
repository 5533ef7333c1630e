package proxy

import (
	"fmt"

	"mithril/src/conf"
	"mithril/src/sys"
	"mithril/src/worker"
)

const (
	// controlDescriptors are for the control plane, the log and the standard streams.
	controlDescriptors = 32

	// workerDescriptors are for what each worker has to do with its engine.
	workerDescriptors = 8

	// connsOfLane is how many connections each of those that a worker keeps to a node stands
	// for: there are several nodes and two protocols.
	connsOfLane = 16

	// plenty is how many times the least is held back where the limit allows it, for clusters
	// of many nodes.
	plenty = 4
)

// descriptors is what a process needs of them.
type descriptors struct {
	clients uint64 // maxclients
	least   uint64 // for all else: connections to nodes must never fail for want of those that clients took
}

func needOf(c *conf.Config) descriptors {
	workers := c.WorkerThreads * (workerDescriptors + c.BackendLanes()*connsOfLane)
	listeners := len(c.Bind) * (1 + worker.TurnedAwayMax)
	return descriptors{clients: uint64(c.MaxClients), least: uint64(controlDescriptors + workers + listeners)}
}

// want is how many are asked for.
func (d descriptors) want() uint64 { return d.clients + plenty*d.least }

// served is how many clients can be served with a limit, 0 if that leaves no room for any.
// A quarter of it is held back, if that is neither less than the least nor more than plenty.
func (d descriptors) served(limit uint64) uint64 {
	if limit <= d.least {
		return 0
	}
	held := min(plenty*d.least, max(d.least, limit/4))
	return min(d.clients, limit-held)
}

// reserve raises the limit on descriptors, and lowers maxclients to what is to be had.
func (p *Proxy) reserve() error {
	need := needOf(p.conf)
	limit, err := sys.RaiseDescriptors(need.want())
	if err != nil {
		return err
	}
	served := need.served(limit)
	if served == 0 {
		return fmt.Errorf("the limit of %d open files leaves no room for clients: expected more than %d, or %d for all of maxclients %d (ulimit -n)",
			limit, need.least, need.want(), need.clients)
	}
	if p.clients = int64(served); served < need.clients {
		p.own.Warn("maxclients lowered to what the limit on open files allows",
			"maxclients", served, "configured", need.clients, "open-files", limit, "wanted", need.want())
	}
	return nil
}

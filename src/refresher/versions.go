package refresher

import (
	"context"
	"sync"
	"time"

	"mithril/src/topology"
)

// probesMax bounds how many nodes are asked for their version at one time.
const probesMax = 8

// versions remembers what program each node runs. A node that answers for the map tells it on the way; the others are asked
// once, and again only when they fail and come back.
type versions struct {
	known map[string]topology.Server // by address
	tried map[string]time.Time       // by address, when a node without an entry above was last asked
}

func newVersions() versions {
	return versions{known: map[string]topology.Server{}, tried: map[string]time.Time{}}
}

// keep forgets nodes that left the map or failed: who comes back may run another version.
func (v *versions) keep(snapshot *topology.Snapshot) {
	alive := map[string]bool{}
	for i := range snapshot.Nodes {
		if snapshot.Nodes[i].Health != topology.Failed {
			alive[snapshot.Nodes[i].Addr] = true
		}
	}
	for addr := range v.known {
		if !alive[addr] {
			delete(v.known, addr)
		}
	}
	for addr := range v.tried {
		if !alive[addr] {
			delete(v.tried, addr)
		}
	}
}

// missing answers the nodes to ask now: none of them twice within a period, since a node that the cluster can reach and the
// proxy cannot may stay that way.
func (v *versions) missing(snapshot *topology.Snapshot, now time.Time, period time.Duration) (addrs []string) {
	for i := range snapshot.Nodes {
		addr := snapshot.Nodes[i].Addr
		tried, asked := v.tried[addr]
		_, known := v.known[addr]
		if known || snapshot.Nodes[i].Health == topology.Failed || asked && now.Sub(tried) < period {
			continue
		}
		v.tried[addr] = now
		addrs = append(addrs, addr)
	}
	return addrs
}

// fill writes the lowest versions into a map that is not published yet.
func (v *versions) fill(snapshot *topology.Snapshot) {
	var servers []topology.Server
	for i := range snapshot.Nodes {
		if server, known := v.known[snapshot.Nodes[i].Addr]; known {
			servers = append(servers, server)
		}
	}
	lowest := topology.Lowest(servers)
	snapshot.Engine, snapshot.Version, snapshot.RedisVersion = lowest.Engine, lowest.Version, lowest.RedisVersion
}

// probe is what one node said of its program.
type probe struct {
	addr    string
	server  topology.Server
	failure *failure
}

// probeAll asks nodes for their versions.
func (r *Refresher) probeAll(ctx context.Context, addrs []string) []probe {
	probes := make([]probe, len(addrs))
	places := make(chan struct{}, probesMax)
	var asking sync.WaitGroup
	for i, addr := range addrs {
		places <- struct{}{}
		asking.Go(func() {
			probes[i] = r.probeNode(ctx, addr)
			<-places
		})
	}
	asking.Wait()
	return probes
}

func (r *Refresher) probeNode(ctx context.Context, addr string) probe {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	replies, fail := r.converse(ctx, addr, []string{"INFO", "server"})
	if fail != nil {
		return probe{addr: addr, failure: fail}
	}
	server, err := topology.ParseInfo(replies[0])
	if err != nil {
		return probe{addr: addr, failure: &failure{refused, addr, err}}
	}
	return probe{addr: addr, server: server}
}

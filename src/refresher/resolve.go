package refresher

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"mithril/src/topology"
)

// nameAgeMax is for how long a resolved node name is used without asking again: the map of a cluster whose nodes announce
// host names does not change when they move, so each refresh has to look.
const nameAgeMax = time.Second

// resolveBootstrap answers every address that the bootstrap names have.
func (r *round) resolveBootstrap(ctx context.Context) (addrs []string, failures []*failure) {
	for i, found := range r.lookupAll(ctx, r.options.Bootstrap) {
		if found.err != nil {
			failures = append(failures, &failure{unreachable, r.options.Bootstrap[i], found.err})
		}
		for _, addr := range found.addrs {
			addrs = append(addrs, addr.String())
		}
	}
	return addrs, failures
}

// resolveNodes fills in the dial addresses of nodes that announce host names. A name that does not resolve keeps the address
// that it had.
func (r *round) resolveNodes(ctx context.Context, snapshot *topology.Snapshot) (failures []*failure) {
	known := map[string]netip.AddrPort{}
	if r.current != nil {
		for i := range r.current.Nodes {
			known[r.current.Nodes[i].Addr] = r.current.Nodes[i].Dial
		}
	}
	resolved := map[string]time.Time{} // by name, when it was last looked up
	var stale []string
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		if node.Dial.IsValid() {
			continue
		}
		node.Dial = known[node.Addr]
		last := r.resolved[node.Addr]
		if r.at.Sub(last) >= nameAgeMax && !slices.Contains(stale, node.Addr) {
			stale = append(stale, node.Addr)
			last = r.at
		}
		resolved[node.Addr] = last
	}
	r.resolved = resolved
	fresh := map[string][]netip.AddrPort{}
	for i, found := range r.lookupAll(ctx, stale) {
		fresh[stale[i]] = found.addrs
		if found.err != nil {
			failures = append(failures, &failure{unreachable, stale[i], found.err})
		}
	}
	for i := range snapshot.Nodes {
		// Of several addresses the one in use stays, else the lowest counts: a resolver that turns its list around must
		// not make the node move.
		node := &snapshot.Nodes[i]
		if addrs := fresh[node.Addr]; len(addrs) > 0 && !slices.Contains(addrs, node.Dial) {
			node.Dial = addrs[0]
		}
	}
	return failures
}

// lookup is what one name resolves to: addresses in ascending order, or an error.
type lookup struct {
	addrs []netip.AddrPort
	err   error
}

// lookupAll resolves "host:port" names side by side, so that one bad name costs no more than the timeout. Numeric hosts need
// no resolver.
func (r *Refresher) lookupAll(ctx context.Context, names []string) []lookup {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	found := make([]lookup, len(names))
	var looking sync.WaitGroup
	for i, name := range names {
		if addr, err := netip.ParseAddrPort(name); err == nil {
			found[i].addrs = []netip.AddrPort{addr}
			continue
		}
		looking.Go(func() { found[i].addrs, found[i].err = r.lookup(ctx, name) })
	}
	looking.Wait()
	return found
}

func (r *Refresher) lookup(ctx context.Context, name string) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	ips, err := r.options.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var addrs []netip.AddrPort
	for _, ip := range ips {
		addrs = append(addrs, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	slices.SortFunc(addrs, netip.AddrPort.Compare)
	return addrs, nil
}

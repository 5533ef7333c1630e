package proxy

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"mithril/src/refresher"
)

// resolve turns an address as nodes name it into one to dial, for the workers: it does
// not block. A name that the map does not know is not resolved here; the refresh that a
// redirect asks for will bring it.
func (p *Proxy) resolve(host []byte, port uint16, from netip.AddrPort) (netip.AddrPort, bool) {
	if len(host) == 0 {
		return netip.AddrPortFrom(from.Addr(), port), true
	}
	if m := p.refresher.Current(); m != nil {
		if i := m.Find(host, port); i >= 0 {
			return m.Nodes[i].Dial, m.Nodes[i].Dial.IsValid()
		}
	}
	named := net.JoinHostPort(string(host), strconv.Itoa(int(port)))
	addr, err := netip.ParseAddrPort(p.mapAddr(named))
	return addr, err == nil
}

// mapAddr replaces an announced address as address-map says.
func (p *Proxy) mapAddr(announced string) string {
	host, port, err := net.SplitHostPort(announced)
	if err != nil {
		return announced
	}
	for _, m := range p.conf.AddressMap {
		switch m.From {
		case announced:
			return m.To
		case host:
			return net.JoinHostPort(m.To, port)
		}
	}
	return announced
}

func (p *Proxy) refresherOptions() refresher.Options {
	c := p.conf
	o := refresher.Options{
		Bootstrap: c.Bootstrap, User: c.TopologyUser, Pass: c.TopologyPass,
		Timeout: time.Duration(c.TopologyTimeoutMs) * time.Millisecond, Period: time.Duration(c.TopologyRefreshSecs) * time.Second,
		RequireFullCoverage: c.RequireFullCoverage, AddressMap: p.mapAddr, Log: p.log.With("part", "topology"),
	}
	if o.Pass == "" {
		o.User, o.Pass = c.BackendAuthUser, c.BackendAuthPass
	}
	return o
}

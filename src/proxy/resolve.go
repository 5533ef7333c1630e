package proxy

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"mithril/src/command"
	"mithril/src/conf"
	"mithril/src/refresher"
	"mithril/src/topology"
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
	addr, err := netip.ParseAddrPort(p.addresses.Apply(named))
	return addr, err == nil
}

// addressMap is address-map as the topology reads it.
func addressMap(c *conf.Config) (topology.AddressMap, error) {
	var mappings []topology.Mapping
	for _, m := range c.AddressMap {
		mappings = append(mappings, topology.Mapping{From: m.From, To: m.To})
	}
	return topology.NewAddressMap(mappings)
}

// extraCommands are the configured commands as the command tables take them.
func extraCommands(c *conf.Config) (extra []*command.Rows) {
	for _, line := range c.ExtraCommands {
		rows, err := command.ParseExtra(append([]string{line.Name}, line.Words...))
		if err != nil {
			panic("proxy: extra-commands: " + err.Error()) // conf has accepted it
		}
		extra = append(extra, rows)
	}
	return extra
}

func (p *Proxy) refresherOptions() refresher.Options {
	c := p.conf
	o := refresher.Options{
		Bootstrap: c.Bootstrap, User: c.TopologyUser, Pass: c.TopologyPass,
		Timeout: time.Duration(c.TopologyTimeoutMs) * time.Millisecond, Period: time.Duration(c.TopologyRefreshSecs) * time.Second,
		RequireFullCoverage: c.RequireFullCoverage, RunID: p.runID, AddressMap: p.addresses.Apply, Log: p.log.With("part", "topology"),
		Extra: extraCommands(c),
	}
	if o.Pass == "" {
		o.User, o.Pass = c.BackendAuthUser, c.BackendAuthPass
	}
	return o
}

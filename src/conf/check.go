package conf

import (
	"fmt"
	"slices"
)

// checks are the rules that involve several keys. A rule is skipped when one
// of its keys has a fault already. Its fault is reported at the first key.
var checks = []struct {
	keys  []string
	fault func(*Config) string // "", or what is wrong and what would be accepted
}{
	{[]string{"bootstrap", "sentinel", "shard"}, missingTopology},
	{[]string{"sentinel", "bootstrap"}, func(c *Config) string {
		return excludes(len(c.Sentinel.Addrs) > 0 && len(c.Bootstrap) > 0, "bootstrap")
	}},
	{[]string{"shard", "bootstrap"}, func(c *Config) string {
		return excludes(len(c.Shards) > 0 && len(c.Bootstrap) > 0, "bootstrap")
	}},
	{[]string{"shard", "sentinel"}, func(c *Config) string {
		return excludes(len(c.Shards) > 0 && len(c.Sentinel.Addrs) > 0, "sentinel")
	}},
	{[]string{"port", "tls-port", "unixsocket"}, noListener},
	{[]string{"worker-cpus", "worker-threads"}, tooFewCPUs},
	{[]string{"backend-auth-user", "backend-auth-pass", "backend-auth-pass-file"}, func(c *Config) string {
		return userWithoutPass(c.BackendAuthUser, c.BackendAuthPass, "backend-auth-pass")
	}},
	{[]string{"topology-user", "topology-pass", "topology-pass-file"}, func(c *Config) string {
		return userWithoutPass(c.TopologyUser, c.TopologyPass, "topology-pass")
	}},
	{[]string{"sentinel-user", "sentinel-pass", "sentinel-pass-file"}, func(c *Config) string {
		return userWithoutPass(c.Sentinel.User, c.Sentinel.Pass, "sentinel-pass")
	}},
	{[]string{"address-map"}, mappedTwice},
	{[]string{"sentinel-master", "sentinel"}, missingMaster},
	{[]string{"sentinel-shard", "sentinel-master"}, shardOrder},
	{[]string{"sentinel-replicas", "sentinel-master"}, replicasOfNobody},
	{[]string{"sentinel-quorum", "sentinel"}, quorumTooLarge},
	{[]string{"routing-mode", "bootstrap", "sentinel", "shard"}, connectionMode},
	{[]string{"tls-port", "tls-cert-file", "tls-key-file"}, missingCertificate},
}

func (p *parser) crossCheck() {
	for _, check := range checks {
		hasFault := func(name string) bool {
			s := p.settings[lookup(name)]
			return s != nil && s.bad
		}
		if slices.ContainsFunc(check.keys, hasFault) {
			continue
		}
		if reason := check.fault(p.config); reason != "" {
			p.reject(lookup(check.keys[0]), reason)
		}
	}
}

func missingTopology(c *Config) string {
	if len(c.Bootstrap) == 0 && c.Topology() == TopologyCluster {
		return "missing; " + expected(lookup("bootstrap").kind)
	}
	return ""
}

func excludes(both bool, other string) string {
	if both {
		return "expected exactly one of bootstrap, sentinel and shard, but " + other + " is set as well"
	}
	return ""
}

func noListener(c *Config) string {
	if c.Port == 0 && c.TLS.Port == 0 && c.UnixSocket == "" {
		return "nothing to listen on; expected an integer between 1 and 65535, or 0 with tls-port or unixsocket"
	}
	return ""
}

func tooFewCPUs(c *Config) string {
	cpus := len(c.WorkerCPUs)
	if cpus == 0 || cpus >= c.WorkerThreads {
		return ""
	}
	return fmt.Sprintf("names fewer CPUs than worker-threads %d; expected at least %d CPUs, or worker-threads %d",
		c.WorkerThreads, c.WorkerThreads, cpus)
}

func userWithoutPass(user, pass, passKey string) string {
	if user != "" && pass == "" {
		return "expected " + passKey + " as well"
	}
	return ""
}

func mappedTwice(c *Config) string {
	for i, m := range c.AddressMap {
		if slices.ContainsFunc(c.AddressMap[:i], func(other AddressMapping) bool { return other.From == m.From }) {
			return "expected each address once: " + m.From + " is mapped twice"
		}
	}
	return ""
}

func missingMaster(c *Config) string {
	switch {
	case len(c.Sentinel.Addrs) > 0 && len(c.Sentinel.Masters) == 0:
		return "missing; expected the name of each primary that the sentinels monitor"
	case len(c.Sentinel.Addrs) == 0 && len(c.Sentinel.Masters) > 0:
		return "expected sentinel as well"
	}
	return ""
}

func shardOrder(c *Config) string {
	order := c.Sentinel.ShardOrder
	unknown := func(name string) bool { return !slices.Contains(c.Sentinel.Masters, name) }
	if len(order) > 0 && (len(order) != len(c.Sentinel.Masters) || slices.ContainsFunc(order, unknown)) {
		return "expected every sentinel-master once: " + joinWords(c.Sentinel.Masters)
	}
	return ""
}

func replicasOfNobody(c *Config) string {
	for _, r := range c.Sentinel.Replicas {
		if !slices.Contains(c.Sentinel.Masters, r.Name) {
			return "expected the name of a sentinel-master, not " + quoteAlways(r.Name)
		}
	}
	return ""
}

func quorumTooLarge(c *Config) string {
	if n := len(c.Sentinel.Addrs); c.Sentinel.Quorum > n {
		return fmt.Sprintf("expected at most the number of sentinels, %d", n)
	}
	return ""
}

func connectionMode(c *Config) string {
	oneShard := c.Topology() == TopologyStatic && len(c.Shards) == 1
	if c.RoutingMode == RoutingConnection && !oneShard && c.Topology() != TopologySentinel {
		return "expected command, or connection with sentinel or with a single shard"
	}
	return ""
}

func missingCertificate(c *Config) string {
	if c.TLS.Port != 0 && (c.TLS.CertFile == "" || c.TLS.KeyFile == "") {
		return "expected tls-cert-file and tls-key-file as well"
	}
	return ""
}

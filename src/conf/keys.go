package conf

import (
	"math"
	"net/netip"
	"strings"
)

// key is one row of the key table.
type key struct {
	name   string
	def    string // the default, as the words of a line; defCPUs for the CPU count
	kind   kind
	repeat bool // several lines add up; of any other key the last line counts
	live   bool // CONFIG SET can change it (CONF3)
	secret bool // printed as (redacted); <name>-file, where there is such a row, reads it from a file
	help   string
}

// defCPUs is the default of worker-threads: the number of CPUs.
const defCPUs = "CPU count"

// Bounds that several rows share.
const (
	none         = `""`
	kb           = int64(1) << 10
	mb           = int64(1) << 20
	gb           = int64(1) << 30
	secsMax      = math.MaxInt32
	msMax        = math.MaxInt32
	entriesMax   = 1_000_000
	addrForm     = "host:port"
	workersMax   = 1024
	keepaliveMax = 32767 // TCP_KEEPIDLE's limit, tcp(7)
)

// keys is every key that the file and the command line accept, besides
// include. The order is that of Get, of the help text and of the sample file.
var keys = []key{
	// Clients.
	{name: "bind", def: "0.0.0.0", help: "addresses to listen on",
		kind: list[netip.Addr]{at: func(c *Config) *[]netip.Addr { return &c.Bind }, parse: parseIP, print: netip.Addr.String,
			want: "IPv4 or IPv6 addresses separated by blanks", atLeastOne: true}},
	{name: "port", def: "7979", help: "TCP port; 0 = none",
		kind: port(func(c *Config) *uint16 { return &c.Port })},
	{name: "announce-addr", def: none, help: "address told to cluster clients; empty = the first bind address and port, for a wildcard address the one that the client has reached",
		kind: address(func(c *Config) *string { return &c.AnnounceAddr }, parseDialAddr, "host:port that clients can connect to")},
	{name: "protected-mode", def: "yes", help: "without a password, refuse clients from beyond loopback",
		kind: boolean(func(c *Config) *bool { return &c.ProtectedMode })},
	{name: "unixsocket", def: none, help: "path of a Unix socket to listen on; empty = none",
		kind: text(func(c *Config) *string { return &c.UnixSocket })},
	{name: "unixsocketperm", def: "0", help: "its mode, octal; 0 = left to the umask",
		kind: single[uint32]{func(c *Config) *uint32 { return &c.UnixSocketPerm }, parsePerm, printPerm, "an octal number between 0 and 777"}},
	{name: "maxclients", def: "10000", help: "client connections, at most",
		kind: integer(func(c *Config) *int { return &c.MaxClients }, 1, 1_000_000)},
	{name: "timeout", def: "0", help: "seconds after which an idle client is closed; 0 = never",
		kind: integer(func(c *Config) *int { return &c.TimeoutSecs }, 0, secsMax)},
	{name: "tcp-keepalive", def: "300", help: "seconds between keepalive probes to silent clients; 0 = none",
		kind: integer(func(c *Config) *int { return &c.TCPKeepaliveSecs }, 0, keepaliveMax)},
	{name: "query-buffer-limit", def: "1gb", help: "bytes of one request; of one that is passed on as it arrives, of each argument",
		kind: size(func(c *Config) *int64 { return &c.QueryBufferLimit }, mb, 1024*gb)},
	{name: "client-output-buffer-limit", def: "normal 1gb 256mb 60 pubsub 32mb 8mb 60", repeat: true, kind: outputLimits{},
		help: "bytes of replies held per client: class, hard limit, soft limit, soft seconds"},
	{name: "shutdown-timeout-secs", def: "5", help: "seconds that open sessions have to finish after SIGTERM",
		kind: integer(func(c *Config) *int { return &c.ShutdownTimeoutSecs }, 0, 3600)},

	// Workers.
	{name: "worker-threads", def: defCPUs, help: "workers, one thread each",
		kind: integer(func(c *Config) *int { return &c.WorkerThreads }, 1, workersMax)},
	{name: "worker-cpus", def: none, help: "CPUs the workers are pinned to, the i-th worker to the i-th; empty = not pinned",
		kind: single[[]int]{func(c *Config) *[]int { return &c.WorkerCPUs }, parseCPUs, printCPUs, "CPU numbers up to 1023 such as 2-5,8, each once"}},
	{name: "io-engine", def: "auto", help: "kernel interface; auto = io_uring where it works, else epoll",
		kind: enum(func(c *Config) *IOEngine { return &c.IOEngine }, ioEngineWords)},
	{name: "batch-window-usecs", def: "auto", help: "microseconds a busy worker waits to collect work; 0 = none",
		kind: single[BatchWindow]{func(c *Config) *BatchWindow { return &c.BatchWindow }, parseBatchWindow, printBatchWindow, "auto or an integer between 0 and 1000"}},
	{name: "placement", def: "least-loaded", help: "worker of a new connection",
		kind: enum(func(c *Config) *Placement { return &c.Placement }, placementWords)},

	// Backends.
	{name: "backend-conns", def: "1", help: "connections of each worker to each node",
		kind: integer(func(c *Config) *int { return &c.BackendConns }, 1, 512)},
	{name: "backend-sharding", def: "no", help: "one process-wide connection per node instead of each worker's own",
		kind: enum(func(c *Config) *BackendSharding { return &c.BackendSharding }, backendShardingWords)},
	{name: "backend-auth-user", def: none, help: "user for AUTH at the nodes; empty = the default user",
		kind: text(func(c *Config) *string { return &c.BackendAuthUser })},
	{name: "backend-auth-pass", def: none, secret: true, help: "password for AUTH at the nodes; empty = no AUTH",
		kind: text(func(c *Config) *string { return &c.BackendAuthPass })},
	{name: "backend-auth-pass-file", def: none, help: "file that holds backend-auth-pass",
		kind: text(func(c *Config) *string { return &c.BackendAuthPassFile })},
	{name: "backend-timeout-ms", def: "0", help: "milliseconds after which an unanswered request fails; 0 = never",
		kind: integer(func(c *Config) *int { return &c.BackendTimeoutMs }, 0, msMax)},
	{name: "private-conns-per-node", def: "512", help: "connections to each node that are not shared: for large requests, for sessions with large replies, later for WATCH and blocking commands; whole process, divided evenly among the workers, at least one each",
		kind: integer(func(c *Config) *int { return &c.PrivateConnsPerNode }, 1, 65536)},
	{name: "max-redirects", def: "7", help: "redirects followed for one request",
		kind: integer(func(c *Config) *int { return &c.MaxRedirects }, 1, 16)},
	{name: "keyless-picker", def: "round-robin", help: "shard of a command without keys",
		kind: enum(func(c *Config) *KeylessPicker { return &c.KeylessPicker }, keylessPickerWords)},
	{name: "extra-commands", def: none, repeat: true, help: "a command that is not built in, one a line; what the nodes tell of it does not count",
		kind: newExtraCommands(func(c *Config) *[]Named { return &c.ExtraCommands })},
	{name: "slave-mode", def: "off", help: "nodes of a shard that serve reads",
		kind: enum(func(c *Config) *SlaveMode { return &c.SlaveMode }, slaveModeWords)},
	{name: "replica-pick", def: "random", help: "choice among several replicas",
		kind: enum(func(c *Config) *ReplicaPick { return &c.ReplicaPick }, replicaPickWords)},
	{name: "pubsub-on-loss", def: "resubscribe", help: "what a lost subscriber connection does to its sessions",
		kind: enum(func(c *Config) *PubsubOnLoss { return &c.PubsubOnLoss }, pubsubOnLossWords)},

	// Topology: cluster.
	{name: "bootstrap", def: none, help: "cluster nodes to ask first; required in cluster mode",
		kind: list[string]{at: func(c *Config) *[]string { return &c.Bootstrap }, parse: parseAddr, print: printWord,
			want: "host:port separated by commas", commas: true}},
	{name: "topology-refresh-secs", def: "15", help: "seconds between two refreshes of the slot map",
		kind: integer(func(c *Config) *int { return &c.TopologyRefreshSecs }, 1, 3600)},
	{name: "topology-timeout-ms", def: "2000", help: "milliseconds a node has to answer a refresh",
		kind: integer(func(c *Config) *int { return &c.TopologyTimeoutMs }, 1, 600_000)},
	{name: "topology-user", def: none, help: "user for refreshes; empty = the default user",
		kind: text(func(c *Config) *string { return &c.TopologyUser })},
	{name: "topology-pass", def: none, secret: true, help: "password for refreshes; empty = as backend-auth-pass",
		kind: text(func(c *Config) *string { return &c.TopologyPass })},
	{name: "topology-pass-file", def: none, help: "file that holds topology-pass",
		kind: text(func(c *Config) *string { return &c.TopologyPassFile })},
	{name: "require-full-coverage", def: "no", help: "refuse a slot map with uncovered slots",
		kind: boolean(func(c *Config) *bool { return &c.RequireFullCoverage })},
	{name: "cluster-emulated", def: "no", help: "servers only imitate CLUSTER SLOTS: one shard owns every slot",
		kind: boolean(func(c *Config) *bool { return &c.ClusterEmulated })},
	{name: "address-map", def: none, repeat: true, help: "replaces announced addresses by dialable ones",
		kind: list[AddressMapping]{at: func(c *Config) *[]AddressMapping { return &c.AddressMap }, parse: parseMapping, print: printMapping,
			want: "from=to, both host:port or both only a host"}},
	{name: "auth-mode", def: "proxy", help: "who checks clients' credentials: the proxy or the nodes",
		kind: enum(func(c *Config) *AuthMode { return &c.AuthMode }, authModeWords)},
	{name: "routing-mode", def: "command", help: "route each command, or relay whole connections",
		kind: enum(func(c *Config) *RoutingMode { return &c.RoutingMode }, routingModeWords)},

	// Topology: sentinel.
	{name: "sentinel", def: none, repeat: true, help: "sentinels to ask",
		kind: list[string]{at: func(c *Config) *[]string { return &c.Sentinel.Addrs }, parse: parseAddr, print: printWord, want: addrForm}},
	{name: "sentinel-master", def: none, repeat: true, help: "monitored primaries, one shard each",
		kind: list[string]{at: func(c *Config) *[]string { return &c.Sentinel.Masters }, parse: parseWord, print: printWord, want: "names"}},
	{name: "sentinel-shard", def: none, help: "order of the primaries as shards; empty = as sentinel-master lists them",
		kind: list[string]{at: func(c *Config) *[]string { return &c.Sentinel.ShardOrder }, parse: parseWord, print: printWord, want: "names"}},
	{name: "sentinel-replicas", def: none, repeat: true, help: "fixed replicas of one primary; empty = asked from the sentinels",
		kind: named{func(c *Config) *[]Named { return &c.Sentinel.Replicas }, allAddrs, "the name of a primary and host:port of each replica"}},
	{name: "sentinel-quorum", def: "0", help: "sentinels that must agree; 0 = the majority",
		kind: integer(func(c *Config) *int { return &c.Sentinel.Quorum }, 0, 1000)},
	{name: "sentinel-user", def: none, help: "user for AUTH at the sentinels; empty = the default user",
		kind: text(func(c *Config) *string { return &c.Sentinel.User })},
	{name: "sentinel-pass", def: none, secret: true, help: "password for AUTH at the sentinels; empty = no AUTH",
		kind: text(func(c *Config) *string { return &c.Sentinel.Pass })},
	{name: "sentinel-pass-file", def: none, help: "file that holds sentinel-pass",
		kind: text(func(c *Config) *string { return &c.Sentinel.PassFile })},
	{name: "sentinel-refresh-secs", def: "5", help: "seconds between two refreshes",
		kind: integer(func(c *Config) *int { return &c.Sentinel.RefreshSecs }, 1, 3600)},
	{name: "sentinel-timeout-ms", def: "2000", help: "milliseconds a sentinel has to answer",
		kind: integer(func(c *Config) *int { return &c.Sentinel.TimeoutMs }, 1, 600_000)},

	// Topology: static.
	{name: "shard", def: none, repeat: true, help: "one shard: name, primary, replicas",
		kind: named{func(c *Config) *[]Named { return &c.Shards }, allAddrs, "a name, then host:port of the primary and of each replica"}},
	{name: "hash", def: "redis_crc16", help: "spread of keys over several shards",
		kind: enum(func(c *Config) *Hash { return &c.Hash }, hashWords)},
	{name: "cross-shard-reads", def: "yes", help: "split reads over static shards",
		kind: boolean(func(c *Config) *bool { return &c.CrossShardReads })},
	{name: "cross-shard-writes", def: "yes", help: "split writes over static shards",
		kind: boolean(func(c *Config) *bool { return &c.CrossShardWrites })},

	// Access control.
	{name: "requirepass", def: none, secret: true, help: "the default user's password; empty = none",
		kind: text(func(c *Config) *string { return &c.RequirePass })},
	{name: "requirepass-file", def: none, help: "file that holds requirepass",
		kind: text(func(c *Config) *string { return &c.RequirePassFile })},
	{name: "user", def: none, repeat: true, secret: true, help: "one user in the syntax of ACL SETUSER",
		kind: named{func(c *Config) *[]Named { return &c.Users }, anyWords, "a name, then rules as in ACL SETUSER"}},
	{name: "aclfile", def: none, help: "file of user lines; empty = none",
		kind: text(func(c *Config) *string { return &c.ACLFile })},
	{name: "acl-pubsub-default", def: "allchannels", live: true, help: "a new user's access to channels",
		kind: enum(func(c *Config) *ACLPubsubDefault { return &c.ACLPubsubDefault }, aclPubsubDefaultWords)},
	{name: "acllog-max-len", def: "128", live: true, help: "entries kept in ACL LOG",
		kind: integer(func(c *Config) *int { return &c.ACLLogMaxLen }, 0, entriesMax)},

	// TLS.
	{name: "tls-port", def: "0", help: "TLS port; 0 = none",
		kind: port(func(c *Config) *uint16 { return &c.TLS.Port })},
	{name: "tls-cert-file", def: none, help: "certificate shown to clients, PEM",
		kind: text(func(c *Config) *string { return &c.TLS.CertFile })},
	{name: "tls-key-file", def: none, help: "its private key, PEM",
		kind: text(func(c *Config) *string { return &c.TLS.KeyFile })},
	{name: "tls-key-file-pass", def: none, secret: true, help: "the key's passphrase",
		kind: text(func(c *Config) *string { return &c.TLS.KeyFilePass })},
	{name: "tls-key-file-pass-file", def: none, help: "file that holds tls-key-file-pass",
		kind: text(func(c *Config) *string { return &c.TLS.KeyFilePassFile })},
	{name: "tls-client-cert-file", def: none, help: "certificate shown to nodes, PEM; empty = tls-cert-file",
		kind: text(func(c *Config) *string { return &c.TLS.ClientCertFile })},
	{name: "tls-client-key-file", def: none, help: "its private key, PEM",
		kind: text(func(c *Config) *string { return &c.TLS.ClientKeyFile })},
	{name: "tls-client-key-file-pass", def: none, secret: true, help: "that key's passphrase",
		kind: text(func(c *Config) *string { return &c.TLS.ClientKeyPass })},
	{name: "tls-client-key-file-pass-file", def: none, help: "file that holds tls-client-key-file-pass",
		kind: text(func(c *Config) *string { return &c.TLS.ClientKeyPassFile })},
	{name: "tls-ca-cert-file", def: none, help: "authorities that peers' certificates are checked against, PEM",
		kind: text(func(c *Config) *string { return &c.TLS.CACertFile })},
	{name: "tls-ca-cert-dir", def: none, help: "directory of such files",
		kind: text(func(c *Config) *string { return &c.TLS.CACertDir })},
	{name: "tls-auth-clients", def: "yes", help: "whether clients must show a certificate",
		kind: enum(func(c *Config) *TLSAuthClients { return &c.TLS.AuthClients }, tlsAuthClientsWords)},
	{name: "tls-cluster", def: "no", help: "TLS to the nodes",
		kind: boolean(func(c *Config) *bool { return &c.TLS.Cluster })},
	{name: "tls-protocols", def: none, help: "protocol versions, such as \"TLSv1.2 TLSv1.3\"; empty = both",
		kind: text(func(c *Config) *string { return &c.TLS.Protocols })},
	{name: "tls-ciphers", def: none, help: "cipher suites of TLS 1.2; empty = the library's choice",
		kind: text(func(c *Config) *string { return &c.TLS.Ciphers })},
	{name: "tls-ciphersuites", def: none, help: "cipher suites of TLS 1.3; empty = the library's choice",
		kind: text(func(c *Config) *string { return &c.TLS.CipherSuites })},
	{name: "tls-prefer-server-ciphers", def: "no", help: "the proxy's order of cipher suites counts, not the client's",
		kind: boolean(func(c *Config) *bool { return &c.TLS.PreferServerCiphers })},
	{name: "tls-session-caching", def: "yes", help: "clients may resume TLS sessions",
		kind: boolean(func(c *Config) *bool { return &c.TLS.SessionCaching })},
	{name: "tls-session-cache-size", def: "20480", help: "TLS sessions kept; 0 = no limit",
		kind: integer(func(c *Config) *int { return &c.TLS.SessionCacheSize }, 0, math.MaxInt32)},
	{name: "tls-session-cache-timeout", def: "300", help: "seconds a TLS session is kept",
		kind: integer(func(c *Config) *int { return &c.TLS.SessionCacheSecs }, 0, secsMax)},

	// Reply cache.
	{name: "reply-cache", def: "no", help: "serve GET and MGET from a cache in each worker",
		kind: boolean(func(c *Config) *bool { return &c.ReplyCache })},
	{name: "reply-cache-max-bytes", def: "64mb", help: "bytes of cached replies per worker",
		kind: size(func(c *Config) *int64 { return &c.ReplyCacheMaxBytes }, mb, 1024*gb)},
	{name: "reply-cache-max-age-secs", def: "10", help: "seconds after which a cached reply is dropped",
		kind: integer(func(c *Config) *int { return &c.ReplyCacheMaxAgeSecs }, 1, 3600)},
	{name: "cache-key-patterns", def: none, help: "glob patterns of the keys that are cached; empty = every key",
		kind: list[string]{at: func(c *Config) *[]string { return &c.CacheKeyPatterns }, parse: parseWord, print: printWord, want: "glob patterns separated by blanks"}},

	// Observability.
	{name: "loglevel", def: "notice", live: true, help: "least severe level that is logged",
		kind: enum(func(c *Config) *LogLevel { return &c.LogLevel }, logLevelWords)},
	{name: "logfile", def: none, help: "path of the log; empty = standard output",
		kind: text(func(c *Config) *string { return &c.LogFile })},
	{name: "slowlog-log-slower-than", def: "-1", live: true, help: "microseconds from which a command is kept in the slow log; 0 = every command, -1 = off",
		kind: integer(func(c *Config) *int { return &c.SlowlogLogUsecs }, -1, math.MaxInt64)},
	{name: "slowlog-max-len", def: "128", live: true, help: "entries kept in the slow log",
		kind: integer(func(c *Config) *int { return &c.SlowlogMaxLen }, 0, entriesMax)},
	{name: "metrics-addr", def: none, help: "address of the metrics and health HTTP server; empty = off",
		kind: address(func(c *Config) *string { return &c.MetricsAddr }, parseAddr, addrForm)},
	{name: "hotkeys-sample", def: "0", help: "one command in so many is sampled for hot and big keys; 0 = off",
		kind: integer(func(c *Config) *int { return &c.HotkeysSampleOneIn }, 0, 1_000_000)},
}

// lookup finds a key by name, in any case. The table is small and searched
// only while a configuration is read.
func lookup(name string) *key {
	for i := range keys {
		if strings.EqualFold(keys[i].name, name) {
			return &keys[i]
		}
	}
	return nil
}

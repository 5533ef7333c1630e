package conf

import "net/netip"

// Config is one complete, validated configuration. A value returned by Parse
// is never changed afterwards: it may be read by every goroutine, and a change
// at run time publishes a new value. Field comments name the key; its meaning,
// range and default stand in the key table (keys.go). Durations carry their
// unit in the name, sizes are bytes.
type Config struct {
	Action   Action // what the command line asks for; not a key
	ConfFile string // path of the conf file as given, empty without one; not a key

	// Clients.
	Bind                []netip.Addr // bind
	Port                uint16       // port; 0 = no plain TCP listener
	AnnounceAddr        string       // announce-addr, host:port; empty = see Announce
	UnixSocket          string       // unixsocket, path; empty = off
	UnixSocketPerm      uint32       // unixsocketperm, mode bits; 0 = left to the umask
	MaxClients          int          // maxclients
	TimeoutSecs         int          // timeout; 0 = never
	TCPKeepaliveSecs    int          // tcp-keepalive; 0 = off
	ProtectedMode       bool         // protected-mode
	QueryBufferLimit    int64        // query-buffer-limit, bytes per client
	OutputNormal        OutputLimit  // client-output-buffer-limit normal
	OutputPubsub        OutputLimit  // client-output-buffer-limit pubsub
	TLS                 TLS          // tls-*
	ShutdownTimeoutSecs int          // shutdown-timeout-secs

	// Workers.
	WorkerThreads int         // worker-threads
	WorkerCPUs    []int       // worker-cpus, in the order given; empty = not pinned
	IOEngine      IOEngine    // io-engine
	BatchWindow   BatchWindow // batch-window-usecs
	Placement     Placement   // placement

	// Backends.
	BackendConns        int             // backend-conns, per node and worker
	BackendSharding     BackendSharding // backend-sharding
	BackendAuthUser     string          // backend-auth-user
	BackendAuthPass     string          // backend-auth-pass
	BackendAuthPassFile string          // backend-auth-pass-file
	BackendTimeoutMs    int             // backend-timeout-ms; 0 = never
	PrivateConnsPerNode int             // private-conns-per-node, per process
	MaxRedirects        int             // max-redirects, per request
	KeylessPicker       KeylessPicker   // keyless-picker
	ExtraCommands       []Named         // extra-commands: name, then arity, flags, first key, last key, step and tips
	SlaveMode           SlaveMode       // slave-mode
	ReplicaPick         ReplicaPick     // replica-pick
	PubsubOnLoss        PubsubOnLoss    // pubsub-on-loss

	// Topology.
	Bootstrap           []string         // bootstrap, host:port each
	TopologyRefreshSecs int              // topology-refresh-secs
	TopologyTimeoutMs   int              // topology-timeout-ms
	TopologyUser        string           // topology-user
	TopologyPass        string           // topology-pass
	TopologyPassFile    string           // topology-pass-file
	RequireFullCoverage bool             // require-full-coverage
	ClusterEmulated     bool             // cluster-emulated
	AddressMap          []AddressMapping // address-map
	Sentinel            Sentinel         // sentinel and sentinel-*
	Shards              []Named          // shard: name, then primary and replicas as host:port
	Hash                Hash             // hash
	CrossShardReads     bool             // cross-shard-reads
	CrossShardWrites    bool             // cross-shard-writes
	RoutingMode         RoutingMode      // routing-mode
	AuthMode            AuthMode         // auth-mode

	// Access control.
	RequirePass      string           // requirepass; empty = no password
	RequirePassFile  string           // requirepass-file
	Users            []Named          // user: name, then ACL SETUSER rules
	ACLFile          string           // aclfile, path; empty = none
	ACLPubsubDefault ACLPubsubDefault // acl-pubsub-default
	ACLLogMaxLen     int              // acllog-max-len, entries

	// Reply cache.
	ReplyCache           bool     // reply-cache
	ReplyCacheMaxBytes   int64    // reply-cache-max-bytes, per worker
	ReplyCacheMaxAgeSecs int      // reply-cache-max-age-secs
	CacheKeyPatterns     []string // cache-key-patterns, glob patterns; empty = every key

	// Observability.
	LogLevel           LogLevel // loglevel
	LogFile            string   // logfile, path; empty = standard output
	SlowlogLogUsecs    int      // slowlog-log-slower-than; -1 = off, 0 = every command
	SlowlogMaxLen      int      // slowlog-max-len, entries
	MetricsAddr        string   // metrics-addr, host:port; empty = off
	HotkeysSampleOneIn int      // hotkeys-sample; 0 = off
}

// OutputLimit bounds the reply bytes that wait for one client. At Hard bytes
// the client is closed; at Soft bytes its requests are no longer read, and
// after SoftSecs without progress it is closed. Soft 0 means no soft level.
type OutputLimit struct {
	Hard, Soft int64
	SoftSecs   int
}

// BatchWindow is how long a busy worker's wait may collect completions:
// chosen by experiment when Auto, else Usecs microseconds (0 = never).
type BatchWindow struct {
	Auto  bool
	Usecs int
}

// AddressMapping replaces an address that nodes announce by one that the proxy
// can dial. Both sides are host:port, or both are a host and ports are kept.
type AddressMapping struct {
	From, To string
}

// Named is a name followed by the words that belong to it.
type Named struct {
	Name  string
	Words []string
}

// Sentinel holds the sentinel-* keys.
type Sentinel struct {
	Addrs       []string // sentinel, host:port each
	Masters     []string // sentinel-master, names
	ShardOrder  []string // sentinel-shard, master names in shard order; empty = order of Masters
	Replicas    []Named  // sentinel-replicas: master name, then host:port each; empty = asked from the sentinels
	Quorum      int      // sentinel-quorum; 0 = the majority
	User        string   // sentinel-user
	Pass        string   // sentinel-pass
	PassFile    string   // sentinel-pass-file
	RefreshSecs int      // sentinel-refresh-secs
	TimeoutMs   int      // sentinel-timeout-ms
}

// TLS holds the tls-* keys, with Redis's names and meanings. Paths are empty
// when not set.
type TLS struct {
	Port                uint16         // tls-port; 0 = no TLS listener
	CertFile            string         // tls-cert-file
	KeyFile             string         // tls-key-file
	KeyFilePass         string         // tls-key-file-pass
	KeyFilePassFile     string         // tls-key-file-pass-file
	ClientCertFile      string         // tls-client-cert-file, shown to nodes
	ClientKeyFile       string         // tls-client-key-file
	ClientKeyPass       string         // tls-client-key-file-pass
	ClientKeyPassFile   string         // tls-client-key-file-pass-file
	CACertFile          string         // tls-ca-cert-file
	CACertDir           string         // tls-ca-cert-dir
	AuthClients         TLSAuthClients // tls-auth-clients
	Cluster             bool           // tls-cluster: TLS to the nodes
	Protocols           string         // tls-protocols
	Ciphers             string         // tls-ciphers
	CipherSuites        string         // tls-ciphersuites
	PreferServerCiphers bool           // tls-prefer-server-ciphers
	SessionCaching      bool           // tls-session-caching
	SessionCacheSize    int            // tls-session-cache-size, sessions
	SessionCacheSecs    int            // tls-session-cache-timeout
}

// TopologyMode is where the slot map comes from (TOPO).
type TopologyMode uint8

const (
	TopologyCluster  TopologyMode = iota // CLUSTER SLOTS or SHARDS of the nodes found through bootstrap
	TopologySentinel                     // primaries named by sentinels
	TopologyStatic                       // shards written in the configuration
)

// Topology returns the active topology mode: exactly one is, as Parse checks.
func (c *Config) Topology() TopologyMode {
	switch {
	case len(c.Sentinel.Addrs) > 0:
		return TopologySentinel
	case len(c.Shards) > 0:
		return TopologyStatic
	}
	return TopologyCluster
}

// Announce returns the host:port at which clients are told to reach the
// proxy: announce-addr, or else the first bind address with port. The latter
// may be a wildcard address, which no client can dial.
func (c *Config) Announce() string {
	if c.AnnounceAddr != "" {
		return c.AnnounceAddr
	}
	return netip.AddrPortFrom(c.Bind[0], c.Port).String()
}

// BackendLanes is how many connections a node has, for each protocol, of each worker that has
// any to it: backend-conns, but one where all workers share it.
func (c *Config) BackendLanes() int {
	if c.BackendSharding == BackendShardingYes {
		return 1
	}
	return c.BackendConns
}

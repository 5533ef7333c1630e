package conf

// The enumerations of the conf file. Each has a table of the words the file
// accepts, indexed by value; String returns that word.

// Action is what the process is asked to do.
type Action uint8

const (
	ActionRun     Action = iota
	ActionCheck          // validate the configuration and exit
	ActionVersion        // print the version and exit
	ActionHelp           // print Usage and exit
)

// IOEngine selects how workers talk to the kernel.
type IOEngine uint8

const (
	IOEngineAuto IOEngine = iota
	IOEngineURing
	IOEngineEpoll
)

var ioEngineWords = []string{"auto", "io_uring", "epoll"}

func (e IOEngine) String() string { return ioEngineWords[e] }

// BackendSharding selects whose pipes sessions use (PIPE1, PIPE2).
type BackendSharding uint8

const (
	BackendShardingNo   BackendSharding = iota // each worker has its own pipes
	BackendShardingYes                         // one pipe per node for the process
	BackendShardingAuto                        // chosen by measurement
)

var backendShardingWords = []string{"no", "yes", "auto"}

func (s BackendSharding) String() string { return backendShardingWords[s] }

// Placement selects the worker of a new client connection (PIPE3).
type Placement uint8

const (
	PlacementLeastLoaded Placement = iota
	PlacementRoundRobin
)

var placementWords = []string{"least-loaded", "round-robin"}

func (p Placement) String() string { return placementWords[p] }

// KeylessPicker selects the shard of a command without keys (ROUTE6).
type KeylessPicker uint8

const (
	KeylessRoundRobin KeylessPicker = iota
	KeylessRandom
	KeylessStatic
)

var keylessPickerWords = []string{"round-robin", "random", "static"}

func (p KeylessPicker) String() string { return keylessPickerWords[p] }

// SlaveMode says which nodes of a shard serve reads (READ1).
type SlaveMode uint8

const (
	SlaveOff SlaveMode = iota
	SlaveMasterReadWrite
	SlaveMasterWriteOnly
	SlaveMasterPreferred
	SlaveReplicaOnly
)

var slaveModeWords = []string{"off", "master_readwrite", "master_writeonly", "master_preferred", "replica_only"}

func (m SlaveMode) String() string { return slaveModeWords[m] }

// ReplicaPick selects among several replicas (READ2).
type ReplicaPick uint8

const (
	ReplicaRandom ReplicaPick = iota
	ReplicaRoundRobin
	ReplicaLatency
)

var replicaPickWords = []string{"random", "round-robin", "latency"}

func (p ReplicaPick) String() string { return replicaPickWords[p] }

// PubsubOnLoss says what a lost subscriber connection does (PUBSUB2).
type PubsubOnLoss uint8

const (
	PubsubResubscribe PubsubOnLoss = iota
	PubsubClose
)

var pubsubOnLossWords = []string{"resubscribe", "close"}

func (l PubsubOnLoss) String() string { return pubsubOnLossWords[l] }

// ACLPubsubDefault is a new user's access to channels.
type ACLPubsubDefault uint8

const (
	ACLAllChannels ACLPubsubDefault = iota
	ACLResetChannels
)

var aclPubsubDefaultWords = []string{"allchannels", "resetchannels"}

func (d ACLPubsubDefault) String() string { return aclPubsubDefaultWords[d] }

// Hash spreads keys over static shards (TOPO4).
type Hash uint8

const (
	HashRedisCRC16 Hash = iota
	HashKetama
)

var hashWords = []string{"redis_crc16", "ketama"}

func (h Hash) String() string { return hashWords[h] }

// RoutingMode says whether commands or whole connections are routed (TOPO5).
type RoutingMode uint8

const (
	RoutingCommand RoutingMode = iota
	RoutingConnection
)

var routingModeWords = []string{"command", "connection"}

func (m RoutingMode) String() string { return routingModeWords[m] }

// AuthMode says who checks a client's credentials (TOPO6).
type AuthMode uint8

const (
	AuthProxy AuthMode = iota
	AuthPassthrough
)

var authModeWords = []string{"proxy", "passthrough"}

func (m AuthMode) String() string { return authModeWords[m] }

// TLSAuthClients says whether clients show a certificate (SEC1).
type TLSAuthClients uint8

const (
	TLSAuthNo TLSAuthClients = iota
	TLSAuthYes
	TLSAuthOptional
)

var tlsAuthClientsWords = []string{"no", "yes", "optional"}

func (a TLSAuthClients) String() string { return tlsAuthClientsWords[a] }

// LogLevel is the least severe level that is logged.
type LogLevel uint8

const (
	LogDebug LogLevel = iota
	LogVerbose
	LogNotice
	LogWarning
)

var logLevelWords = []string{"debug", "verbose", "notice", "warning"}

func (l LogLevel) String() string { return logLevelWords[l] }

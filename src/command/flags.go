package command

import "strings"

// Flags is the set of a command's COMMAND flags. See https://redis.io/docs/latest/commands/command/, section "Flags".
type Flags uint32

// The flags of Redis 7.0 to 8.0 and Valkey 9.1.
const (
	FlagWrite Flags = 1 << iota
	FlagReadOnly
	FlagDenyOOM
	FlagModule
	FlagAdmin
	FlagPubSub
	FlagNoScript
	FlagBlocking
	FlagLoading
	FlagStale
	FlagSkipMonitor
	FlagSkipSlowlog // also Valkey's skip_commandlog
	FlagAsking
	FlagFast
	FlagNoAuth
	FlagNoMandatoryKeys
	FlagNoAsyncLoading
	FlagNoMulti
	FlagMovableKeys
	FlagAllowBusy
)

var flagBits = nameBits[Flags](
	"write", "readonly", "denyoom", "module", "admin", "pubsub", "noscript", "blocking", "loading", "stale", "skip_monitor",
	"skip_slowlog|skip_commandlog", "asking", "fast", "no_auth", "no_mandatory_keys", "no_async_loading", "no_multi", "movablekeys",
	"allow_busy",
)

// Categories is the set of a command's ACL categories; bit i stands for CategoryNames[i].
type Categories uint64

// CategoryNames lists the ACL categories without their @, in the order of ACL CAT.
var CategoryNames = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream", "pubsub",
	"admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

var categoryBits = nameBits[Categories](CategoryNames...)

var categoryScripting = categoryBits["scripting"]

// CategoryNamed returns the category of a name in any case, none if there is no such name.
func CategoryNamed(name []byte) Categories { return categoryBits[strings.ToLower(string(name))] }

// KeyFlags says what a command does with a key. See https://redis.io/docs/latest/develop/reference/key-specs/.
type KeyFlags uint16

// The flags of a key spec. The first four exclude each other.
const (
	KeyRO            KeyFlags = 1 << iota // reads the value
	KeyRW                                 // reads and changes it
	KeyOW                                 // overwrites it unread
	KeyRM                                 // removes the key
	KeyAccess                             // user data is returned, copied or used
	KeyUpdate                             // user data is changed in place
	KeyInsert                             // user data is added
	KeyDelete                             // user data is deleted
	KeyNotKey                             // not a key, but routed like one: a shard channel
	KeyIncomplete                         // the spec does not find every key
	KeyVariableFlags                      // other arguments decide which of these flags hold
)

// keyFlagNames are their names, in the servers' order; bit i stands for keyFlagNames[i].
var keyFlagNames = []string{
	"RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete", "variable_flags",
}

var keyFlagBits = nameBits[KeyFlags](keyFlagNames...)

// nameBits maps names to single bits, the first name to the lowest one. Names joined by | share a bit.
func nameBits[T ~uint16 | ~uint32 | ~uint64](names ...string) map[string]T {
	m := make(map[string]T, len(names))
	for i, group := range names {
		for name := range strings.SplitSeq(group, "|") {
			m[name] = 1 << i
		}
	}
	return m
}

// RequestPolicy is where a command has to go in a cluster, from its request_policy tip (ROUTE3). See
// https://redis.io/docs/latest/develop/reference/command-tips/.
type RequestPolicy uint8

// Request policies.
const (
	RequestDefault    RequestPolicy = iota // one shard: that of the keys, or any
	RequestAllNodes                        // primaries and replicas
	RequestAllShards                       // every primary
	RequestMultiShard                      // the shards of the keys, each with its own part
	RequestSpecial
)

var requestPolicies = map[string]RequestPolicy{
	"all_nodes": RequestAllNodes, "all_shards": RequestAllShards, "multi_shard": RequestMultiShard, "special": RequestSpecial,
}

// ResponsePolicy is how the replies of several shards become one, from the response_policy tip (ROUTE3).
type ResponsePolicy uint8

// Response policies.
const (
	ResponseDefaultKeyless  ResponsePolicy = iota // the first good reply
	ResponseDefaultHashslot                       // the parts in the client's key order
	ResponseAllSucceeded
	ResponseOneSucceeded
	ResponseAggSum
	ResponseAggMin
	ResponseAggMax
	ResponseAggLogicalAnd
	ResponseAggLogicalOr
	ResponseSpecial
)

var responsePolicies = map[string]ResponsePolicy{
	"all_succeeded": ResponseAllSucceeded, "one_succeeded": ResponseOneSucceeded,
	"agg_sum": ResponseAggSum, "agg_min": ResponseAggMin, "agg_max": ResponseAggMax,
	"agg_logical_and": ResponseAggLogicalAnd, "agg_logical_or": ResponseAggLogicalOr,
	"special": ResponseSpecial,
}

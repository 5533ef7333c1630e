package command

import "strings"

// Route is what the proxy does with a command. Every row has exactly one.
type Route uint8

// Routes.
const (
	routeNone      Route = iota
	RouteKeyed           // sent whole to the owner of its keys; CROSSSLOT if they span slots; to any primary if it has none
	RouteSplit           // keys in several slots: one part per slot, the replies joined by Response (ROUTE4)
	RouteSlotArg         // sent to the owner of the slot whose number is argument ArgIndex
	RouteAny             // sent to any primary: each would answer the same
	RouteBroadcast       // sent whole to every primary, with RequestAllNodes to the replicas too; the replies joined by Response
	RouteCursor          // sent to the node that argument ArgIndex, a cursor, leads to; to any primary without such an argument (ROUTE8, ROUTE6)
	RouteSample          // RANDOMKEY: one of all primaries' answers, in proportion to their keys
	RouteLocal           // answered by the proxy
	RouteLater           // the proxy does not carry it: AppendUnsupported
	RouteRefused         // makes no sense behind a proxy: to a client the command does not exist
)

func (r Route) String() string {
	return [...]string{
		"none", "keyed", "split", "slot-arg", "any", "broadcast", "cursor", "sample", "local", "later", "refused",
	}[r]
}

// policy is one line of the table below.
type policy struct {
	route    Route
	names    string         // full names separated by spaces; a container's name stands for its subcommands that have no line of their own
	response ResponsePolicy // in place of the one that the tips say, unless it is ResponseDefaultKeyless
	keyStep  uint8          // RouteSplit: arguments per key
	argIndex uint8          // RouteSlotArg, RouteCursor, ScriptBody, ScriptSHA
	last     bool           // RouteCursor: the cursor is the last element of the reply, an integer
	block    bool           // blocks only with the option BLOCK
	script   ScriptRole
	raw      bool // Command.RawErrors
}

// policies says what the proxy does with commands that the default rules do not cover (setPolicy). How the replies of several nodes become
// one is what the servers' tips say; a response here is for versions that have no such tip.
var policies = []policy{
	{route: RouteSplit, names: "mget", keyStep: 1},
	{route: RouteSplit, names: "mset", response: ResponseAllSucceeded, keyStep: 2},
	{route: RouteSplit, names: "del unlink exists touch pfcount", response: ResponseAggSum, keyStep: 1},

	{route: RouteKeyed, names: "xread xreadgroup", block: true},
	{route: RouteKeyed, names: "msetnx"}, // all or nothing, which parts are not
	{route: RouteKeyed, names: "spublish"},
	{route: RouteSlotArg, names: "cluster|countkeysinslot cluster|getkeysinslot", argIndex: 2},

	{route: RouteCursor, names: "scan", argIndex: 1},
	{route: RouteCursor, names: "ft.aggregate", last: true},
	{route: RouteCursor, names: "ft.cursor ft.cursor|read ft.cursor|del", argIndex: 3, last: true},
	{route: RouteSample, names: "randomkey"},
	{route: RouteBroadcast, names: "keys flushall flushdb dbsize memory|purge"},
	{route: RouteBroadcast, names: "lastsave", response: ResponseAggMin},
	{route: RouteBroadcast, names: "script|exists"},
	{route: RouteBroadcast, names: "script|load", script: ScriptBody, argIndex: 2},
	{route: RouteBroadcast, names: "script|flush", script: ScriptFlush},
	{route: RouteBroadcast, names: "script|kill function|kill", script: ScriptKill},
	{route: RouteBroadcast, names: "function|load function|restore", raw: true},
	{route: RouteBroadcast, names: "function|delete function|flush"},
	{route: RouteKeyed, names: "eval eval_ro", script: ScriptBody, argIndex: 1},
	{route: RouteKeyed, names: "evalsha evalsha_ro", script: ScriptSHA, argIndex: 1},
	{route: RouteAny, names: "function|list", raw: true},
	{route: RouteAny, names: "script|show function|dump function|stats"},

	{route: RouteAny, names: "lolwut swapdb object memory|help xgroup xinfo module|list"},
	{route: RouteAny, names: "acl|help client|help cluster|help command|help commandlog|help config|help function|help latency|help"},
	{route: RouteAny, names: "module|help pubsub|help script|help slowlog|help"},

	{route: RouteLocal, names: "ping echo hello auth quit reset select asking readonly readwrite info role time"},
	{route: RouteLocal, names: "client client|id client|setname client|getname client|setinfo client|no-evict client|no-touch client|reply client|info client|list"},
	{route: RouteLocal, names: "latency latency|latest latency|history latency|graph latency|reset latency|doctor"},
	{route: RouteLocal, names: "command command|count command|info command|docs command|list command|getkeys command|getkeysandflags"},
	{route: RouteLocal, names: "config config|get"},
	{route: RouteLocal, names: "cluster cluster|nodes cluster|slots cluster|shards cluster|info cluster|myid cluster|keyslot cluster|links cluster|myshardid"},
	{route: RouteLocal, names: "cluster|replicas cluster|slaves cluster|count-failure-reports"},

	{route: RouteLater, names: "multi exec discard watch unwatch"},
	{route: RouteLater, names: "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish pubsub"},
	{route: RouteLater, names: "blpop brpop blmove blmpop brpoplpush bzpopmin bzpopmax bzmpop wait"},
	{route: RouteLater, names: "script function memory module"},
	{route: RouteLater, names: "acl slowlog commandlog config|set config|resetstat latency|histogram"},
	{route: RouteLater, names: "client|kill client|pause client|unpause client|unblock"},
	{route: RouteLater, names: "client|tracking client|trackinginfo client|caching client|getredir client|capa client|import-source"},
	{route: RouteLater, names: "cluster|slot-stats"},

	{route: RouteRefused, names: "shutdown replicaof slaveof failover replconf psync sync monitor debug pfdebug pfselftest migrate"},
	{route: RouteRefused, names: "save bgsave bgrewriteaof waitaof restore-asking script|debug config|rewrite acl|save acl|load"},
	{route: RouteRefused, names: "module|load module|loadex module|unload memory|doctor memory|malloc-stats memory|stats"},
	{route: RouteRefused, names: "cluster|addslots cluster|addslotsrange cluster|delslots cluster|delslotsrange cluster|flushslots"},
	{route: RouteRefused, names: "cluster|flushslot cluster|setslot cluster|meet cluster|forget cluster|replicate cluster|failover"},
	{route: RouteRefused, names: "cluster|reset cluster|saveconfig cluster|bumpepoch cluster|set-config-epoch"},
	{route: RouteRefused, names: "cluster|migrateslots cluster|cancelslotmigrations cluster|syncslots cluster|getslotmigrations"},
}

// policyByName finds the line of a full name.
var policyByName = func() map[string]*policy {
	m := map[string]*policy{}
	for i := range policies {
		for name := range strings.FieldsSeq(policies[i].names) {
			if m[name] != nil {
				panic("command: two policies for " + name)
			}
			m[name] = &policies[i]
		}
	}
	return m
}()

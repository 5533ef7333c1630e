package command

import (
	"fmt"
	"strings"
)

// Route is what the proxy does with a command. Every row has exactly one.
type Route uint8

// Routes.
const (
	routeNone    Route = iota
	RouteKeyed         // sent whole to the owner of its keys; CROSSSLOT if they span slots; to any primary if it has none
	RouteSplit         // keys in several slots: one part per slot, the replies merged (ROUTE4)
	RouteSlotArg       // sent to the owner of the slot whose number is argument SlotIndex
	RouteAny           // sent to any primary: each would answer the same
	RouteLocal         // answered by the proxy
	RouteLater         // the proxy does not carry it: AppendUnsupported
	RouteRefused       // makes no sense behind a proxy: to a client the command does not exist
)

func (r Route) String() string {
	return [...]string{"none", "keyed", "split", "slot-arg", "any", "local", "later", "refused"}[r]
}

// Merge is how the replies to the parts of a RouteSplit command become one.
type Merge uint8

// Merges.
const (
	MergeNone  Merge = iota
	MergeArray       // one element per key, in the client's order
	MergeOK          // OK if all parts say OK
	MergeSum         // the sum of integers
)

// policy is one line of the table below.
type policy struct {
	route     Route
	names     string // full names separated by spaces; a container's name stands for its subcommands that have no line of their own
	merge     Merge
	keyStep   uint8
	slotIndex uint8
	block     bool // blocks only with the option BLOCK
}

// policies says what the proxy does with commands that the default rule does not cover: a command that has keys, or channels that
// are routed like keys, and does not block is RouteKeyed. A line of its own comes first, then the rule, then the container's line.
var policies = []policy{
	{route: RouteSplit, names: "mget", merge: MergeArray, keyStep: 1},
	{route: RouteSplit, names: "mset", merge: MergeOK, keyStep: 2},
	{route: RouteSplit, names: "del unlink exists touch pfcount", merge: MergeSum, keyStep: 1},

	{route: RouteKeyed, names: "xread xreadgroup", block: true},
	{route: RouteSlotArg, names: "cluster|countkeysinslot cluster|getkeysinslot", slotIndex: 2},

	{route: RouteAny, names: "time lolwut object memory|help xgroup xinfo command|getkeys command|getkeysandflags"},
	{route: RouteAny, names: "acl|help client|help cluster|help command|help commandlog|help config|help function|help latency|help"},
	{route: RouteAny, names: "module|help pubsub|help script|help slowlog|help"},

	{route: RouteLocal, names: "ping echo hello auth quit reset select asking readonly readwrite info role"},
	{route: RouteLocal, names: "client client|id client|setname client|getname client|setinfo client|no-evict client|no-touch"},
	{route: RouteLocal, names: "command command|count command|info command|docs config config|get"},
	{route: RouteLocal, names: "cluster cluster|nodes cluster|slots cluster|shards cluster|info cluster|myid cluster|keyslot cluster|links cluster|myshardid"},

	{route: RouteLater, names: "multi exec discard watch unwatch"},
	{route: RouteLater, names: "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish pubsub"},
	{route: RouteLater, names: "blpop brpop blmove blmpop brpoplpush bzpopmin bzpopmax bzmpop wait"},
	{route: RouteLater, names: "keys scan clusterscan dbsize flushall flushdb randomkey swapdb lastsave script function"},
	{route: RouteLater, names: "acl latency memory module slowlog commandlog config|set config|resetstat command|list"},
	{route: RouteLater, names: "client|info client|list client|kill client|pause client|unpause client|reply client|unblock"},
	{route: RouteLater, names: "client|tracking client|trackinginfo client|caching client|getredir client|capa client|import-source"},
	{route: RouteLater, names: "cluster|replicas cluster|slaves cluster|count-failure-reports cluster|slot-stats"},
	{route: RouteLater, names: "cluster|getslotmigrations"},

	{route: RouteRefused, names: "shutdown replicaof slaveof failover replconf psync sync monitor debug pfdebug pfselftest migrate"},
	{route: RouteRefused, names: "save bgsave bgrewriteaof waitaof restore-asking script|debug config|rewrite acl|save acl|load"},
	{route: RouteRefused, names: "module|load module|loadex module|unload"},
	{route: RouteRefused, names: "cluster|addslots cluster|addslotsrange cluster|delslots cluster|delslotsrange cluster|flushslots"},
	{route: RouteRefused, names: "cluster|flushslot cluster|setslot cluster|meet cluster|forget cluster|replicate cluster|failover"},
	{route: RouteRefused, names: "cluster|reset cluster|saveconfig cluster|bumpepoch cluster|set-config-epoch"},
	{route: RouteRefused, names: "cluster|migrateslots cluster|cancelslotmigrations cluster|syncslots"},
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

// setPolicy decides a row's route, after its keys are known. Where neither the table nor the default rule says anything it is undecided,
// and an error if that is no route.
func (c *Command) setPolicy(undecided Route) error {
	name := strings.ToLower(c.Name)
	p := policyByName[name]
	if p == nil && c.HasKeys() && c.Flags&FlagBlocking == 0 {
		c.Route = RouteKeyed
		return nil
	}
	if p == nil && c.parent != nil {
		p = policyByName[strings.ToLower(c.parent.Name)]
	}
	if p == nil {
		if c.Route = undecided; undecided != routeNone {
			return nil
		}
		return fmt.Errorf("no policy for %q, which has no keys or blocks: policy.go must name it", c.Name)
	}
	c.Route, c.Merge, c.KeyStep, c.SlotIndex, c.blockOption = p.route, p.merge, p.keyStep, p.slotIndex, p.block
	return nil
}

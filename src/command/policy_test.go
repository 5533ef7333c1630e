package command

import (
	"slices"
	"strings"
	"testing"
)

func TestContract_ROUTE2_everyRowHasARoute(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for id := range table.Len() {
			c := table.Row(uint16(id))
			if c.Route == routeNone {
				t.Errorf("%s has no route", c.Name)
			}
			if (c.Route == RouteSplit) != (c.KeyStep != 0) {
				t.Errorf("%s: route %v, key step %d", c.Name, c.Route, c.KeyStep)
			}
			if isJoined := c.Route == RouteSplit || c.Route == RouteBroadcast; isJoined && c.Response == ResponseSpecial {
				t.Errorf("%s: route %v, and nothing says how replies become one", c.Name, c.Route)
			}
			hasArg := c.Route == RouteSlotArg || c.Route == RouteCursor || c.Script == ScriptBody || c.Script == ScriptSHA
			if hasArg != (c.ArgIndex != 0) || int(c.ArgIndex) >= int(max(c.Arity, -c.Arity)) {
				t.Errorf("%s: route %v, argument index %d, arity %d", c.Name, c.Route, c.ArgIndex, c.Arity)
			}
			if c.Flags&FlagBlocking != 0 && c.Route == RouteKeyed && !c.blockOption {
				t.Errorf("%s blocks but is routed like a command that does not", c.Name)
			}
			if c.parent == nil && c.Route == RouteRefused && len(c.subs) != 0 {
				t.Errorf("%s: a container that is refused hides the routes of its subcommands", c.Name)
			}
		}
	})
}

// A name in the table that no server has is a slip of the pen.
func TestPolicy_namesExist(t *testing.T) {
	known := map[string]bool{}
	eachTable(t, func(_ *testing.T, table *Table) {
		for id := range table.Len() {
			known[strings.ToLower(table.Row(uint16(id)).Name)] = true
		}
	})
	for name := range policyByName {
		if !known[name] && !strings.HasPrefix(name, "ft.") { // of a module
			t.Errorf("policy.go names %q, which no server has", name)
		}
	}
	for name := range corrections {
		if !known[name] {
			t.Errorf("corrections.go names %q, which no server has", name)
		}
	}
}

func TestContract_ROUTE4_routes(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for _, test := range []struct {
			names    string
			route    Route
			response ResponsePolicy
			step     uint8
		}{
			{"mget", RouteSplit, ResponseDefaultHashslot, 1},
			{"mset", RouteSplit, ResponseAllSucceeded, 2},
			{"del unlink exists touch pfcount", RouteSplit, ResponseAggSum, 1},
			{"get set hset incr rename smove bitop sort lcs copy pfmerge sinterstore eval xread", RouteKeyed, ResponseDefaultHashslot, 0},
			{"object|encoding memory|usage xgroup|create xinfo|stream", RouteKeyed, ResponseDefaultHashslot, 0},
			{"cluster|countkeysinslot cluster|getkeysinslot", RouteSlotArg, ResponseDefaultKeyless, 0},
			{"hello time client|id client|reply command|docs cluster|nodes config|get", RouteLocal, ResponseDefaultKeyless, 0},
			{"lolwut object|help xgroup|help cluster|help", RouteAny, ResponseDefaultKeyless, 0},
			{"multi exec subscribe client|tracking", RouteLater, ResponseDefaultKeyless, 0},
			{"keys", RouteBroadcast, ResponseDefaultKeyless, 0},
			{"dbsize", RouteBroadcast, ResponseAggSum, 0},
			{"lastsave", RouteBroadcast, ResponseAggMin, 0},
			{"flushall flushdb script|load script|flush function|load function|delete", RouteBroadcast, ResponseAllSucceeded, 0},
			{"function|restore function|flush memory|purge", RouteBroadcast, ResponseAllSucceeded, 0},
			{"script|kill function|kill", RouteBroadcast, ResponseOneSucceeded, 0},
			{"script|exists", RouteBroadcast, ResponseAggLogicalAnd, 0},
		} {
			for name := range strings.FieldsSeq(test.names) {
				c := table.LookupFull([]byte(name))
				if c.Route != test.route || c.Response != test.response || c.KeyStep != test.step {
					t.Errorf("%s: %v, response %d, step %d", name, c.Route, c.Response, c.KeyStep)
				}
			}
		}
	})
}

// What COMMAND shows is what the proxy carries; a container is there for the sake of any subcommand.
func TestContract_ROUTE10_offered(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for _, test := range []struct {
			names string
			want  bool
		}{
			{"get mget xread eval time ping info command command|docs command|getkeys command|list config config|get client client|id", true},
			{"cluster cluster|nodes cluster|countkeysinslot object object|encoding memory memory|usage", true},
			{"acl acl|help script script|help function function|help pubsub pubsub|help latency slowlog module", true},
			{"multi exec discard watch subscribe ssubscribe publish blpop wait", false},
			{"config|set client|kill client|tracking latency|histogram acl|whoami pubsub|channels", false},
		} {
			for name := range strings.FieldsSeq(test.names) {
				if got := table.LookupFull([]byte(name)).Offered(); got != test.want {
					t.Errorf("%s: offered is %v", name, got)
				}
			}
		}
		for id := range table.Len() {
			c := table.Row(uint16(id))
			want := carried[c.Route]
			if len(c.subs) != 0 {
				want = slices.ContainsFunc(c.subs, func(s Command) bool { return carried[s.Route] })
			}
			if c.Offered() != want {
				t.Errorf("%s, %v: offered is %v", c.Name, c.Route, c.Offered())
			}
		}
		hidden := &Command{Route: RouteLocal, subs: []Command{{Route: RouteLater}, {Route: RouteRefused}}}
		if hidden.Offered() {
			t.Error("a container is offered of which the proxy carries no subcommand")
		}
	})
}

// carried are the routes of commands that a client can use.
var carried = map[Route]bool{RouteKeyed: true, RouteSplit: true, RouteSlotArg: true, RouteAny: true, RouteLocal: true,
	RouteBroadcast: true, RouteCursor: true, RouteSample: true}

func TestContract_ROUTE3_policyNames(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		for _, test := range []struct {
			name     string
			request  RequestPolicy
			response ResponsePolicy
		}{
			{"get", RequestDefault, ResponseDefaultHashslot},
			{"time", RequestDefault, ResponseDefaultKeyless},
			{"mget", RequestMultiShard, ResponseDefaultHashslot},
			{"mset", RequestMultiShard, ResponseAllSucceeded},
			{"del", RequestMultiShard, ResponseAggSum},
			{"dbsize", RequestAllShards, ResponseAggSum},
			{"wait", RequestAllShards, ResponseAggMin},
			{"script|load", RequestAllNodes, ResponseAllSucceeded},
			{"script|exists", RequestAllShards, ResponseAggLogicalAnd},
			{"script|kill", RequestAllShards, ResponseOneSucceeded},
			{"info", RequestAllShards, ResponseSpecial},
		} {
			c := table.LookupFull([]byte(test.name))
			if c.Request != test.request || c.Response != test.response {
				t.Errorf("%s: request policy %d, response policy %d", test.name, c.Request, c.Response)
			}
		}
		for id := range table.Len() {
			for _, tip := range table.Row(uint16(id)).Tips {
				key, value, ok := strings.Cut(tip, ":")
				known := !ok || key == "request_policy" && requestPolicies[value] != 0 || key == "response_policy" && responsePolicies[value] != 0
				if !known {
					t.Errorf("%s has the unknown tip %q", table.Row(uint16(id)).Name, tip)
				}
			}
		}
	})
}

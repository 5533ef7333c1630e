package command

import (
	"strings"
	"testing"

	"mithril/src/resp"
)

// A command that no line and no rule covers must not get into a table of data/.
func TestPolicy_undecidedCommandIsAnError(t *testing.T) {
	key := []KeySpec{{Begin: BeginIndex, Index: 1, Count: CountRange, Step: 1}}
	for _, c := range []Command{
		{Name: "newcommand"},
		{Name: "newblocker", Flags: FlagBlocking, KeySpecs: key},
		{Name: "newlogin", Flags: FlagNoAuth, KeySpecs: key},
		{Name: "newwatch", Flags: FlagNoMulti, KeySpecs: key},
		{Name: "newsubscribe", Flags: FlagPubSub, KeySpecs: key},
		{Name: "newfinder", Flags: FlagMovableKeys},
		{Name: "newriddle", KeySpecs: []KeySpec{{}}},
	} {
		if err := c.setPolicy(mustDecide); err == nil || !strings.Contains(err.Error(), c.Name) {
			t.Errorf("%s: error %v", c.Name, err)
		}
	}
}

// extra is a list of one command in the words of ParseExtra.
func extra(t *testing.T, line string) *Rows {
	t.Helper()
	rows, err := ParseExtra(strings.Fields(line))
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return rows
}

// told is what a node would answer to COMMAND that has these commands, described as for ParseExtra but for their names, which may be those
// of subcommands and of built-in commands. The lines of subcommands follow their container's.
func told(t *testing.T, lines ...string) *Rows {
	t.Helper()
	var rows []string
	var subs []int // by row, -1 for a subcommand
	for _, line := range lines {
		words := strings.Fields(line)
		name := words[0]
		words[0] = strings.ReplaceAll(name, "|", ".")
		text, err := appendExtra(nil, words)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, strings.Replace(string(text), "\r\n"+words[0]+"\r\n", "\r\n"+name+"\r\n", 1))
		subs = append(subs, 0)
		if strings.Contains(name, "|") {
			at := len(subs) - 1
			for subs[at] = -1; subs[at] < 0; at-- {
			}
			subs[at]++
		}
	}
	var reply []byte
	count := 0
	for i, row := range rows {
		if subs[i] >= 0 {
			count++
			row = strings.TrimSuffix(row, "*0\r\n") + string(resp.AppendArray(nil, subs[i]))
		}
		reply = append(reply, row...)
	}
	list, err := ParseRows(append(resp.AppendArray(nil, count), reply...))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestContract_ROUTE3_rulesForCommandsOfModules: what the proxy does with commands that only the nodes know follows from what they say.
func TestContract_ROUTE3_rulesForCommandsOfModules(t *testing.T) {
	tests := []struct {
		line     string
		route    Route
		response ResponsePolicy
	}{
		{"m.get 2 readonly 1 1 1", RouteKeyed, ResponseDefaultHashslot},
		{"m.keys -2 readonly 1 -1 1", RouteKeyed, ResponseDefaultHashslot},
		{"m.third -4 readonly,movablekeys 3 3 1", RouteKeyed, ResponseDefaultHashslot},
		{"m.fix -2 admin 1 1 1", RouteKeyed, ResponseDefaultHashslot},
		{"m.mget -2 readonly 1 -1 1 request_policy:multi_shard", RouteSplit, ResponseDefaultHashslot},
		{"m.mset -4 write 1 -1 3 request_policy:multi_shard response_policy:all_succeeded", RouteSplit, ResponseAllSucceeded},
		{"m.mget2 -3 readonly 1 -2 1 request_policy:multi_shard", RouteKeyed, ResponseDefaultHashslot},
		{"m.mget3 -1 readonly 1 -1 1 request_policy:multi_shard", RouteKeyed, ResponseDefaultHashslot},
		{"m.mget4 -2 readonly 1 -1 1 request_policy:multi_shard response_policy:special", RouteKeyed, ResponseSpecial},
		{"m.ping 1 fast 0 0 0", RouteAny, ResponseDefaultKeyless},
		{"m.list 1 readonly 0 0 0 nondeterministic_output", RouteAny, ResponseDefaultKeyless},
		{"m.size 1 readonly 0 0 0 request_policy:all_shards response_policy:agg_sum", RouteBroadcast, ResponseAggSum},
		{"m.load -2 write 0 0 0 request_policy:all_nodes response_policy:all_succeeded", RouteBroadcast, ResponseAllSucceeded},
		{"m.all 1 readonly 0 0 0 request_policy:all_shards", RouteBroadcast, ResponseDefaultKeyless},
		{"m.odd 1 readonly 0 0 0 request_policy:all_shards response_policy:special", RouteLater, ResponseSpecial},
		{"m.own 1 readonly 0 0 0 request_policy:special", RouteLater, ResponseDefaultKeyless},
		{"m.pop -2 write,blocking 1 1 1", RouteLater, ResponseDefaultHashslot},
		{"m.sub -2 pubsub 1 1 1", RouteLater, ResponseDefaultHashslot},
		{"m.login -2 no_auth 0 0 0", RouteLater, ResponseDefaultKeyless},
		{"m.watch -2 no_multi 1 1 1", RouteLater, ResponseDefaultHashslot},
		{"m.conf -2 admin 0 0 0", RouteLater, ResponseDefaultKeyless},
		{"m.find -2 readonly,movablekeys 0 0 0", RouteLater, ResponseDefaultKeyless},
		{"m.seek -2 readonly,movablekeys 0 0 0 request_policy:all_shards", RouteLater, ResponseDefaultKeyless},
		{"m.box -2 - 0 0 0", RouteAny, ResponseDefaultKeyless},
		{"m.box|get 3 readonly 2 2 1", RouteKeyed, ResponseDefaultHashslot},
		{"m.box|size 2 readonly 0 0 0 request_policy:all_shards response_policy:agg_max", RouteBroadcast, ResponseAggMax},
		{"m.box|pop 3 write,blocking 2 2 1", RouteLater, ResponseDefaultHashslot},
		{"m.box|help 2 - 0 0 0", RouteAny, ResponseDefaultKeyless},
		{"FT.AGGREGATE -3 readonly 1 1 1", RouteCursor, ResponseDefaultHashslot},
		{"FT.CURSOR -1 readonly 0 0 0", RouteCursor, ResponseDefaultKeyless},
		{"waitaof 4 blocking 0 0 0", RouteRefused, ResponseDefaultKeyless},
	}
	var lines []string
	for _, test := range tests {
		lines = append(lines, test.line)
	}
	table, err := ForEngine("redis", 7, 0).Extend(told(t, lines...))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		name, _, _ := strings.Cut(test.line, " ")
		id := ForEngine("redis", 7, 0).Len()
		for id < table.Len() && !strings.EqualFold(table.Row(uint16(id)).Name, name) {
			id++
		}
		if id == table.Len() {
			t.Errorf("%s is not there", name)
			continue
		}
		if c := table.Row(uint16(id)); c.Route != test.route || c.Response != test.response || (c.Route == RouteSplit) != (c.KeyStep != 0) {
			t.Errorf("%s: route %v, response %d, key step %d", test.line, c.Route, c.Response, c.KeyStep)
		}
	}
}

// Tips alone do not decide about subcommands of the servers' own containers, nor about commands that are about their connection.
func TestContract_ROUTE3_tipsAreNotEnough(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		if c := table.LookupFull([]byte("slowlog|reset")); c.Request != RequestAllNodes || c.Route != RouteLater {
			t.Errorf("slowlog|reset: request policy %d, route %v", c.Request, c.Route)
		}
	})
	for _, category := range []string{"connection", "transaction"} {
		if route, err := openTo(&Command{Categories: categoryBits[category]}); route != RouteLater || err != nil {
			t.Errorf("a command about its %s: %v, %v", category, route, err)
		}
	}
}

// The argument that a line of policy.go names is there, whatever arity a module has.
func TestContract_ROUTE6_cursorArgumentIsThere(t *testing.T) {
	for _, lines := range [][]string{
		{"ft.cursor -1 readonly 0 0 0"},
		{"ft.cursor -2 - 0 0 0", "ft.cursor|read -4 readonly 0 0 0", "ft.cursor|del 3 write 0 0 0"},
	} {
		table, err := ForEngine("redis", 8, 0).Extend(told(t, lines...))
		if err != nil {
			t.Fatal(err)
		}
		for _, sub := range []string{"READ", "DEL"} {
			for n := 1; n <= 5; n++ {
				frame, args := request([]string{"FT.CURSOR", sub, "index", "7", "COUNT"}[:n]...)
				c, problem := table.Find(frame, args)
				if fits := problem == OK; fits != (n >= 4) || fits && (c.Route != RouteCursor || c.ArgIndex != 3 || !c.CursorLast) {
					t.Errorf("%q: %s with %d arguments: %v, problem %d", lines, sub, n, c, problem)
				}
			}
		}
	}
}

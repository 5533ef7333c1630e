package routing

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// tableOf is the table that the proxy has in front of a server release.
func tableOf(t *testing.T, server string) *command.Table {
	t.Helper()
	switch server {
	case testbed.Redis70:
		return command.ForEngine("redis", 7, 0)
	case testbed.Redis80:
		return command.ForEngine("redis", 8, 0)
	case testbed.Valkey91:
		return command.ForEngine("valkey", 9, 1)
	}
	t.Fatalf("no table for %s", server)
	return nil
}

// call is a row's name as a client sends it, with its container in front.
func call(row *command.Command) []string { return strings.Split(row.Name, "|") }

// TestContract_ROUTE2_UnknownAndRefusedCommands: what the proxy does not carry does not
// exist, in the words in which a node says that of a command or subcommand it has never
// heard of.
func TestContract_ROUTE2_UnknownAndRefusedCommands(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, request := range [][]any{
			{"NONESUCH"}, {"nonesuch", "a", "b"}, {"GETT", "k"}, {"CLIENT", "NONESUCH"}, {"client", "nonesuch", "x"}, {"OBJECT", "NONESUCH", "k"},
			{"XGROUP", "NONESUCH", "k"}, {"GET|SET", "k"}, {"CLIENT|ID"}, {" GET", "k"}, {"GET ", "k"},
		} {
			pair.Same(t, request...)
		}
		table := tableOf(t, e.Server)
		for id := range table.Len() {
			row := table.Row(uint16(id))
			if row.Route != command.RouteRefused {
				continue
			}
			words := call(row)
			if len(words) == 1 && len(row.Subcommands()) > 0 {
				continue // its subcommands come by themselves
			}
			want := fmt.Sprintf("-ERR unknown command '%s', with args beginning with: 'a' 'b' \r\n", words[0])
			if row.Parent() != nil && row.Parent().Route != command.RouteRefused {
				want = fmt.Sprintf("-ERR unknown subcommand '%s'. Try %s HELP.\r\n", words[1], strings.ToUpper(words[0]))
			}
			harness.Expect(t, pair.Proxy, array(append(anys(words...), "a", "b")...), want)
		}
	})
}

// TestContract_ROUTE2_WrongArity sends every command with too few and too many arguments,
// and expects what a node says. A node that is asked through the proxy would count errors.
func TestContract_ROUTE2_WrongArity(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		resetStats(t, nodes)
		pair := e.Pair(t, 2)
		table := tableOf(t, e.Server)
		for id := range table.Len() {
			row := table.Row(uint16(id))
			if row.Route == command.RouteRefused || row.Parent() != nil && row.Parent().Route == command.RouteRefused {
				continue
			}
			for _, request := range wrongCounts(row) {
				if got := pair.Same(t, request...); !strings.Contains(got, "wrong number of arguments for ") {
					t.Errorf("%v: the lone node answered %q", request, got)
				}
			}
		}
		if n := infoSum(t, nodes, "errorstats", "errorstat_ERR", "count"); n != 0 {
			t.Errorf("the nodes have answered %d errors to requests that the proxy could refuse", n)
		}
	})
}

// wrongCounts returns calls of a row with one argument too few and one too many, where the
// row has such a count.
func wrongCounts(row *command.Command) (requests [][]any) {
	name := call(row)
	for _, n := range []int{int(row.Arity) + 1, int(row.Arity) - 1, -int(row.Arity) - 1} {
		if n < len(name) || row.Accepts(n) || len(row.Subcommands()) > 0 && n > 1 {
			continue
		}
		request := anys(name...)
		for len(request) < n {
			request = append(request, "x")
		}
		requests = append(requests, request)
	}
	return requests
}

// TestContract_ROUTE2_WrongCountsExist keeps wrongCounts from finding nothing.
func TestContract_ROUTE2_WrongCountsExist(t *testing.T) {
	for _, server := range harness.Servers {
		table := tableOf(t, server)
		found := 0
		for id := range table.Len() {
			found += len(wrongCounts(table.Row(uint16(id))))
		}
		if found < table.Len() {
			t.Errorf("%s: %d calls with a wrong count for %d rows, want one for each at least", server, found, table.Len())
		}
	}
	get := command.ForEngine("redis", 7, 0).Lookup([]byte("get"))
	if got := fmt.Sprint(wrongCounts(get)); got != "[[get x x] [get]]" {
		t.Errorf("wrong counts of GET: %v", got)
	}
}

// TestContract_PROTO5_WhereAClusterDiffers has the commands in which a cluster's node
// answers something else than a standalone one. The proxy answers what the node does.
func TestContract_PROTO5_WhereAClusterDiffers(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := &harness.Pair{Proxy: e.Proxy.Dial(t), Lone: e.Owner(t, "k")}
		do(t, pair.Lone, "RPUSH", "{k}l", 2, 1)
		for _, request := range [][]any{
			{"SET", "k", "v"}, {"MOVE", "k", 1}, {"MOVE", "k", 0}, {"COPY", "k", "{k}2", "DB", 1}, {"COPY", "k", "{k}3", "DB", 0, "REPLACE"},
			{"SORT", "{k}l", "BY", "w_*"}, {"SORT", "{k}l", "GET", "w_*"}, {"SORT", "{k}l", "BY", "nosort", "GET", "#"},
			{"SORT_RO", "{k}l", "BY", "w_*"}, {"SELECT", 0}, {"SELECT", 1}, {"SELECT", 16}, {"SELECT", -1}, {"SELECT", "x"}, {"SELECT", "99999999999"},
			{"SELECT"}, {"CLUSTER", "HELP"}, {"CLUSTER", "NONESUCH"}, {"READONLY"}, {"READWRITE"}, {"OBJECT", "ENCODING", "k"},
			{"EVAL", "return redis.call('get', 'elsewhere')", 1, "k"}, {"EVAL", "return redis.call('select', 1)", 1, "k"},
			{"COMMAND", "GETKEYS", "GET", "k"}, {"SWAPDB", 0, 1}, {"SWAPDB", "x", 99}, {"SWAPDB", 0},
		} {
			pair.Same(t, request...)
		}
	})
}

// TestContract_ROUTE11_SelectOfOneDatabase: a session stays where it is.
func TestContract_ROUTE11_SelectOfOneDatabase(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		harness.Expect(t, c, array("SET", "k", "v")+array("SELECT", 0)+array("GET", "k"), "+OK\r\n+OK\r\n$1\r\nv\r\n")
		if _, err := c.Do("SELECT", 1); err == nil {
			t.Error("SELECT 1: no error in front of a cluster with one database")
		}
		harness.Expect(t, c, array("GET", "k"), "$1\r\nv\r\n")
	})
}

// TestContract_ROUTE2_NotCarriedSaysSo: a command that exists and that the proxy does not
// carry is refused by name, and no node hears of it.
func TestContract_ROUTE2_NotCarriedSaysSo(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		nodes := primaries(t, e)
		resetStats(t, nodes)
		table := tableOf(t, e.Server)
		for id := range table.Len() {
			row := table.Row(uint16(id))
			if row.Route != command.RouteLater || len(row.Subcommands()) > 0 {
				continue
			}
			request := anys(call(row)...)
			for !row.Accepts(len(request)) {
				request = append(request, "1")
			}
			// Each on a connection of its own: behind a refused MULTI all else is refused too.
			harness.Expect(t, e.Proxy.Dial(t), array(request...), fmt.Sprintf("-ERR '%s' is not supported by this proxy\r\n", row.Name))
			ours := map[string]int{"config|resetstat": len(nodes)}[row.Name] // by resetStats
			if asked := calls(t, nodes, row.Name); asked != ours {
				t.Errorf("%v reached a node", request)
			}
		}
		for _, request := range [][]any{{"XREAD", "BLOCK", 10, "STREAMS", "s", "$"}, {"XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"}} {
			harness.Expect(t, e.Proxy.Dial(t), array(request...)+array("PING"),
				fmt.Sprintf("-ERR '%s' with BLOCK is not supported by this proxy\r\n+PONG\r\n", strings.ToLower(request[0].(string))))
		}
	})
}

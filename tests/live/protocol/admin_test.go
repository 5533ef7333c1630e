package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_ROUTE9_AnswersOfAServer compares what the proxy answers itself, or asks any node, with a
// server's own answers.
func TestContract_ROUTE9_AnswersOfAServer(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for _, request := range [][]any{
				{"SET", "k", "v"}, {"RPUSH", "l", 1, 2, 3},
				{"ROLE"}, {"ROLE", "x"}, {"LOLWUT", "VERSION", "x"}, {"TIME", "x"}, {"MODULE", "LIST"}, {"MODULE", "LIST", "x"},
				{"OBJECT", "ENCODING", "k"}, {"OBJECT", "ENCODING", "l"}, {"OBJECT", "ENCODING", "none"}, {"OBJECT", "REFCOUNT", "l"},
				{"OBJECT", "IDLETIME", "none"}, {"OBJECT", "FREQ", "k"}, {"OBJECT", "FREQ", "none"}, {"OBJECT", "HELP"},
				{"MEMORY", "USAGE", "none"}, {"MEMORY", "USAGE", "k", "SAMPLES", "x"}, {"MEMORY", "USAGE", "k", "SAMPLES"}, {"MEMORY", "HELP"},
				{"LATENCY", "LATEST"}, {"LATENCY", "HISTORY", "command"}, {"LATENCY", "GRAPH", "command"}, {"LATENCY", "RESET"},
				{"LATENCY", "RESET", "a", "b"}, {"LATENCY", "DOCTOR"}, {"LATENCY", "HELP"}, {"LATENCY", "LATEST", "x"}, {"LATENCY", "HISTORY"},
				{"CONFIG", "GET", "nosuch"}, {"CONFIG", "GET", "save"}, {"CONFIG", "GET", "appendonly"}, {"CONFIG", "GET"}, {"CONFIG", "HELP"},
				{"CLIENT", "HELP"}, {"COMMAND", "HELP"}, {"SLOWLOG", "HELP"}, {"SCRIPT", "HELP"}, {"FUNCTION", "HELP"}, {"XINFO", "HELP"},
			} {
				pair.Same(t, request...)
			}
			for _, request := range [][]any{
				{"TIME"}, {"OBJECT", "IDLETIME", "k"}, {"MEMORY", "USAGE", "k"}, {"MEMORY", "USAGE", "l", "SAMPLES", 0}, {"LOLWUT"}, {"LOLWUT", "VERSION", 5},
				{"CONFIG", "GET", "maxclients"}, {"CONFIG", "GET", "port"}, {"CONFIG", "GET", "maxclients", "timeout", "requirepass"},
			} {
				pair.SameAs(t, harness.Shape, request...)
			}
		}
	})
}

// TestContract_ROUTE9_ModeOfAConnection: a node's connection can be told to take reads, or an ASKING
// request; a client of the proxy may say so, and it changes nothing.
func TestContract_ROUTE9_ModeOfAConnection(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		node := testbed.MustDial(t, e.Cluster.Nodes()[0].Addr())
		pair := &harness.Pair{Proxy: e.Proxy.Dial(t), Lone: node}
		for _, request := range []string{"READONLY", "READWRITE", "ASKING", "READONLY x", "READWRITE x", "ASKING x"} {
			pair.SameRaw(t, said(request), 1)
		}
		harness.Expect(t, pair.Proxy, said("READONLY", "SET a 1", "ASKING", "SET b 2", "GET a", "READWRITE", "GET b"),
			"+OK\r\n+OK\r\n+OK\r\n+OK\r\n$1\r\n1\r\n+OK\r\n$1\r\n2\r\n")
	})
}

// TestContract_ROUTE9_TimeOfTheProxy: it goes on, and it is that of the nodes beside it.
func TestContract_ROUTE9_TimeOfTheProxy(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 3)
		micros := func(c *testbed.Conn) (n int) {
			for _, part := range harness.MustDo(t, c, "TIME").([]any) {
				n = n*1_000_000 + number(t, part.(string))
			}
			return n
		}
		for range 100 {
			before, now, after := micros(pair.Lone), micros(pair.Proxy), micros(pair.Lone)
			if now < before || now > after {
				t.Fatalf("it is %d, between %d and %d on the lone node", now, before, after)
			}
		}
	})
}

// TestCase_M01_GraphicalTools says what they ask when they start. What is not carried is answered too,
// and the session goes on.
func TestCase_M01_GraphicalTools(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		pair.Same(t, "SET", "k", "v")
		for _, request := range [][]any{
			{"DBSIZE"}, {"FT._LIST"}, {"TYPE", "k"}, {"TTL", "k"}, {"STRLEN", "k"}, {"OBJECT", "ENCODING", "k"}, {"MODULE", "LIST"},
			{"CLIENT", "SETNAME", "tool"}, {"CONFIG", "GET", "databases*x"}, {"LATENCY", "LATEST"}, {"JSON.GET", "k"}, {"TS.INFO", "k"},
		} {
			pair.Same(t, request...)
		}
		for _, request := range [][]any{
			{"INFO"}, {"INFO", "server"}, {"MEMORY", "USAGE", "k"}, {"SCAN", 0, "MATCH", "*", "COUNT", 10000}, {"COMMAND"}, {"ROLE"}, {"LASTSAVE"},
		} {
			pair.SameAs(t, harness.Kind, request...)
		}
		for _, request := range [][]any{
			{"CLIENT", "LIST"}, {"SLOWLOG", "GET"}, {"SLOWLOG", "LEN"}, {"ACL", "WHOAMI"}, {"PUBSUB", "CHANNELS"}, {"MEMORY", "STATS"},
			{"MEMORY", "DOCTOR"}, {"DEBUG", "OBJECT", "k"}, {"MONITOR"}, {"CONFIG", "SET", "slowlog-max-len", 100},
		} {
			if reply, err := pair.Proxy.DoRaw([]byte(array(request...)), 1); err != nil || reply[0] == '-' && !strings.HasPrefix(string(reply), "-ERR ") {
				t.Errorf("%v: %q, %v", request, reply, err)
			}
			pair.Same(t, "GET", "k")
		}
	})
}

// TestCase_N02_EachSubcommandWithOneMoreOrLess calls each subcommand with an argument too few and with
// one too many, as its arity has it.
func TestCase_N02_EachSubcommandWithOneMoreOrLess(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		i := slices.IndexFunc(command.Versions, func(v command.Version) bool { return strings.Replace(v.String(), "-", "", 1) == e.Server })
		v := command.Versions[i]
		table, calls := command.ForEngine(v.Engine, v.Major, v.Minor), 0
		for id := range table.Len() {
			c := table.Row(uint16(id))
			if c.Parent() == nil || c.Route == command.RouteRefused {
				continue
			}
			for _, argc := range []int{int(max(c.Arity, -c.Arity)) - 1, int(c.Arity) + 1} {
				if argc < 2 || c.Accepts(argc) {
					continue // the container alone, or right
				}
				request := []any{c.Parent().Name, c.ShortName}
				for len(request) < argc {
					request = append(request, fmt.Sprint("x", len(request)))
				}
				if got := pair.Same(t, request...); !strings.HasPrefix(got, "-ERR wrong number of arguments for '") {
					t.Errorf("%v: the lone node answered %q", request, got)
				}
				calls++
			}
		}
		if calls < 50 {
			t.Errorf("only %d calls", calls)
		}
		pair.Same(t, "PING")
	})
}

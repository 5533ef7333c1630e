package admin

import (
	"bufio"
	"net"
	"slices"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// TestContract_ROUTE10_CommandAsOnServers compares rows and documentation of commands
// without subcommands, whose order servers leave open. What the proxy does not carry is
// answered as what a server does not know.
func TestContract_ROUTE10_CommandAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, request := range [][]string{
			{"COMMAND", "INFO", "get"},
			{"COMMAND", "INFO", "GET", "nosuch", "mget", "xadd", "eval", "config|get", "CONFIG|nosuch", "get"},
			{"COMMAND", "INFO", ""},
			{"COMMAND", "DOCS", "get"},
			{"COMMAND", "DOCS", "SET", "nosuch", "zadd", "config|get"},
			{"COMMAND", "DOCS", "nosuch"},
			{"command", "docs", ""},
		} {
			equal(t, request, own.bytes(request...), real.bytes(request...))
		}
		for _, about := range []string{"INFO", "DOCS"} {
			unknown := real.bytes("COMMAND", about, "nosuch", "get")
			for _, name := range []string{"multi", "WAIT", "client|kill", "shutdown"} {
				request := []string{"COMMAND", about, name, "get"}
				equal(t, request, own.bytes(request...), unknown)
			}
		}
	})
}

// TestContract_ROUTE10_WholeTable: the forms without names hold what COMMAND COUNT says,
// and nothing that the proxy refuses or does not carry.
func TestContract_ROUTE10_WholeTable(t *testing.T) {
	for _, proto := range protos {
		r := newRig(t, valkey91, "")
		r.proto = proto
		count := parse(t, r.bytes("COMMAND", "COUNT")).(int64)
		rows := parse(t, r.bytes("COMMAND")).([]any)
		info := parse(t, r.bytes("COMMAND", "INFO")).([]any)
		docs := len(pairs(parse(t, r.bytes("COMMAND", "DOCS"))))
		if int64(len(rows)) != count || int64(len(info)) != count || int64(docs) != 2*count {
			t.Errorf("RESP%d: COUNT %d, COMMAND %d, INFO %d, DOCS %d/2", proto, count, len(rows), len(info), docs)
		}
		for _, row := range rows {
			name := row.([]any)[0].(string)
			if slices.Contains([]string{"shutdown", "migrate", "multi", "subscribe", "blpop", "wait"}, name) {
				t.Errorf("RESP%d: %s is listed", proto, name)
			}
		}
	}
}

// TestContract_ROUTE10_ListAsOnServers compares COMMAND LIST with a server's, in which order they come and what the proxy does not carry apart.
func TestContract_ROUTE10_ListAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, filter := range []string{
			"", "FILTERBY MODULE nosuch", "FILTERBY ACLCAT read", "filterby AclCat DANGEROUS", "FILTERBY ACLCAT nosuch", "FILTERBY ACLCAT @read",
			"FILTERBY PATTERN *", "FILTERBY PATTERN x[a-i]*", "FILTERBY PATTERN CLIENT|*", "FILTERBY PATTERN client", "FILTERBY PATTERN [",
		} {
			request := append([]string{"COMMAND", "LIST"}, strings.Fields(filter)...)
			got, gotType := names(own.bytes(request...))
			all, wantType := names(real.bytes(request...))
			want := slices.DeleteFunc(all, func(name string) bool {
				c := own.table.LookupFull([]byte(name))
				return c == nil || !c.Offered()
			})
			if !slices.Equal(got, want) || gotType != wantType {
				t.Errorf("%q:\n got %q %q\nwant %q %q", request, gotType, got, wantType, want)
			}
		}
		for _, odd := range []string{
			"x", "FILTERBY", "FILTERBY MODULE", "FILTERBY PATTERN a b", "FILTERBY NOSUCH x", "NOSUCH PATTERN x", "FILTERBY ACLCAT read FILTERBY PATTERN x",
		} {
			request := append([]string{"COMMAND", "LIST"}, strings.Fields(odd)...)
			equal(t, request, own.bytes(request...), real.bytes(request...))
		}
	})
}

// names are the strings of an array in order, with its type.
func names(reply string) (list []string, kind byte) {
	lines := strings.Split(reply, "\r\n")
	for i := 2; i < len(lines); i += 2 {
		list = append(list, lines[i])
	}
	slices.Sort(list)
	return list, reply[0]
}

// TestContract_ROUTE10_KeysAsOnServers compares COMMAND GETKEYS and GETKEYSANDFLAGS; package command does so with every command. What the
// proxy does not carry is answered as what a server does not know.
func TestContract_ROUTE10_KeysAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, about := range []string{"GETKEYS", "GETKEYSANDFLAGS"} {
			for _, line := range []string{
				"MSET a 1 b 2", "SET k v", "SET k v GET", "EVAL s 0", "EVAL s 2 a b c", "ZUNIONSTORE d 2 a b", "PING x", "nosuch x", "OBJECT NOSUCH k",
				"SORT k BY w STORE d", "LMPOP 5 a LEFT", "SPUBLISH c m", "memory usage k",
			} {
				request := append([]string{"COMMAND", about}, strings.Fields(line)...)
				equal(t, request, own.bytes(request...), real.bytes(request...))
			}
			unknown := real.bytes("COMMAND", about, "nosuch", "x")
			for _, line := range []string{"MULTI x", "BLPOP k 0", "SHUTDOWN x", "CLIENT KILL"} {
				request := append([]string{"COMMAND", about}, strings.Fields(line)...)
				equal(t, request, own.bytes(request...), unknown)
			}
		}
	})
}

// parse reads one reply.
func parse(t *testing.T, reply string) any {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		w := bufio.NewWriter(far)
		w.WriteString(reply)
		w.Flush()
	}()
	value, err := testbed.NewConn(near).Receive()
	if err != nil {
		t.Fatalf("%v in %q", err, reply[:min(len(reply), 200)])
	}
	return value
}

// pairs are the keys and values of a map in either protocol.
func pairs(value any) []any {
	if m, ok := value.(testbed.Map); ok {
		return m
	}
	return value.([]any)
}

// TestUnansweredCommandIsUnsupported: a command that no method answers is not left
// without a reply.
func TestUnansweredCommandIsUnsupported(t *testing.T) {
	r := newRig(t, valkey91, "")
	if got := r.bytes("GET", "k"); !strings.HasPrefix(got, "-ERR 'get' is not supported") {
		t.Errorf("got %q", got)
	}
}

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
			for _, name := range []string{"multi", "WAIT", "client|list", "shutdown"} {
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

package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mithril/src/worker"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// clientLines asks for the list of clients and reads it: by id, the fields of each.
func clientLines(t *testing.T, c *testbed.Conn, options ...any) map[string]map[string]string {
	t.Helper()
	reply, err := c.Do(append([]any{"CLIENT", "LIST"}, options...)...)
	if err != nil {
		t.Fatalf("CLIENT LIST %v: %v", options, err)
	}
	text, ok := reply.(string)
	if v, verbatim := reply.(testbed.Verbatim); verbatim {
		text, ok = v.Text, v.Format == "txt"
	}
	if !ok {
		t.Fatalf("CLIENT LIST answered %#v", reply)
	}
	lines := map[string]map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			continue
		}
		fields := lineOf(t, line)
		if lines[fields["id"]] != nil {
			t.Errorf("two lines of client %s", fields["id"])
		}
		lines[fields["id"]] = fields
	}
	return lines
}

// lineOf reads the line of one client.
func lineOf(t *testing.T, line string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for _, word := range strings.Split(strings.TrimSuffix(line, "\n"), " ") {
		key, value, found := strings.Cut(word, "=")
		if !found {
			t.Fatalf("%q in the line of a client: %q", word, line)
		}
		fields[key] = value
	}
	return fields
}

// idOf is what CLIENT ID says.
func idOf(t *testing.T, c *testbed.Conn) string {
	t.Helper()
	id, err := c.Do("CLIENT", "ID")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(id)
}

// TestContract_OBS2_ListOfAllWorkers: whoever asks, on whichever worker, learns of all clients of the process, and of none that
// has left.
func TestContract_OBS2_ListOfAllWorkers(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		var conns []*testbed.Conn
		var ids []string
		for i := range 12 {
			c := e.Proxy.DialProto(t, 2+i%2)
			if _, err := c.Do("CLIENT", "SETNAME", fmt.Sprint("client-", i)); err != nil {
				t.Fatal(err)
			}
			conns, ids = append(conns, c), append(ids, idOf(t, c))
		}
		for _, asker := range conns {
			lines := clientLines(t, asker)
			for i, c := range conns {
				want := map[string]string{
					"addr": c.NetConn().LocalAddr().String(), "laddr": c.NetConn().RemoteAddr().String(), "name": fmt.Sprint("client-", i),
					"resp": strconv.Itoa(2 + i%2), "flags": "N", "user": "default", "db": "0", "multi": "-1", "redir": "-1", "events": "r",
				}
				for key, value := range want {
					if got := lines[ids[i]][key]; got != value {
						t.Errorf("client %d has %s=%s, want %s", i, key, got, value)
					}
				}
			}
			if len(lines) != len(conns) {
				t.Errorf("%d clients, want %d", len(lines), len(conns))
			}
		}
		self, err := conns[0].Do("CLIENT", "INFO")
		if err != nil || lineOf(t, self.(string))["id"] != ids[0] || lineOf(t, self.(string))["cmd"] != "client|info" {
			t.Errorf("CLIENT INFO: %q, %v", self, err)
		}
		for _, c := range conns[6:] {
			c.Close()
		}
		harness.Eventually(t, harness.Patience, "a list of six clients", func() error {
			if n := len(clientLines(t, conns[0])); n != 6 {
				return fmt.Errorf("%d clients", n)
			}
			return nil
		})
	})
}

// TestContract_OBS2_ListByID: in the order in which clients came, or, of Redis, were asked for.
func TestContract_OBS2_ListByID(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		var conns []*testbed.Conn
		var ids []string
		for range 8 {
			c := e.Proxy.Dial(t)
			conns, ids = append(conns, c), append(ids, idOf(t, c))
		}
		inOrder := slices.Clone(ids)
		slices.SortFunc(inOrder, func(a, b string) int { return number(t, a) - number(t, b) })
		reversed := []any{"CLIENT", "LIST", "ID"}
		want := slices.Clone(inOrder)
		for _, id := range slices.Backward(inOrder) {
			reversed = append(reversed, id)
		}
		if e.Server != testbed.Valkey91 {
			slices.Reverse(want)
		}
		for _, c := range conns {
			if got := idsOf(t, c, "CLIENT", "LIST"); !slices.Equal(got, inOrder) {
				t.Errorf("CLIENT LIST: %q, want %q", got, inOrder)
			}
			if got := idsOf(t, c, reversed...); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", reversed, got, want)
			}
		}
	})
}

// idsOf are the ids of a list, in its order.
func idsOf(t *testing.T, c *testbed.Conn, request ...any) (ids []string) {
	t.Helper()
	reply, err := c.Do(request...)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(reply.(string), "\n"), "\n") {
		ids = append(ids, lineOf(t, line)["id"])
	}
	return ids
}

// steps are what a client does, one after the other, while another one looks at its line.
var steps = [][]any{
	{"GET", "k"}, {"SET", "k", "v"}, {"NONESUCH"}, {"MGET", "a", "b", "c"}, {"GET"}, {"CLIENT", "NONESUCH"}, {"CLIENT"}, {"CLIENT", "LIST", "x"},
	{"CLIENT", "NO-EVICT", "on"}, {"CLIENT", "NO-EVICT", "x"}, {"CLIENT", "SETNAME", "n"}, {"CLIENT", "SETNAME", "a b"}, {"PING", "x", "y"},
	{"CLIENT", "SETNAME", "a\x00b"}, {"CLIENT", "SETINFO", "lib-name", "L"}, {"CLIENT", "SETINFO", "lib-ver", "1.0"},
	{"HELLO", 3}, {"KEYS", "*"}, {"HELLO", 4}, {"HELLO", 2, "SETNAME", "m"}, {"EVAL", "return 1", 0}, {"CLIENT", "INFO"}, {"CLIENT", "SETINFO", "lib-name", ""},
	{"CLIENT", "NO-TOUCH", "off"}, {"DBSIZE"}, {"ECHO", "x"}, {"RESET"}, {"SELECT", "x"}, {"CLIENT", "SETNAME", ""}, {"TIME"}, {"CLIENT", "NO-EVICT", "off"},
}

// modes are steps that only the node of a cluster takes.
var modes = [][]any{
	{"READONLY"}, {"CLIENT", "NO-EVICT", "on"}, {"READWRITE"}, {"ASKING"}, {"READONLY", "x"}, {"READONLY"}, {"CLIENT", "NO-EVICT", "off"}, {"READONLY"},
	{"CLIENT", "NO-EVICT", "on"}, {"RESET"},
}

// TestContract_OBS2_LineFollowsTheClient: what a client does shows in its line as it shows at a server.
func TestContract_OBS2_LineFollowsTheClient(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		follow(t, steps, e.Pair(t, 2), e.Pair(t, 2))
		node := func() *harness.Pair {
			return &harness.Pair{Proxy: e.Proxy.Dial(t), Lone: testbed.MustDial(t, e.Cluster.Nodes()[0].Addr())}
		}
		follow(t, modes, node(), node())
	})
}

// follow takes steps and compares what the line of who takes them becomes.
func follow(t *testing.T, steps [][]any, pair, watcher *harness.Pair) {
	t.Helper()
	ours, theirs := idOf(t, pair.Proxy), idOf(t, pair.Lone)
	for _, step := range steps {
		pair.SameAs(t, harness.Kind, step...)
		got, want := clientLines(t, watcher.Proxy, "ID", ours)[ours], clientLines(t, watcher.Lone, "ID", theirs)[theirs]
		if len(got) != len(want) {
			t.Errorf("after %q: fields %v, want %v", step, got, want)
		}
		for _, key := range []string{"cmd", "flags", "name", "lib-name", "lib-ver", "resp", "db", "multi", "watch", "capa", "user", "redir", "qbuf", "omem", "oll", "events", "tot-cmds", "tot-net-in"} {
			if got[key] != want[key] {
				t.Errorf("after %q: %s=%s, want %s", step, key, got[key], want[key])
			}
		}
	}
}

// TestContract_OBS2_ListKeepsItsPlace: what a client has asked for before and after the list is done before and after it.
func TestContract_OBS2_ListKeepsItsPlace(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for i := range 50 {
			old, name := fmt.Sprint("old-", i), fmt.Sprint("new-", i)
			replies, err := c.Pipeline(
				[]any{"CLIENT", "SETNAME", old}, []any{"GET", "k"}, []any{"CLIENT", "LIST"}, []any{"CLIENT", "SETNAME", name}, []any{"INFO"}, []any{"CLIENT", "LIST"}, []any{"PING"},
			)
			if err != nil {
				t.Fatal(err)
			}
			first, last := fmt.Sprint(replies[2]), fmt.Sprint(replies[5])
			if !strings.Contains(first, " name="+old+" ") || strings.Contains(first, name) || !strings.Contains(last, " name="+name+" ") || replies[6] != "PONG" {
				t.Fatalf("%q", replies)
			}
		}
	})
}

// TestContract_OBS2_MoreListsThanAtOnce: those for which there is no room yet wait for it, and clients that leave in
// between are missed by nobody.
func TestContract_OBS2_MoreListsThanAtOnce(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		const each = 5
		clients := 4*worker.SurveysMax + 10
		conns := make([]*testbed.Conn, clients)
		var request []byte
		for range each {
			request = testbed.AppendCommand(request, "CLIENT", "LIST", "ID", 1, 2, 3)
			request = testbed.AppendCommand(request, "INFO", "clients")
		}
		for i := range conns {
			conns[i] = e.Proxy.Dial(t)
		}
		for _, c := range conns {
			if err := c.Write(request); err != nil {
				t.Fatal(err)
			}
		}
		for i, c := range conns {
			if i%3 == 0 {
				c.Close()
				continue
			}
			for range 2 * each {
				if reply, err := c.Receive(); err != nil {
					t.Fatalf("client %d of %d: %v, %v", i, clients, reply, err)
				}
			}
		}
	})
}

// TestContract_OBS2_WhatWaitsForAClient: the replies that it does not read are in its line, and so is how much it has sent.
func TestContract_OBS2_WhatWaitsForAClient(t *testing.T) {
	const replies, valueBytes = 400, 64 << 10 // beyond what the sockets take
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		slow, watcher := e.Proxy.Dial(t), e.Proxy.Dial(t)
		id := idOf(t, slow)
		if _, err := slow.Do("SET", "k", strings.Repeat("v", valueBytes)); err != nil {
			t.Fatal(err)
		}
		before := clientLines(t, watcher, "ID", id)[id]
		if before["omem"] != "0" || before["oll"] != "0" || number(t, before["tot-mem"]) <= 0 {
			t.Errorf("nothing waits, but there is %v", before)
		}
		var request []byte
		for range replies {
			request = testbed.AppendCommand(request, "GET", "k")
		}
		if err := slow.Write(request); err != nil {
			t.Fatal(err)
		}
		var line map[string]string
		harness.Eventually(t, harness.Patience, "replies that wait for the client", func() error {
			line = clientLines(t, watcher, "ID", id)[id]
			if number(t, line["omem"]) < valueBytes || line["oll"] == "0" || !strings.Contains(line["events"], "w") {
				return fmt.Errorf("%v", line)
			}
			return nil
		})
		if number(t, line["tot-mem"]) <= number(t, line["omem"]) {
			t.Errorf("%s bytes wait, %s in all", line["omem"], line["tot-mem"])
		}
		for range replies {
			if _, err := slow.Receive(); err != nil {
				t.Fatal(err)
			}
		}
		harness.Eventually(t, harness.Patience, "nothing to wait", func() error {
			line = clientLines(t, watcher, "ID", id)[id]
			if line["omem"] != "0" || line["oll"] != "0" || line["events"] != "r" {
				return fmt.Errorf("%v", line)
			}
			return nil
		})
		if e.Server != testbed.Valkey91 {
			return
		}
		sent, got := number(t, line["tot-net-in"])-number(t, before["tot-net-in"]), number(t, line["tot-net-out"])-number(t, before["tot-net-out"])
		commands := number(t, line["tot-cmds"]) - number(t, before["tot-cmds"])
		wantGot := replies * (valueBytes + len("$65536\r\n\r\n"))
		if sent != len(request) || got != wantGot || commands != replies {
			t.Errorf("%d bytes in, %d out, %d commands; want %d, %d, %d", sent, got, commands, len(request), wantGot, replies)
		}
	})
}

package protocol

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_I02_HalfClose: a client that has said all it had to say is still answered.
func TestCase_I02_HalfClose(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		requests := array("SET", "{h}a", 1) + array("GET", "{h}a") + array("MGET", "{h}a", "b", "c") + array("PING")
		for _, rest := range []string{"", "*2\r\n$3\r\nGET\r\n$1", "PIN"} {
			want := halfClosed(t, e.DialLone(t), requests+rest)
			if got := halfClosed(t, e.Proxy.Dial(t), requests+rest); got != want || !strings.HasSuffix(want, "+PONG\r\n") {
				t.Errorf("with %q at the end: got %q, want %q", rest, got, want)
			}
		}
	})
}

func halfClosed(t *testing.T, c *testbed.Conn, requests string) string {
	t.Helper()
	conn := c.NetConn().(*net.TCPConn)
	if err := conn.SetDeadline(time.Now().Add(testbed.DefaultTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, requests); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	replies, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("after %q: %v", replies, err)
	}
	return string(replies)
}

// TestCase_I04_NoDelayedFirstReply: neither side waits for an acknowledgement before it
// sends, which would show as a step of 40 ms or more in most rounds.
func TestCase_I04_NoDelayedFirstReply(t *testing.T) {
	const (
		rounds = 50
		step   = 40 * time.Millisecond
	)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for name, request := range map[string]string{
			"PING": array("PING"),
			"SET":  array("SET", "k", "v"),
			"SETs": array("SET", "a", "v") + array("SET", "b", "v"),
		} {
			var took []time.Duration
			for range rounds {
				start := time.Now()
				c, err := testbed.Dial(e.Proxy.Addr)
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.DoRaw([]byte(request), strings.Count(request, "*"))
				c.Close()
				if err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			if median := took[rounds/2]; median >= step {
				t.Errorf("%s on a new connection: the median of %d rounds is %v, want less than %v", name, rounds, median, step)
			}
		}
	})
}

// TestCase_I05_HandshakeOfModernClients says what client libraries say first.
func TestCase_I05_HandshakeOfModernClients(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := protected(t, e)()
		pair.SameAs(t, describes, "HELLO", 3, "AUTH", "default", password, "SETNAME", "app")
		for _, request := range [][]any{
			{"CLIENT", "SETINFO", "LIB-NAME", "go-client"}, {"CLIENT", "SETINFO", "lib-ver", "1.2.3"}, {"CLIENT", "SETINFO", "LIB-NAME", "a b"},
			{"CLIENT", "SETINFO", "LIB-VER", "a\nb"}, {"CLIENT", "SETINFO", "BOGUS", "x"}, {"CLIENT", "SETINFO", "LIB-NAME"},
			{"CLIENT", "SETINFO", "LIB-NAME", ""}, {"CLIENT", "SETNAME", "app-2"}, {"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", "a b"},
			{"CLIENT", "SETNAME", "a\nb"}, {"CLIENT", "SETNAME", "\xff"}, {"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", ""}, {"CLIENT", "GETNAME"},
			{"CLIENT", "SETNAME"}, {"CLIENT", "NO-EVICT", "on"}, {"CLIENT", "NO-EVICT", "off"}, {"CLIENT", "NO-EVICT", "bogus"},
			{"CLIENT", "NO-TOUCH", "off"}, {"CLIENT", "NO-TOUCH", "bogus"}, {"CLIENT", "MAINT_NOTIFICATIONS", "ON"},
			{"SELECT", 0}, {"PING"}, {"CONFIG", "GET", "save"},
		} {
			pair.Same(t, request...)
		}
		pair.SameAs(t, harness.Shape, "CLIENT", "ID")
		for _, request := range [][]any{{"COMMAND"}, {"INFO"}, {"INFO", "server"}, {"ROLE"}, {"CONFIG", "GET", "maxmemory"}} {
			pair.SameAs(t, harness.Kind, request...)
		}
		// A node outside a cluster does not know this one.
		harness.Expect(t, pair.Proxy, array("READONLY")+array("READWRITE")+array("ASKING"), "+OK\r\n+OK\r\n+OK\r\n")
	})
}

// TestCase_I06_ReadyChecks asks what client libraries and benchmarks ask before they call
// a server ready.
func TestCase_I06_ReadyChecks(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		info := infoOf(t, pair.Proxy)
		lone := infoOf(t, pair.Lone)
		for key, want := range map[string]string{
			"redis_version": lone["redis_version"], "loading": "0", "role": "master", "redis_mode": "cluster", "cluster_enabled": "1",
		} {
			if info[key] != want {
				t.Errorf("INFO: %s is %q, want %q", key, info[key], want)
			}
		}
		harness.Expect(t, pair.Proxy, array("ROLE"), "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n")
		pair.Same(t, "CONFIG", "GET", "save")
		pair.Same(t, "CONFIG", "GET", "appendonly")
		pair.SameAs(t, harness.Shape, "CONFIG", "GET", "databases") // fewer in a cluster
		pair.SameAs(t, harness.Unordered, "CONFIG", "GET", "MaxMemory", "maxmemory-policy")
	})
}

// infoOf returns the fields of INFO with some sections.
func infoOf(t *testing.T, c *testbed.Conn, sections ...any) map[string]string {
	t.Helper()
	reply, err := c.Do(append([]any{"INFO"}, sections...)...)
	if err != nil {
		t.Fatalf("INFO: %v", err)
	}
	if v, ok := reply.(testbed.Verbatim); ok {
		reply = v.Text
	}
	fields := map[string]string{}
	for line := range strings.SplitSeq(reply.(string), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// TestCase_I11_QuitAndLastBytes: what was asked before QUIT is answered, and nothing that
// comes behind it.
func TestCase_I11_QuitAndLastBytes(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		pair.Same(t, "SET", "k", "v")
		got := pair.SameEnd(t, array("GET", "k")+array("QUIT")+array("PING")+array("SET", "k", "after"))
		if want := "$1\r\nv\r\n+OK\r\n"; got != want {
			t.Errorf("the lone node answered %q, want %q", got, want)
		}
		pair = e.Pair(t, 2)
		pair.Same(t, "GET", "k")
		pair.SameEnd(t, "QUIT now please\r\nPING\r\n")
	})
}

// TestCase_I13_ResetUndoesEverything has the parts of RESET that concern what sessions
// have.
func TestCase_I13_ResetUndoesEverything(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := protected(t, e)()
		pair.SameAs(t, describes, "HELLO", 3, "AUTH", "default", password, "SETNAME", "app")
		pair.Same(t, "RESET")
		pair.Same(t, "GET", "a")
		pair.Same(t, "AUTH", password)
		pair.Same(t, "CLIENT", "GETNAME")
		pair.Same(t, "GET", "none")
		pair.SameRaw(t, said(off, "GET none", "RESET", "PING")+array("AUTH", password)+said("PING"), 4)
		pair.Same(t, "RESET", "x")
	})
}

func TestContract_PROTO3_ClientIDsAreUnique(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		seen := map[int64]bool{}
		last := int64(0)
		for range 20 {
			c := e.Proxy.Dial(t)
			for range 2 {
				reply, err := c.Do("CLIENT", "ID")
				id, ok := reply.(int64)
				if err != nil || !ok || id <= 0 {
					t.Fatalf("CLIENT ID: %v, %v", reply, err)
				}
				if last = id; !seen[id] {
					continue
				}
			}
			if seen[last] {
				t.Errorf("two connections have the id %d", last)
			}
			seen[last] = true
		}
	})
}

// TestContract_OBS1_InfoSections asks for sections by name.
func TestContract_OBS1_InfoSections(t *testing.T) {
	sections := map[string][]string{
		"server":  {"redis_version", "redis_mode", "os", "arch_bits", "process_id", "run_id", "tcp_port", "uptime_in_seconds", "uptime_in_days"},
		"clients": {"connected_clients"},
		"stats":   {"total_connections_received", "total_commands_processed", "rejected_connections", "total_error_replies"},
		"cpu":     {"used_cpu_sys", "used_cpu_user"},
		"cluster": {"cluster_enabled"},
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		all := infoOf(t, c)
		for section, fields := range sections {
			got := infoOf(t, c, strings.ToUpper(section))
			for _, field := range fields {
				if got[field] == "" {
					t.Errorf("INFO %s lacks a value for %s", section, field)
				}
				if _, ok := all[field]; !ok {
					t.Errorf("INFO lacks %s", field)
				}
			}
			for other, fields := range sections {
				if _, found := got[fields[0]]; found && other != section {
					t.Errorf("INFO %s has %s of section %s", section, fields[0], other)
				}
			}
		}
		if got := infoOf(t, c, "nonesuch"); len(got) != 0 {
			t.Errorf("INFO nonesuch has %v, want nothing", got)
		}
		if got := infoOf(t, c, "clients", "cpu"); got["connected_clients"] == "" || got["used_cpu_sys"] == "" {
			t.Errorf("INFO clients cpu has %v", got)
		}
	})
}

// TestContract_OBS1_InfoCounts compares what INFO counts with what was done: what is answered is counted already, on
// whichever worker.
func TestContract_OBS1_InfoCounts(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{})
		watcher := p.Dial(t)
		for range 5 {
			c := p.Dial(t)
			for range 10 {
				if _, err := c.Do("SET", "str", "x"); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Do("INCR", "str"); err == nil {
					t.Fatal("INCR of a word: no error")
				}
			}
		}
		before := infoOf(t, watcher)
		if before["connected_clients"] != "6" {
			t.Errorf("%s clients, want 6", before["connected_clients"])
		}
		if _, err := p.Dial(t).Pipeline([]any{"GET", "str"}, []any{"INCR", "str"}, []any{"MGET", "a", "b", "c"}, []any{"PING"}); err != nil {
			t.Fatal(err)
		}
		after := infoOf(t, watcher)
		for field, want := range map[string]int{
			"total_connections_received": 1, "total_error_replies": 1, "total_commands_processed": 5, // the first INFO too
		} {
			if got := number(t, after[field]) - number(t, before[field]); got != want {
				t.Errorf("%s grew by %d, want %d", field, got, want)
			}
		}
	})
}

// TestContract_OBS1_InfoOfSharing: requests are handed over to other workers if these have the connections, and else not.
func TestContract_OBS1_InfoOfSharing(t *testing.T) {
	const clients, requests = 16, 20
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, sharding := range []string{"no", "yes"} {
			p := e.Start(t, harness.Options{Workers: 4, Sharding: sharding})
			watcher := p.Dial(t)
			before := infoOf(t, watcher, "mithril")
			for range clients {
				c := p.Dial(t)
				for i := range requests {
					if _, err := c.Do("SET", i, "x"); err != nil {
						t.Fatal(err)
					}
				}
			}
			after := infoOf(t, watcher, "mithril")
			grown := func(field string) int { return number(t, after[field]) - number(t, before[field]) }
			if after["worker_threads"] != "4" || after["backend_sharding"] != sharding || after["io_engine"] != e.Engine {
				t.Errorf("%s: %v", sharding, after)
			}
			if n := grown("backend_replies"); n != clients*requests {
				t.Errorf("%s: %d replies of nodes, want %d", sharding, n, clients*requests)
			}
			if n := grown("backend_sends"); n < requests || n > clients*requests+grown("backend_dials") { // with a greeting each
				t.Errorf("%s: %d sends to nodes", sharding, n)
			}
			if n := grown("handed_over"); sharding == "no" && n != 0 || sharding == "yes" && (n == 0 || n > clients*requests) {
				t.Errorf("%s: %d handed over", sharding, n)
			}
		}
	})
}

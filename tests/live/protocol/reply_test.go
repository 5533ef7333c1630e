package protocol

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// said is requests as arrays, from words between blanks.
func said(requests ...string) string {
	var all strings.Builder
	for _, request := range requests {
		var args []any
		for word := range strings.FieldsSeq(request) {
			args = append(args, word)
		}
		all.WriteString(array(args...))
	}
	return all.String()
}

const off, on, skip = "CLIENT REPLY OFF", "CLIENT REPLY ON", "CLIENT REPLY SKIP"

// untilOn writes requests with CLIENT REPLY ON and a last word behind them, and returns all that
// comes before the replies to these.
func untilOn(t *testing.T, c *testbed.Conn, request string) string {
	t.Helper()
	const lastWord = "last word"
	end := fmt.Appendf(nil, "+OK\r\n$%d\r\n%s\r\n", len(lastWord), lastWord)
	if err := c.Write([]byte(request + said(on) + array("ECHO", lastWord))); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for in, piece := deadlined(t, c), make([]byte, 64<<10); !bytes.HasSuffix(got, end); {
		n, err := in.Read(piece)
		if got = append(got, piece[:n]...); err != nil {
			t.Fatalf("%s: got %s: %v", harness.Clip(request), harness.Clip(got), err)
		}
	}
	return string(bytes.TrimSuffix(got, end))
}

// TestCase_I07_ClientReply: nothing extra comes, and nothing is lost.
func TestCase_I07_ClientReply(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, c := range []struct{ request, want string }{
			{said(off, "SET a 1", "GET a", on, "GET a"), "+OK\r\n$1\r\n1\r\n"},
			{said(skip, "GET a", "PING"), "+PONG\r\n"},
		} {
			for name, conn := range map[string]*testbed.Conn{"lone node": pair.Lone, "proxy": pair.Proxy} {
				if got := untilOn(t, conn, c.request); got != c.want {
					t.Errorf("%s: %q: got %q, want %q", name, c.request, got, c.want)
				}
			}
		}
	})
}

// TestContract_PROTO6_ClientReply compares conversations in which some requests get no reply, each in
// one write.
func TestContract_PROTO6_ClientReply(t *testing.T) {
	long := strings.Repeat("v", 3<<20) // is passed on in parts
	conversations := []string{
		said("client reply off", "PING", "Client Reply On", "PING"), said(off, off, "PING", on, on, "PING"),
		said("CLIENT REPLY", "CLIENT REPLY ON x", "CLIENT REPLY NOSUCH", "PING"), said(off, "CLIENT REPLY", "CLIENT REPLY NOSUCH", "PING"),
		said(skip, "PING", "PING"), said(skip, skip, "PING", "PING"), said(skip, skip, skip, "PING", "PING"),
		said(skip, on, "PING"), said(skip, off, "PING", on, "PING"), said(off, skip, "PING", "PING", on, "PING"),
		said(skip, "CLIENT REPLY NOSUCH", "PING"), said(skip, "CLIENT REPLY", "PING"), said(skip, "CLIENT NOSUCH", "PING"),
		// What is wrong counts as a request.
		said(skip, "NOSUCH", "PING"), said(skip, "GET", "PING"), said(skip, "INCR str", "PING"), said(skip, "LPUSH str x", "GET str"),
		said(skip) + "PING\r\n" + said("PING"), "CLIENT REPLY SKIP\r\nPING\r\nPING\r\n",
		// Whoever answers: nodes, one after the other or together, or the proxy.
		said("GET str", skip, "GET str", "GET none"), said(skip, "MGET str b c none", "MGET b str"), said(skip, "DEL x y z", "EXISTS str b c"),
		said(skip, "MSET x 1 y 2 z 3", "MGET x y z"), said(skip, "DBSIZE", "PING"), said(off, "DBSIZE", "KEYS *", "RANDOMKEY", "SCAN 0", on, "GET b"),
		said(skip, "TIME", "PING"), said(skip, "COMMAND COUNT", "PING"), said(skip, "INFO", "PING"), said(skip, "CONFIG GET port", "PING"),
		said(off, "GET str", "GET", "MGET str b c", "NOSUCH", "EVAL x 0", "ECHO x", "SELECT 0", on, "GET str"),
		// What they do is done.
		said(skip, "CLIENT SETNAME me", "CLIENT GETNAME"), said(skip, "HELLO 3", "GET none"), said(off, "HELLO 3", on, "GET none", "HGETALL none"),
		said(skip, "HELLO 9", "GET none"), said(skip, "SELECT x", "PING"), said(skip, "AUTH x", "PING"),
		// RESET.
		said(off, "PING", "RESET", "PING"), said(skip, "RESET", "PING"), said(off, "RESET x", "PING", "RESET", "PING"),
		said(skip, "HELLO 3", off, "RESET", "GET none"),
		// Large ones.
		said("SET large "+long, skip, "GET large", "STRLEN large"), said(off, "GET large", "MGET large str", on, "GET str"),
		said(skip, "SET large "+long+"x", "STRLEN large"), said(skip, "ECHO "+long, "PING"), said(skip, "APPEND large "+long, "PING"),
		said(skip, "GET large", "GET large"),
		strings.Repeat(said(skip, "INCR n", "INCR n"), 2000), strings.Repeat(said(off, "INCR n", "MGET n b c", on, "INCR n"), 500),
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		setting := said("SET str word", "SET b 2", "SET c 3", "SET n 0")
		pair := e.Pair(t, 2)
		if got, want := untilOn(t, pair.Proxy, setting), untilOn(t, pair.Lone, setting); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		for _, conversation := range conversations {
			pair := &harness.Pair{Proxy: e.Proxy.DialFresh(t), Lone: e.DialLone(t)}
			want := untilOn(t, pair.Lone, conversation)
			if got := untilOn(t, pair.Proxy, conversation); got != want {
				t.Errorf("%s\n got %s\nwant %s", harness.Clip(conversation), harness.Clip(got), harness.Clip(want))
			}
		}
	})
}

// TestContract_PROTO6_SilentEnds: a session without replies ends as any other, without a word. Servers close
// a connection when its last reply has gone out: without one they leave it open, and deaf.
func TestContract_PROTO6_SilentEnds(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, request := range []string{
			said(off, "QUIT", "PING"), said(skip, "QUIT", "PING"), said(off) + "*1\r\n:4\r\n", said(skip) + "GET \"x\r\n",
			said(off, "SET k 1", "MGET k l") + "*2\r\n$3\r\nGET\r\n$-1\r\n", said(off, "GET k", "PING", "QUIT", on, "PING"),
		} {
			if got, err := harness.UntilClosed(e.Proxy.DialFresh(t), request); string(got) != "" || err != nil {
				t.Errorf("%q: %q, %v, want an end without a word", request, got, err)
			}
		}
	})
}

// TestContract_PROTO6_LoginFirst: it is refused before the login, and then does nothing.
func TestContract_PROTO6_LoginFirst(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := protected(t, e)()
		for _, request := range []string{off, skip, "CLIENT REPLY", "CLIENT REPLY NOSUCH"} {
			pair.SameRaw(t, said(request), 1)
			pair.SameRaw(t, said("GET a"), 1)
		}
		pair.SameRaw(t, array("AUTH", password)+said(off, "RESET", "PING", "GET a"), 4)
	})
}

// TestContract_PROTO6_SilentRepliesTakeNoMemory: a client that gets no replies may ask for any number of
// them without reading, and is no slow reader.
func TestContract_PROTO6_SilentRepliesTakeNoMemory(t *testing.T) {
	const (
		valueBytes = 1 << 20
		rounds     = 100
	)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--client-output-buffer-limit", "normal", "4mb", "2mb", "1"}})
		c := p.Dial(t)
		c.SetTimeout(time.Minute)
		harness.MustDo(t, c, "MSET", "a", strings.Repeat("v", valueBytes), "b", strings.Repeat("w", valueBytes))
		before := p.PeakRSS()
		if got := untilOn(t, c, said(off)+strings.Repeat(said("GET a", "GET b"), rounds)); got != "" {
			t.Errorf("got %s", harness.Clip(got))
		}
		if grown := p.PeakRSS() - before; grown > 64<<20 {
			t.Errorf("%d replies of %d MB each made the proxy grow by %d MB", 2*rounds, valueBytes>>20, grown>>20)
		}
		harness.Expect(t, c, said("STRLEN a"), fmt.Sprintf(":%d\r\n", valueBytes))
	})
}

// TestContract_PROTO6_SilentErrorsCount: an error is counted whether or not it is told.
func TestContract_PROTO6_SilentErrorsCount(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{})
		for name, c := range map[string]*testbed.Conn{"lone node": e.DialLone(t), "proxy": p.Dial(t)} {
			errors := func() int { return number(t, infoOf(t, c, "stats")["total_error_replies"]) }
			before := errors()
			untilOn(t, c, said("SET str x", off, "INCR str", "NOSUCH", "GET"))
			if counted := errors() - before; counted != 3 {
				t.Errorf("%s: %d errors are counted, want 3", name, counted)
			}
		}
	})
}

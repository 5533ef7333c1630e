package protocol

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// array is one request as an array of bulk strings.
func array(args ...any) string { return string(testbed.AppendCommand(nil, args...)) }

// mixed is a pipeline with every kind of framing in it, and mixedReply the answer.
var (
	mixed = array("SET", "k", "a\r\nb") + "\r\n*0\r\n" + array("GET", "k") +
		"set q \"a\\x41 b\"\r\n" + "GET q\n" + "*-1\r\n" + array("PING") +
		array("MGET", "k", "q", "none") + array("SET", "", "") + "*2\r\n$3\r\nGET\r\n$0\r\n\r\n"
	mixedReply = "+OK\r\n$4\r\na\r\nb\r\n+OK\r\n$4\r\naA b\r\n+PONG\r\n*3\r\n$4\r\na\r\nb\r\n$4\r\naA b\r\n$-1\r\n+OK\r\n$0\r\n\r\n"
)

func TestContract_PROTO1_SplitAtAnyByte(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		harness.Expect(t, e.DialLone(t), mixed, mixedReply)
		c := e.Proxy.Dial(t)
		for i := 1; i < len(mixed); i++ {
			if err := c.Write([]byte(mixed[:i])); err != nil {
				t.Fatal(err)
			}
			if err := harness.AwaitRead(c.NetConn()); err != nil {
				t.Fatal(err)
			}
			harness.Expect(t, c, mixed[i:], mixedReply)
			if t.Failed() {
				t.Fatalf("split at byte %d: %q", i, mixed[:i])
			}
		}
	})
}

func TestCase_C05_ByteByByte(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		if _, err := harness.WriteBytewise(c.NetConn(), []byte(mixed)); err != nil {
			t.Fatal(err)
		}
		harness.Expect(t, c, "", mixedReply)
	})
}

// TestCase_C05_RepliesByteByByte lets the nodes' replies arrive one byte at a time.
func TestCase_C05_RepliesByteByByte(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		relays, args := harness.StartRelays(t, e.Cluster)
		p := e.Start(t, harness.Options{Args: args})
		pair := &harness.Pair{Proxy: p.DialProto(t, 3), Lone: harness.Hello(t, e.DialLone(t), 3)}
		pair.Same(t, "PING")
		for _, r := range relays {
			r.Bytewise.Store(true)
		}
		requests := [][]any{
			{"SET", "k", "a\r\nb"}, {"GET", "k"}, {"GET", "none"}, {"INCR", "k"}, {"HSET", "h", "f", "", "g", "w"}, {"HGETALL", "h"},
			{"ZADD", "z", 1.5, "m"}, {"ZSCORE", "z", "m"}, {"MGET", "k", "h", "none", "k"}, {"DEL", "k", "h", "none"},
			{"EVAL", "redis.setresp(3); return {1, {double=2.5}, {map={k={set={m=true}}}}, false}", 1, "k"},
			{"EVAL", "redis.setresp(3); return {big_number='12345678901234567890'}", 1, "k"},
			{"EVAL", "redis.setresp(3); return {verbatim_string={format='txt',string='hello'}}", 1, "k"},
		}
		var all strings.Builder
		for _, request := range requests {
			pair.Same(t, request...)
			all.WriteString(array(request...))
		}
		pair.SameRaw(t, all.String(), len(requests))
		for _, r := range relays {
			r.Bytewise.Store(false)
		}
	})
}

// TestContract_PROTO1_DeepPipelineInOrder writes everything before it reads anything.
func TestContract_PROTO1_DeepPipelineInOrder(t *testing.T) {
	const rounds = 5000
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		var request, want strings.Builder
		for i := range rounds {
			key, value := fmt.Sprint("key:", i%701), fmt.Sprint("value:", i)
			request.WriteString(array("SET", key, value) + array("ECHO", i) + array("GET", key) + "PING\r\n")
			fmt.Fprintf(&want, "+OK\r\n$%d\r\n%d\r\n$%d\r\n%s\r\n+PONG\r\n", len(fmt.Sprint(i)), i, len(value), value)
			if i%100 == 0 {
				request.WriteString(array("MGET", key, "none", key) + array("NONESUCH"))
				bulk := fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
				want.WriteString("*3\r\n" + bulk + "$-1\r\n" + bulk)
				want.WriteString("-ERR unknown command 'NONESUCH', with args beginning with: \r\n")
			}
		}
		c := e.Proxy.Dial(t)
		written := make(chan error, 1)
		go func() { written <- c.Write([]byte(request.String())) }()
		harness.Expect(t, c, "", want.String())
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

func TestContract_PROTO2_NothingToDo(t *testing.T) { nothingToDo(t) }

func TestCase_J02_NothingToDo(t *testing.T) { nothingToDo(t) }

func nothingToDo(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, nothing := range []string{"*0\r\n", "*-1\r\n", "*-5\r\n", "\r\n", "\n", "   \r\n", "*0\r\n\r\n*-1\r\n"} {
			if got := pair.SameRaw(t, nothing+array("PING"), 1); got != "+PONG\r\n" {
				t.Errorf("%q and PING: %q", nothing, got)
			}
		}
		pair.SameRaw(t, array("PING"), 1)
	})
}

// violations are requests that end the connection, with the error that says why. A server
// may word one in its own way: the lone node is asked.
var violations = []string{
	"*2\r\n$3\r\nGET\r\n$-1\r\n",
	"*2\r\n$3\r\nGET\r\n$536870913\r\n",
	"*2\r\n$3\r\nGET\r\n$x\r\n",
	"*2\r\n$3\r\nGET\r\n$04\r\n",
	"*2\r\n$3\r\nGET\r\n$+4\r\n",
	"*2\r\n$3\r\nGET\r\n$ 4\r\n",
	"*2\r\n$3\r\nGET\r\n$\r\n",
	"*2\r\n$3\r\nGET\r\n$99999999999999999999\r\n",
	"*1\r\n:4\r\n",
	"*1\r\n*1\r\n",
	"*1\r\nPING\r\n",
	"*1\r\n\r\n",
	"*x\r\n",
	"*\r\n",
	"* 1\r\n",
	"*+1\r\n",
	"*01\r\n",
	"*2147483648\r\n",
	"*9223372036854775808\r\n",
	"*-99999999999999999999\r\n",
	"GET \"abc\r\n",
	"GET 'abc\r\n",
	"GET \"a\" \"b\r\n",
}

// wrongQuotes are violations to Redis. Valkey 9 lets a word go on behind a closing quote
// and takes some of them; the proxy keeps to the rules of redis-cli in front of both.
var wrongQuotes = []string{"GET \"abc\"d\r\n", "GET 'abc'd\r\n", "GET \"a\\\"\r\n", "GET \"a\"\"b\"\r\n"}

func TestContract_PROTO1_WrongQuotesEndTheConnection(t *testing.T) {
	const want = "+PONG\r\n-ERR Protocol error: unbalanced quotes in request\r\n"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, line := range wrongQuotes {
			got, err := harness.UntilClosed(e.Proxy.Dial(t), "PING\r\n"+line+"PING\r\n")
			if string(got) != want || err != nil {
				t.Errorf("%q behind PING: got %q (%v), want %q", line, got, err, want)
			}
			if e.Server == testbed.Valkey91 {
				continue
			}
			if got, err := harness.UntilClosed(e.DialLone(t), "PING\r\n"+line+"PING\r\n"); string(got) != want || err != nil {
				t.Errorf("%q behind PING: the lone node answered %q (%v), want %q", line, got, err, want)
			}
		}
	})
}

func TestContract_PROTO1_ViolationEndsTheConnection(t *testing.T) { endsWith(t, violations) }

func TestCase_J03_NullOrHugeArgument(t *testing.T) { endsWith(t, violations[:8]) }

func TestCase_J04_WrongTypeByte(t *testing.T) { endsWith(t, violations[8:12]) }

// endsWith sends each request behind others that are due an answer first, and with one
// behind it that must not be answered.
func endsWith(t *testing.T, requests []string) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, request := range requests {
			pair := e.Pair(t, 2)
			pair.Same(t, "SET", "{v}a", "1")
			before := "PING\r\n" + array("MGET", "{v}a", "{v}b") + array("GET", "{v}a")
			got := pair.SameEnd(t, before+request+array("PING"))
			if !strings.Contains(got, "$1\r\n1\r\n-ERR Protocol error: ") {
				t.Errorf("%q: the lone node ended with %s, want a protocol error behind the replies", request, harness.Clip(got))
			}
		}
	})
}

// TestContract_PROTO1_LineTooLong sends lines without an end.
func TestContract_PROTO1_LineTooLong(t *testing.T) {
	const inlineMax = 64 << 10
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, start := range []string{"GET ", "*", "*1\r\n$"} {
			request := start + strings.Repeat("1", inlineMax+1)
			got := e.Pair(t, 2).SameEnd(t, request)
			if !strings.HasPrefix(got, "-ERR Protocol error: too big ") {
				t.Errorf("%q and %d digits: the lone node ended with %s", start, inlineMax+1, harness.Clip(got))
			}
		}
		longest := "ECHO " + strings.Repeat("x", inlineMax-len("ECHO \r\n")-1)
		e.Pair(t, 2).SameRaw(t, longest+"\r\n", 1)
	})
}

// TestContract_PROTO1_UnauthenticatedLimits counts what a client may send before it has
// logged in.
func TestContract_PROTO1_UnauthenticatedLimits(t *testing.T) {
	const bulkMax = 16 << 10
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		dial := protected(t, e)
		long := func(n int) string { return strings.Repeat("x", n) }
		for _, request := range []string{
			"*11\r\n",
			"*2\r\n$4\r\nAUTH\r\n$16385\r\n",
			"*2\r\n$4\r\nAUTH\r\n$16385\r\n" + long(100),
		} {
			if got := dial().SameEnd(t, request); !strings.HasPrefix(got, "-ERR Protocol error: unauthenticated ") {
				t.Errorf("%s: the lone node ended with %q", harness.Clip(request), got)
			}
		}
		pair := dial()
		pair.Same(t, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
		pair.Same(t, "AUTH", long(bulkMax))
		pair.Same(t, "AUTH", password)
		pair.Same(t, "ECHO", long(bulkMax+1))
		pair.Same(t, "DEL", "{a}1", "{a}2", "{a}3", "{a}4", "{a}5", "{a}6", "{a}7", "{a}8", "{a}9", "{a}10", "{a}11")
	})
}

func TestCase_J01_InlineForm(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		pair.SameRaw(t, "SET k \"a\\x41 b\"\r\nGET k\r\n", 2)
		harness.Expect(t, pair.Proxy, "GET k\r\n", "$4\r\naA b\r\n")
		for _, line := range []string{
			"PING\n", "PING\r\n", "  PING  \r\n", "\tECHO\thi\t\r\n", "ECHO 'it\\'s'\r\n", "ECHO \"\\n\\r\\t\\b\\a\\q\\x00\\xfF\"\r\n",
			"ECHO \"\"\r\n", "ECHO ''\r\n", "ECHO \"\\xZZ\"\r\n", "eChO a\"b\"\r\n", "ECHO '\\n'\r\n", "ECHO a\\ b\r\n", "NONESUCH a b\r\n",
		} {
			pair.SameRaw(t, line, 1)
		}
		pair.SameRaw(t, "SET k 1\r\n"+array("GET", "k")+"GET k\r\n"+array("PING"), 4)
	})
}

func TestCase_J07_HTTPOnThePort(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		locked := e.Start(t, harness.Options{Password: password})
		for _, request := range []string{"POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\n\r\n", "Host: x\r\nSET k http\r\n"} {
			for name, c := range map[string]*testbed.Conn{"open": e.Proxy.Dial(t), "locked": locked.DialFresh(t)} {
				got, err := harness.UntilClosed(c, request)
				if errors.Is(err, syscall.ECONNRESET) {
					err = nil // as good as an end
				}
				if len(got) > 0 || err != nil {
					t.Errorf("%s proxy: %q: got %q (%v), want an end without a word", name, request, got, err)
				}
			}
		}
		harness.Expect(t, e.Proxy.Dial(t), array("EXISTS", "k"), ":0\r\n")
	})
}

package protocol

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestCase_J09_EmptyAndLongKeys has keys of no byte and of a megabyte.
func TestCase_J09_EmptyAndLongKeys(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		long := strings.Repeat("key", 1<<20/3)
		for _, key := range []string{"", long} {
			pair.Same(t, "SET", key, "v")
			pair.Same(t, "GET", key)
			pair.Same(t, "MGET", key, key)
			pair.Same(t, "EXISTS", key, "other")
			pair.Same(t, "DEL", key)
		}
		harness.Expect(t, pair.Proxy, array("CLUSTER", "KEYSLOT", ""), ":0\r\n")
	})
}

// TestCase_J09_LargestValue writes a value just below the limit of a bulk string, reads
// it back and compares what it hashes to.
func TestCase_J09_LargestValue(t *testing.T) {
	const (
		valueBytes = 500 << 20
		deadline   = 2 * time.Minute
	)
	// A replica would hold the value a second time, twice while it arrives.
	cluster, err := testbed.Start(context.Background(), testbed.Options{Primaries: 1, Replicas: testbed.NoReplicas})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop() })
	p := harness.Start(t, harness.Options{Cluster: cluster})
	conn := p.Dial(t).NetConn()
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}

	sent := sha256.New()
	out := bufio.NewWriterSize(conn, 1<<20)
	fmt.Fprintf(out, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", valueBytes)
	if _, err := io.Copy(io.MultiWriter(out, sent), io.LimitReader(&endless{}, valueBytes)); err != nil {
		t.Fatal(err)
	}
	out.WriteString("\r\n" + array("GET", "k"))
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}

	in := bufio.NewReaderSize(conn, 1<<20)
	readLine(t, in, "+OK\r\n")
	readLine(t, in, fmt.Sprintf("$%d\r\n", valueBytes))
	received := sha256.New()
	if _, err := io.CopyN(received, in, valueBytes); err != nil {
		t.Fatal(err)
	}
	readLine(t, in, "\r\n")
	if string(sent.Sum(nil)) != string(received.Sum(nil)) {
		t.Error("the value came back changed")
	}
	t.Logf("peak memory of the proxy: %d MB", p.PeakRSS()>>20)
}

func readLine(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	if got, err := in.ReadString('\n'); got != want || err != nil {
		t.Fatalf("got line %s (%v), want %q", harness.Clip(got), err, want)
	}
}

// endless is a stream of 64-bit numbers, so that a lost or doubled chunk shows.
type endless struct{ next uint64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e.next >> (8 * (i & 7)))
		if i&7 == 7 {
			e.next = e.next*6364136223846793005 + 1442695040888963407
		}
	}
	return len(b), nil
}

// TestCase_J10_NullsInARow: every way in which a reply says that there is nothing.
func TestCase_J10_NullsInARow(t *testing.T) {
	requests := [][]any{
		{"GET", "none"}, {"LPOP", "none", 2}, {"LRANGE", "none", 0, -1}, {"HMGET", "none", "a", "b"}, {"GEOPOS", "g", "none"},
		{"GEOPOS", "none", "x"}, {"XREAD", "STREAMS", "none", "0"}, {"MGET", "none", "nil", "nothing"}, {"ZMPOP", 1, "none", "MIN"},
		{"EVAL", "return {false, {}, {false}, ''}", 1, "k"}, {"SMEMBERS", "none"}, {"HGETALL", "none"}, {"ZRANK", "none", "a"},
		{"EVAL", "return nil", 1, "k"}, {"ECHO", ""}, {"CLIENT", "GETNAME"}, {"PING"},
	}
	var all strings.Builder
	for _, request := range requests {
		all.WriteString(array(request...))
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for range 20 {
				pair.SameRaw(t, all.String(), len(requests))
			}
		}
	})
}

// TestCase_J06_Nesting: no depth of nesting takes the proxy's stack.
func TestCase_J06_Nesting(t *testing.T) {
	const (
		requestDepth = 1_000 // read at once: a node resets a connection that it has not read to its end
		deepest      = 100_000
		replyDepth   = 2_000 // Lua refuses to convert much deeper tables
	)
	script := fmt.Sprintf("local t = 1; for i = 1, %d do t = {t} end; return t", replyDepth)
	want := strings.Repeat("*1\r\n", replyDepth) + ":1\r\n"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		got := e.Pair(t, 2).SameEnd(t, strings.Repeat("*1\r\n", requestDepth))
		if want := "-ERR Protocol error: expected '$', got '*'\r\n"; got != want {
			t.Errorf("the lone node answered %q, want %q", got, want)
		}
		c, reply := e.Proxy.Dial(t), any(nil)
		err := c.Write([]byte(strings.Repeat("*1\r\n", deepest)))
		if err == nil { // it has got everything before it closed
			reply, err = c.Receive()
		}
		if want := testbed.Error("ERR Protocol error: expected '$', got '*'"); reply != want && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%d levels: %v, %v, want %q or a reset", deepest, reply, err, want)
		}
		harness.Expect(t, e.Proxy.Dial(t), array("PING"), "+PONG\r\n")
		for name, c := range map[string]*testbed.Conn{"lone node": e.DialLone(t), "proxy": e.Proxy.Dial(t)} {
			if err := c.Write([]byte(array("EVAL", script, 1, "k"))); err != nil {
				t.Fatal(err)
			}
			reply := make([]byte, len(want))
			if _, err := io.ReadFull(deadlined(t, c), reply); err != nil || string(reply) != want {
				t.Errorf("%s: got %s (%v), want %s", name, harness.Clip(reply), err, harness.Clip(want))
			}
		}
	})
}

// deadlined is the connection below with a deadline for all that is read from it.
func deadlined(t *testing.T, c *testbed.Conn) io.Reader {
	t.Helper()
	if err := c.NetConn().SetReadDeadline(time.Now().Add(testbed.DefaultTimeout)); err != nil {
		t.Fatal(err)
	}
	return c.NetConn()
}

package protocol

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mithril/tests/harness"
)

// TestCase_C02_AlignedAfterErrors mixes errors of every origin into a pipeline.
func TestCase_C02_AlignedAfterErrors(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		pair.Same(t, "RPUSH", "list", "a")
		pair.Same(t, "SET", "str", "x")
		requests := [][]any{
			{"GET", "list"}, {"GET", "str"}, {"INCR", "str"}, {"LRANGE", "list", 0, -1}, {"NONESUCH", "a"}, {"GET"}, {"GET", "str"},
			{"CLIENT", "NONESUCH"}, {"EVAL", "return redis.error_reply('MY error')", 1, "str"}, {"MGET", "str", "list", "none"},
			{"MSET", "a"}, {"STRLEN", "str"}, {"PFCOUNT", "list"}, {"EXISTS", "str", "list"}, {"ECHO", "end"},
		}
		var all strings.Builder
		for range 20 {
			for _, request := range requests {
				pair.Same(t, request...)
				all.WriteString(array(request...))
			}
		}
		pair.SameRaw(t, all.String(), 20*len(requests))
		harness.Expect(t, pair.Proxy, array("ECHO", "aligned"), "$7\r\naligned\r\n")
	})
}

// TestCase_C02_AlignedAfterNoAuth does the same before and after a login. Redis 8.0 itself
// forgets the reply to the wrong password when an earlier one is not out yet, so it is not
// asked.
func TestCase_C02_AlignedAfterNoAuth(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Password: password})
		harness.Expect(t, p.DialFresh(t),
			array("GET", "a")+array("AUTH", "wrong")+array("GET", "a")+array("AUTH", password)+array("SET", "a", "1")+array("GET", "a"),
			"-NOAUTH Authentication required.\r\n-WRONGPASS invalid username-password pair or user is disabled.\r\n"+
				"-NOAUTH Authentication required.\r\n+OK\r\n+OK\r\n$1\r\n1\r\n")
	})
}

// TestCase_C03_EmptyBulkThenAnother has the end of one request and the start of the next
// in one segment.
func TestCase_C03_EmptyBulkThenAnother(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		round := array("HSET", "k", "f", "") + array("HSET", "k", "g", "v") + array("XADD", "s", "MAXLEN", "~", 10, "1-*", "a", "b")
		pair.SameRaw(t, strings.Repeat(round, 50), 150)
		pair.Same(t, "HGETALL", "k")
		pair.Same(t, "SET", "", "")
		pair.SameRaw(t, strings.Repeat(array("GET", "")+array("SET", "e", "")+array("GET", "e"), 50), 150)
	})
}

// TestCase_C04_BufferEdgeSizes sends values whose requests and replies end around every
// edge of the chunks that the proxy and its ring use.
func TestCase_C04_BufferEdgeSizes(t *testing.T) {
	const chunk = 16 << 10
	var sizes []int
	for size := range 600 {
		sizes = append(sizes, size)
	}
	for _, edge := range []int{1024, 4096, chunk, 2 * chunk, 3 * chunk, 64 << 10} {
		// From the value alone up to the value with all that stands around it.
		for d := -48; d <= 3; d++ {
			sizes = append(sizes, edge+d)
		}
	}
	for d := -3; d <= 3; d++ {
		sizes = append(sizes, 5*chunk+d, 1<<20+d)
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for i, size := range sizes {
			value := pattern(size)
			harness.Expect(t, c, array("SET", "k", value)+array("GET", "k"), fmt.Sprintf("+OK\r\n$%d\r\n%s\r\n", size, value))
			if t.Failed() {
				t.Fatalf("value of %d bytes, number %d", size, i)
			}
		}
	})
}

// TestCase_C04_PipelinedSizes lets requests and replies of random sizes fall on the edges
// at random offsets.
func TestCase_C04_PipelinedSizes(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		random := rand.New(rand.NewPCG(1, 2))
		c := e.Proxy.Dial(t)
		for range 20 {
			var request, want strings.Builder
			for i := range 100 {
				size := random.IntN(1 << random.IntN(17))
				key, value := fmt.Sprint("key:", i), pattern(size)
				request.WriteString(array("SET", key, value) + array("GET", key))
				fmt.Fprintf(&want, "+OK\r\n$%d\r\n%s\r\n", size, value)
			}
			written := make(chan error, 1)
			go func() { written <- c.Write([]byte(request.String())) }()
			harness.Expect(t, c, "", want.String())
			if err := <-written; err != nil {
				t.Fatal(err)
			}
		}
	})
}

// pattern is a value in which every byte depends on its place and on the length.
func pattern(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ size)
	}
	return string(b)
}

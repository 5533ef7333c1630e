package routing

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// wideTimeout bounds a request or a reply of millions of elements on a slow machine.
const wideTimeout = time.Minute

// TestCase_B10_WideMGET compares the time of one MGET with that of a tenth of its keys and
// with what a lone node takes.
func TestCase_B10_WideMGET(t *testing.T) {
	const keys = 100_000
	names := numbered("wide:", keys)
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			p := e.Start(t, harness.Options{})
			c, lone := p.Dial(t), e.DialLone(t)
			fill(t, c, names)
			fill(t, lone, names[:keys/10])
			direct := fastest(t, lone, names[:keys/10])
			tenth := fastest(t, c, names[:keys/10])
			whole := fastest(t, c, names)
			t.Logf("MGET of %d keys: %v, of %d: %v, of a lone node: %v", keys, whole, keys/10, tenth, direct)
			if whole > 30*tenth {
				t.Errorf("MGET of %d keys takes %v, of %d %v: that is far from linear", keys, whole, keys/10, tenth)
			}
			if tenth > 20*direct {
				t.Errorf("MGET of %d keys takes %v, at a lone node %v", keys/10, tenth, direct)
			}
		})
	})
}

// fastest is the shortest time of a few MGETs.
func fastest(t *testing.T, c *testbed.Conn, keys []string) time.Duration {
	t.Helper()
	request := []byte(array(append([]any{"MGET"}, anys(keys...)...)...))
	want := fmt.Sprintf("*%d\r\n%s", len(keys), strings.Repeat("$1\r\nv\r\n", len(keys)))
	best := wideTimeout
	for range 5 {
		began := time.Now()
		got, err := c.DoRaw(request, 1)
		best = min(best, time.Since(began))
		if err != nil || string(got) != want {
			t.Fatalf("MGET of %d keys: %s, %v", len(keys), harness.Clip(got), err)
		}
	}
	return best
}

// TestCase_B11_LongReplies has collections of more elements than 1,048,576.
func TestCase_B11_LongReplies(t *testing.T) {
	const size, batch = 1_200_000, 10_000
	harness.One(t, testbed.Valkey91, harness.IOUring, func(t *testing.T, e *harness.Env) {
		c := e.Start(t, harness.Options{}).Dial(t)
		c.SetTimeout(wideTimeout)
		for i := 0; i < size; i += batch {
			rpush, sadd, hset := []any{"RPUSH", "list"}, []any{"SADD", "set"}, []any{"HSET", "hash"}
			for n := i; n < i+batch; n++ {
				text := strconv.Itoa(n)
				rpush, sadd, hset = append(rpush, text), append(sadd, text), append(hset, text, "")
			}
			if _, err := c.Pipeline(rpush, sadd, hset); err != nil {
				t.Fatal(err)
			}
		}
		for _, request := range [][]any{{"LRANGE", "list", 0, -1}, {"HKEYS", "hash"}} {
			everyNumber(t, request, elementsOf(do(t, c, request...)), size)
		}
		harness.Hello(t, c, 3)
		everyNumber(t, []any{"SMEMBERS", "set"}, elementsOf(do(t, c, "SMEMBERS", "set")), size)
	})
}

// everyNumber makes sure that the elements of a reply are the numbers below size.
func everyNumber(t *testing.T, request, elements []any, size int) {
	t.Helper()
	seen := make([]bool, size)
	for i, element := range elements {
		text, _ := element.(string)
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= size || seen[n] || request[0] == "LRANGE" && n != i {
			t.Fatalf("%v: element %d is %v", request, i, element)
		}
		seen[n] = true
	}
	if len(elements) != size {
		t.Errorf("%v: %d elements, want %d", request, len(elements), size)
	}
}

// elementsOf are the elements of an array or a set.
func elementsOf(reply any) []any {
	if set, isSet := reply.(testbed.Set); isSet {
		return set
	}
	list, _ := reply.([]any)
	return list
}

// TestCase_B12_LongRequests has more arguments than 1,048,576, of which keys of every shard
// exist.
func TestCase_B12_LongRequests(t *testing.T) {
	const size, there = 1_100_000, 3000
	names := numbered("k", size)
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			p := e.Start(t, harness.Options{})
			c := p.Dial(t)
			c.SetTimeout(wideTimeout)
			fill(t, c, names[:there])
			del := array(append([]any{"DEL"}, anys(names...)...)...)
			harness.Expect(t, c, del+array("PING"), fmt.Sprintf(":%d\r\n+PONG\r\n", there))
			harness.Expect(t, c, array("DBSIZE"), ":0\r\n")

			do(t, c, "SET", "again", "v")
			const count = 1_048_577
			exists := fmt.Sprintf("*%d\r\n$6\r\nEXISTS\r\n%s", count, strings.Repeat("$5\r\nagain\r\n", count-1))
			harness.Expect(t, c, exists, fmt.Sprintf(":%d\r\n", count-1))
		})
	})
}

// TestCase_B12_TooManyArguments: a count that no request can have ends the connection.
func TestCase_B12_TooManyArguments(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, header := range []string{"*2147483648\r\n", "*9223372036854775807\r\n", "*99999999999999999999\r\n"} {
			if reply := e.Pair(t, 2).SameEnd(t, array("PING")+header); reply != "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n" {
				t.Errorf("%q: the lone node answers %q", header, reply)
			}
		}
	})
}

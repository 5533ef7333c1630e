package protocol

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestContract_PROTO3_HelloDescribesTheProxy(t *testing.T) { helloShape(t) }

func TestCase_J11_HelloShape(t *testing.T) { helloShape(t) }

// describes makes two replies to HELLO equal that differ only in the values of the fields
// and in the modules: the proxy has none, whatever the nodes have loaded.
func describes(reply []byte) string {
	before, _, found := bytes.Cut(reply, []byte("$7\r\nmodules\r\n"))
	if !found {
		return string(reply)
	}
	return harness.Shape(append(before, "$7\r\nmodules\r\n*0\r\n"...))
}

func TestDescribesSeesDifferences(t *testing.T) {
	reply := "%2\r\n$2\r\nid\r\n:7\r\n$7\r\nmodules\r\n*0\r\n"
	for other, same := range map[string]bool{
		"%2\r\n$2\r\nid\r\n:123\r\n$7\r\nmodules\r\n*1\r\n$1\r\na\r\n": true,
		"*4\r\n$2\r\nid\r\n:7\r\n$7\r\nmodules\r\n*0\r\n":              false,
		"%2\r\n$2\r\nid\r\n$1\r\n7\r\n$7\r\nmodules\r\n*0\r\n":         false,
		"-ERR a\r\n": false,
	} {
		if got := describes([]byte(other)) == describes([]byte(reply)); got != same {
			t.Errorf("%q and %q: same is %v, want %v", reply, other, got, same)
		}
	}
}

// helloShape compares the fields of HELLO's reply, in their order, with a lone node's: what
// a client learns of the server is the same but for the mode and the modules.
func helloShape(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		ids := map[any]bool{}
		for _, proto := range []any{3, nil, 2, nil} {
			args := []any{"HELLO"}
			if proto != nil {
				args = append(args, proto)
			}
			pair.SameAs(t, describes, args...)
			got, want := fields(t, pair.Proxy, args...), fields(t, pair.Lone, args...)
			for i := 0; i < len(want); i += 2 {
				switch want[i] {
				case "mode":
					want[i+1] = "cluster"
				case "modules":
					want[i+1] = []any{}
				case "id":
					ids[got[i+1]] = true
					want[i+1] = got[i+1]
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v: got %v, want %v", args, got, want)
			}
		}
		if len(ids) != 1 {
			t.Errorf("HELLO gave one connection the ids %v", ids)
		}
	})
}

// fields returns a map or a flat array of pairs.
func fields(t *testing.T, c *testbed.Conn, args ...any) []any {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	switch reply := reply.(type) {
	case testbed.Map:
		return reply
	case []any:
		return reply
	}
	t.Fatalf("%v: got a %T", args, reply)
	return nil
}

// wrongHellos change nothing and say why.
var wrongHellos = [][]any{
	{"HELLO", 4}, {"HELLO", 1}, {"HELLO", 0}, {"HELLO", -1}, {"HELLO", "abc"}, {"HELLO", "3x"}, {"HELLO", "+3"}, {"HELLO", ""},
	{"HELLO", "99999999999999999999"}, {"HELLO", 3, "AUTH"}, {"HELLO", 3, "AUTH", "default"}, {"HELLO", 3, "SETNAME"},
	{"HELLO", 3, "SETNAME", "a b"}, {"HELLO", 3, "BOGUS"}, {"HELLO", 3, "SETNAME", "x", "BOGUS"}, {"HELLO", 3, "AUTH", "nobody", "x"},
	{"HELLO", 3, "SETNAME", "x", "AUTH", "nobody", "x"}, {"HELLO", 4, "AUTH", "nobody", "x"},
}

func TestContract_PROTO3_WrongHelloChangesNothing(t *testing.T) { helloErrors(t) }

func TestCase_J11_HelloErrors(t *testing.T) { helloErrors(t) }

func helloErrors(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, request := range wrongHellos {
			got := pair.Same(t, request...)
			if got[0] != '-' {
				t.Errorf("%v: the lone node answered %q, want an error", request, got)
			}
			pair.Same(t, "GET", "none") // which shows the protocol
			pair.Same(t, "CLIENT", "GETNAME")
		}
	})
}

func TestContract_PROTO3_HelloWithAuthAndName(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		dial := protected(t, e)
		pair := dial()
		pair.Same(t, "HELLO", 3)
		pair.Same(t, "HELLO")
		pair.Same(t, "HELLO", 3, "SETNAME", "x")
		pair.Same(t, "HELLO", 3, "AUTH", "default", "wrong")
		pair.Same(t, "HELLO", 3, "AUTH", "nobody", password)
		pair.Same(t, "GET", "a") // refused, in RESP2
		pair.SameAs(t, describes, "HELLO", 3, "AUTH", "default", password, "SETNAME", "worker-1")
		pair.Same(t, "CLIENT", "GETNAME")
		pair.Same(t, "GET", "none")
		pair.SameAs(t, describes, "HELLO", 2)
		pair.Same(t, "GET", "none")
		pair.Same(t, "CLIENT", "GETNAME")

		pair = dial()
		pair.SameAs(t, describes, "HELLO", 2, "SETNAME", "first", "AUTH", "default", password, "SETNAME", "second")
		pair.Same(t, "CLIENT", "GETNAME")
	})
}

// TestContract_PROTO3_ProtocolOfEachSession has sessions of both protocols side by side,
// and HELLO in the middle of a pipeline.
func TestContract_PROTO3_ProtocolOfEachSession(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		two, three := e.Pair(t, 2), e.Pair(t, 3)
		for range 3 {
			for _, pair := range []*harness.Pair{two, three} {
				pair.Same(t, "HSET", "h", "f", "v")
				pair.Same(t, "HGETALL", "h")
				pair.Same(t, "GET", "none")
			}
		}
		got, err := two.Proxy.DoRaw([]byte(array("HGETALL", "h")+array("HELLO", 3)+array("HGETALL", "h")+array("HELLO", 2)+array("GET", "none")), 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"*2\r\n$1\r\nf\r\n$1\r\nv\r\n%7\r\n", "%1\r\n$1\r\nf\r\n$1\r\nv\r\n*14\r\n", "$-1\r\n"} {
			if !strings.Contains(string(got), part) {
				t.Errorf("HGETALL; HELLO 3; HGETALL; HELLO 2; GET: got %q, which lacks %q", got, part)
			}
		}
	})
}

// TestContract_PROTO3_HelloKeepsTheOrder: what a session asks for behind HELLO takes
// another connection to the node, and yet does not overtake a large request that it sent
// before.
func TestContract_PROTO3_HelloKeepsTheOrder(t *testing.T) {
	const (
		rounds = 10
		large  = 4 << 20
	)
	value := strings.Repeat("v", large+rounds)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		c := e.Proxy.Dial(t)
		for i := range rounds {
			replies, err := c.Pipeline([]any{"SET", "k", value[:large+i]}, []any{"HELLO", 3 - i%2}, []any{"STRLEN", "k"})
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(large + i); replies[0] != "OK" || replies[2] != want {
				t.Fatalf("round %d: SET, HELLO, STRLEN gave %v, %v, want OK, %d", i, replies[0], replies[2], want)
			}
		}
	})
}

package testbed

import (
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

// answer returns a client whose peer reads everything and has sent text.
func answer(t *testing.T, text string) *Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	go func() {
		server.Write([]byte(text))
		server.Close()
	}()
	c := NewConn(client)
	c.SetTimeout(time.Second)
	return c
}

func TestReceive(t *testing.T) {
	for _, test := range []struct {
		text string
		want any
	}{
		{"+OK\r\n", "OK"},
		{"$5\r\nab\r\nc\r\n", "ab\r\nc"},
		{"$0\r\n\r\n", ""},
		{"$-1\r\n", nil},
		{"*-1\r\n", nil},
		{"_\r\n", nil},
		{":-42\r\n", int64(-42)},
		{"-ERR no\r\n", Error("ERR no")},
		{"!6\r\nERR\r\nx\r\n", Error("ERR\r\nx")},
		{"*2\r\n:1\r\n*0\r\n", []any{int64(1), []any{}}},
		{"%1\r\n+a\r\n:1\r\n", Map{"a", int64(1)}},
		{"~1\r\n+a\r\n", Set{"a"}},
		{">2\r\n+message\r\n+x\r\n", Push{"message", "x"}},
		{"#t\r\n", true},
		{",1.5\r\n", 1.5},
		{"(123456789012345678901234567890\r\n", BigNumber("123456789012345678901234567890")},
		{"=7\r\ntxt:abc\r\n", Verbatim{Format: "txt", Text: "abc"}},
		{"|1\r\n+ttl\r\n:5\r\n+OK\r\n", "OK"},
	} {
		got, err := answer(t, test.text).Receive()
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q reads as %#v, %v, want %#v", test.text, got, err, test.want)
		}
	}
}

func TestReceiveMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "EOF",
		"+OK":                         "unexpected EOF",
		"\r\n":                        "empty line where a reply type was expected",
		"+OK\n":                       `line "+OK\n" ends in LF without CR`,
		"x1\r\n":                      `unknown reply type 'x' in line "x1"`,
		"$-2\r\n":                     `string length "-2" is not in -1..1073741824`,
		"$1\r\nab\r\n":                `string of length 1 ends in "b\r", not in CR LF`,
		"*x\r\n":                      `aggregate count "x" is not in -1..16777216`,
		"#x\r\n":                      `boolean "x" is neither t nor f`,
		"=3\r\nabc\r\n":               `verbatim string "abc" does not start with a format and a colon`,
		":1x\r\n":                     `strconv.ParseInt: parsing "1x": invalid syntax`,
		strings.Repeat("*1\r\n", 100): "reply nested deeper than 64",
		"*2\r\n:1\r\n":                "EOF",
	} {
		got, err := answer(t, text).Receive()
		if err == nil || err.Error() != want {
			t.Errorf("%q reads as %#v, %v, want the error %q", text, got, err, want)
		}
	}
}

// TestClientLive speaks with a real server where order and exact bytes count.
func TestClientLive(t *testing.T) {
	n := RunNode(t, NodeOptions{})
	c := MustDial(t, n.Addr())
	replies, err := c.Pipeline([]any{"SET", "k", []byte("v")}, []any{"INCR", "k"}, []any{"GET", "k"})
	want := []any{"OK", Error("ERR value is not an integer or out of range"), "v"}
	if err != nil || !reflect.DeepEqual(replies, want) {
		t.Fatalf("pipeline: %#v, %v, want %#v", replies, err, want)
	}
	raw, err := c.DoRaw([]byte("GET k\r\nGET missing\r\nPING\r\n"), 3)
	if err != nil || string(raw) != "$1\r\nv\r\n$-1\r\n+PONG\r\n" {
		t.Fatalf("raw: %q, %v", raw, err)
	}
	hello, err := c.Do("HELLO", 3)
	if m, ok := hello.(Map); err != nil || !ok || m.Get("proto") != int64(3) || m.Get("none") != nil {
		t.Fatalf("HELLO 3: %#v, %v", hello, err)
	}
	c.Send("SUBSCRIBE", "ch")
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Receive(); err != nil || !reflect.DeepEqual(got, Push{"subscribe", "ch", int64(1)}) {
		t.Fatalf("SUBSCRIBE: %#v, %v", got, err)
	}
	mustDo(t, MustDial(t, n.Addr()), "PUBLISH", "ch", "hi")
	if got := mustDo(t, c, "PING"); got != "PONG" {
		t.Fatalf("PING behind a push: %v", got)
	}
	if got := c.Pushes(); !reflect.DeepEqual(got, []Push{{"message", "ch", "hi"}}) || c.Pushes() != nil {
		t.Fatalf("pushes: %#v", got)
	}
}

package metamorphic

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
)

// TestDamageIsFound plays one history to servers that send what they should not.
func TestDamageIsFound(t *testing.T) {
	var m maker
	h := &history{end: endSoon, bursts: [][]request{{m.encode("GET", "a"), m.encode("GET", "b")}, {{text: "nothing", bytes: []byte("\r\n"), silent: true}, m.encode("GET", "c")}}}
	const right = "$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"
	ask := func(replies string, m manner) ([][]byte, error) {
		return play(serve(t, replies), h, m, rand.New(rand.NewPCG(1, 2)))
	}
	want, err := ask(right, manner{})
	if err != nil {
		t.Fatal(err)
	}
	for write := range cuts {
		for read := range cuts {
			got, err := ask(right, manner{write: write, read: read, narrow: true})
			if text := difference(h, got, want); text != "" || err != nil {
				t.Errorf("written %v and read %v: %s, %v", write, read, text, err)
			}
		}
	}
	for _, wrong := range []string{
		"$1\r\na\r\n$1\r\nB\r\n$1\r\nc\r\n",             // a byte changed
		"$1\r\na\r\n$1\r\nc\r\n$1\r\nb\r\n",             // two replies exchanged
		"$1\r\na\r\n$1\r\nb\r\n",                        // one missing
		"$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n",  // one too many
		"$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n\r\n",         // bytes too many
		"$1\r\na\r\n+b\r\n$1\r\nc\r\n",                  // another type
		"$1\r\na\r\n$1\r\nb\r\n-ERR $1\r\nc\r\n",        // an error
		strings.Repeat("$1\r\na\r\n", 3)[:len(right)-1], // cut short
	} {
		got, err := ask(wrong, manner{})
		if difference(h, got, want) == "" && err == nil {
			t.Errorf("%q passes for %q", wrong, right)
		}
	}
}

// serve answers one connection with these bytes, whatever it asks, and closes it.
func serve(t *testing.T, replies string) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, replies)
		io.Copy(io.Discard, conn)
	}()
	return listener.Addr().String()
}

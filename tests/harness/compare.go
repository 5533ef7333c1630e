package harness

import (
	"fmt"
	"io"
	"time"

	"mithril/tools/testbed"
)

// Pair is a connection through the proxy and one to the lone node. Both get the same
// requests; what comes back must be the same.
type Pair struct {
	Proxy, Lone *testbed.Conn
}

// Pair connects to the cell's proxy and to its lone node and switches both to a protocol.
func (e *Env) Pair(tb TB, proto int) *Pair {
	tb.Helper()
	return &Pair{Proxy: e.Proxy.DialProto(tb, proto), Lone: Hello(tb, e.DialLone(tb), proto)}
}

// Same sends a command to both and fails the test unless the replies are the same byte by
// byte. It returns the reply.
func (p *Pair) Same(tb TB, args ...any) string {
	tb.Helper()
	return p.SameAs(tb, Exact, args...)
}

// SameAs is Same for replies that are made comparable first.
func (p *Pair) SameAs(tb TB, canon Canon, args ...any) string {
	tb.Helper()
	return p.sameFrames(tb, canon, testbed.AppendCommand(nil, args...), 1)
}

// SameRaw writes a request as it is to both and compares the next n frames.
func (p *Pair) SameRaw(tb TB, request string, n int) string {
	tb.Helper()
	return p.sameFrames(tb, Exact, []byte(request), n)
}

func (p *Pair) sameFrames(tb TB, canon Canon, request []byte, n int) string {
	tb.Helper()
	want, err := p.Lone.DoRaw(request, n)
	if err != nil {
		tb.Fatalf("%s: the lone node answered %s: %v", Clip(request), Clip(want), err)
	}
	got, err := p.Proxy.DoRaw(request, n)
	if err != nil {
		tb.Fatalf("%s: the proxy answered %s: %v\nwant %s", Clip(request), Clip(got), err, Clip(want))
	}
	if canon(got) != canon(want) {
		tb.Errorf("%s\n got %s\nwant %s", Clip(request), Clip(got), Clip(want))
	}
	return string(want)
}

// SameEnd writes a request to both and compares everything that comes until they close
// the connection.
func (p *Pair) SameEnd(tb TB, request string) string {
	tb.Helper()
	want, err := UntilClosed(p.Lone, request)
	if err != nil {
		tb.Fatalf("%s: the lone node answered %s: %v", Clip(request), Clip(want), err)
	}
	got, err := UntilClosed(p.Proxy, request)
	if err != nil {
		tb.Fatalf("%s: the proxy answered %s: %v\nwant %s and an end", Clip(request), Clip(got), err, Clip(want))
	}
	if string(got) != string(want) {
		tb.Errorf("%s\n got %s and an end\nwant %s and an end", Clip(request), Clip(got), Clip(want))
	}
	return string(want)
}

// Expect writes a request as it is and fails the test unless exactly want, whole frames,
// comes back.
func Expect(tb TB, c *testbed.Conn, request, want string) {
	tb.Helper()
	got, err := c.DoRaw([]byte(request), frames(want))
	if err != nil {
		tb.Fatalf("%s: got %s: %v\nwant %s", Clip(request), Clip(got), err, Clip(want))
	}
	if string(got) != want {
		tb.Errorf("%s\n got %s\nwant %s", Clip(request), Clip(got), Clip(want))
	}
}

// frames counts the frames of a reply.
func frames(reply string) (n int) {
	for b := []byte(reply); len(b) > 0; n++ {
		_, b = readNode(b)
	}
	return n
}

// UntilClosed writes a request on a connection that has nothing unread and returns all
// that comes until the other side closes. A reset is an error: what was sent before it may
// be lost.
func UntilClosed(c *testbed.Conn, request string) ([]byte, error) {
	conn := c.NetConn()
	if err := conn.SetDeadline(time.Now().Add(testbed.DefaultTimeout)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}

// Clip prints bytes for a message, long ones with their middle left out.
func Clip[T ~string | ~[]byte](b T) string {
	const most = 400
	if len(b) <= most {
		return fmt.Sprintf("%q", string(b))
	}
	return fmt.Sprintf("%q...%q (%d bytes)", string(b[:most/2]), string(b[len(b)-most/2:]), len(b))
}

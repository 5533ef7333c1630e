package process

import (
	"testing"

	"mithril/tests/harness"
)

// TestEndOfConversation compares the last bytes of connections with a server's: group I
// of the field cases, half-close and QUIT.
func TestEndOfConversation(t *testing.T) {
	cases := map[string]struct {
		request   string
		halfClose bool
		want      string
	}{
		"half-close": {"SET a 1\r\nGET a\r\nPING\r\n", true, "+OK\r\n$1\r\n1\r\n+PONG\r\n"},
		"half-close within a request": {
			"SET a 1\r\nGET a\r\n*2\r\n$3\r\nGET\r\n$1\r\n", true, "+OK\r\n$1\r\n1\r\n",
		},
		"half-close at once":      {"", true, ""},
		"half-close across slots": {"MSET a 1 b 2 c 3\r\nDEL a b c\r\n", true, ""},
		"quit":                    {"SET a 1\r\nGET a\r\nQUIT\r\nPING\r\n", false, "+OK\r\n$1\r\n1\r\n+OK\r\n"},
		"quit behind a protocol error": {
			"GET a\r\n*1\r\n:4\r\nQUIT\r\n", false, "$-1\r\n-ERR Protocol error: expected '$', got ':'\r\n",
		},
	}
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		for name, test := range cases {
			t.Run(name, func(t *testing.T) {
				e.Flush(t)
				want := test.want
				if name == "half-close across slots" {
					want = "+OK\r\n:3\r\n" // one cluster node answers CROSSSLOT
				}
				lone, proxied := e.DialLone(t), e.Proxy.Dial(t)
				for _, c := range []interface{ Write([]byte) error }{lone, proxied} {
					if err := c.Write([]byte(test.request)); err != nil {
						t.Fatal(err)
					}
				}
				if test.halfClose {
					halfClose(t, lone)
					halfClose(t, proxied)
				}
				if got := rest(t, lone); got != want {
					t.Errorf("the server answers %q, want %q", got, want)
				}
				if got := rest(t, proxied); got != want {
					t.Errorf("the proxy answers %q, want %q", got, want)
				}
			})
		}
	})
}

package protocol

import (
	"strings"
	"testing"

	"mithril/tests/harness"
)

// TestCase_J08_UnknownCommandEcho: what a client sends comes back cut short and on one
// line.
func TestCase_J08_UnknownCommandEcho(t *testing.T) {
	long := strings.Repeat("x", 300)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, request := range [][]any{
			{long}, {long, long}, {"none", long, long}, {"none", "a\r\n+OK"}, {"no\r\nne", "a"}, {""}, {"", ""}, {"none", ""},
			{"none", "a\x00b", "c"}, {"no\x00ne"}, {"none", "'quoted'"}, {"none", "\x01\xff"}, {"None", "Mixed"}, {"%s%n", "%s"},
			{strings.Repeat("y", 128), strings.Repeat("z", 128)}, {strings.Repeat("y", 129), strings.Repeat("z", 129)},
			{"none", strings.Repeat("z", 100), strings.Repeat("w", 100), "more"}, {"none", "a", "b", "c", "d", "e", "f", "g"},
			{"CLIENT", long}, {"CLIENT", "a\r\nb"}, {"client", ""}, {"CLIENT", "a\x00b"}, {"get|none"}, {"config|get", "x"}, {"GET\x00", "k"},
		} {
			pair.Same(t, request...)
			pair.Same(t, "PING")
		}
	})
}

// TestCase_N02_WordsWithoutTheirArgument calls containers alone.
func TestCase_N02_WordsWithoutTheirArgument(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, name := range []string{"CONFIG", "CLIENT", "ACL", "SLOWLOG", "SCRIPT", "XGROUP", "XINFO", "OBJECT", "FUNCTION", "MEMORY", "LATENCY", "PUBSUB",
			"MODULE", "PSLOWLOG", "COMMANDLOG"} {
			pair.Same(t, name)
			pair.Same(t, name, "NONESUCH")
			pair.Same(t, "PING")
		}
		pair.Same(t, "CLUSTER")
	})
}

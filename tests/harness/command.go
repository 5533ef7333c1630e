package harness

import (
	"slices"

	"mithril/tools/testbed"
)

// MustDo sends a command that must not fail and returns its reply.
func MustDo(tb TB, c *testbed.Conn, args ...any) any {
	tb.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		tb.Fatalf("%v: %v", args, err)
	}
	return reply
}

// WantError sends a command that must be answered with this error.
func WantError(tb TB, c *testbed.Conn, want string, args ...any) {
	tb.Helper()
	if reply, err := c.Do(args...); err != testbed.Error(want) {
		tb.Fatalf("%v: %v, %v, want the error %q", args, reply, err, want)
	}
}

// SetAll sets keys to a value, a thousand with each write.
func SetAll(tb TB, c *testbed.Conn, keys []string, value string) {
	tb.Helper()
	for batch := range slices.Chunk(keys, 1000) {
		var commands [][]any
		for _, key := range batch {
			commands = append(commands, []any{"SET", key, value})
		}
		replies, err := c.Pipeline(commands...)
		if err != nil {
			tb.Fatalf("SET of %d keys: %v", len(batch), err)
		}
		for i, reply := range replies {
			if reply != "OK" {
				tb.Fatalf("SET %s: %v", batch[i], reply)
			}
		}
	}
}

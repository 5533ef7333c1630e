package harness

import "mithril/tools/testbed"

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

package session

import (
	"testing"

	"mithril/src/command"
)

// TestNothingOfARefusedTransactionIsExecuted: a client that sends a whole transaction
// without reading gets none of it done.
func TestNothingOfARefusedTransactionIsExecuted(t *testing.T) {
	const refused, blocked = "-ERR 'multi' is not supported by this proxy\r\n", errInBlock
	for _, c := range []struct{ requests, want string }{
		{"MULTI\r\nSET a 1\r\nECHO x\r\nMSET a 1 b 2\r\nEXEC\r\nECHO y\r\n", refused + blocked + blocked + blocked + errExecAbort + "$1\r\ny\r\n"},
		{"MULTI\r\nSET a 1\r\nDISCARD\r\nPING\r\n", refused + blocked + replyOK + "+PONG\r\n"},
		{"MULTI\r\nMULTI\r\nEXEC\r\nPING\r\n", refused + blocked + errExecAbort + "+PONG\r\n"},
		{"MULTI\r\nSET a 1\r\nRESET\r\nPING\r\n", refused + blocked + "+RESET\r\n+PONG\r\n"},
		{"MULTI\r\nQUIT\r\nPING\r\n", refused + replyOK},
		{"MULTI x\r\nPING\r\n", "-ERR wrong number of arguments for 'multi' command\r\n+PONG\r\n"},
		{"EXEC\r\nPING\r\n", "-ERR 'exec' is not supported by this proxy\r\n+PONG\r\n"},
	} {
		env := testEnv(t, command.Versions[0], "")
		if got := say(env, newTestSession(env), []byte(c.requests)); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.requests, got, c.want)
		}
	}
}

package protocol

import (
	"testing"

	"mithril/tests/harness"
)

// TestCase_K01_CredentialsAndOrder logs in with each form of AUTH, in the middle of
// pipelines too.
func TestCase_K01_CredentialsAndOrder(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		dial := protected(t, e)
		pair := dial()
		pair.SameRaw(t, array("GET", "a")+array("AUTH", password)+array("GET", "a"), 3)
		for _, request := range [][]any{
			{"AUTH"}, {"AUTH", "wrong"}, {"AUTH", ""}, {"AUTH", "default", "wrong"}, {"AUTH", "nobody", password}, {"AUTH", "a", "b", "c"},
			{"AUTH", password + "x"}, {"AUTH", "DEFAULT", password}, {"PING"}, {"ECHO", "x"}, {"CLIENT", "ID"}, {"INFO"}, {"SELECT", 0},
			{"NONESUCH"}, {"GET"}, {"GET", "a", "b"}, {"CLIENT", "NONESUCH"}, {"CLIENT"}, {"COMMAND"}, {"MGET", "a", "b"},
		} {
			dial().Same(t, request...)
		}
		pair = dial()
		pair.Same(t, "AUTH", "default", password)
		pair.Same(t, "PING")
		pair.Same(t, "AUTH", "wrong") // which does not log out
		pair.Same(t, "PING")
		pair.Same(t, "RESET")
		pair.Same(t, "PING")
		dial().SameEnd(t, array("QUIT")+array("PING"))
		dial().SameRaw(t, "AUTH \""+password+"\"\r\nSET k 1\r\nGET k\r\n", 3) // C10
	})
}

func TestCase_K01_AuthWithoutAPassword(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 2)
		for _, request := range [][]any{
			{"AUTH", "x"}, {"AUTH", "default", "x"}, {"AUTH", "default", ""}, {"AUTH", "nobody", "x"}, {"AUTH", "a", "b", "c"}, {"AUTH"},
			{"HELLO", 3, "AUTH", "nobody", "x"}, {"PING"},
		} {
			pair.Same(t, request...)
		}
	})
}

package protocol

import (
	"context"
	"strconv"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const password = "secret word"

// protected starts a proxy and a lone node that demand a password and returns a function
// that connects to both without giving it.
func protected(t *testing.T, e *harness.Env) func() *harness.Pair {
	t.Helper()
	p := e.Start(t, harness.Options{Password: password})
	lone, err := testbed.StartNode(context.Background(), testbed.NodeOptions{Engine: e.Server, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lone.Stop() })
	return func() *harness.Pair {
		return &harness.Pair{Proxy: p.DialFresh(t), Lone: testbed.MustDial(t, lone.Addr())}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

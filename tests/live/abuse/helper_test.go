package abuse

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestMain(m *testing.M) { harness.Main(m) }

// patience bounds everything that happens soon but not at once.
const patience = 10 * time.Second

const mb = 1 << 20

// eachEngine runs a test with each I/O engine of the proxy, in front of a cluster that may
// be paused, with a proxy of its own, which has one worker.
func eachEngine(t *testing.T, args []string, test func(t *testing.T, e *harness.Env, p *harness.Proxy)) {
	t.Helper()
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			test(t, e, e.Start(t, harness.Options{Workers: 1, Args: args}))
		})
	})
}

// mustDo is Do for commands that must succeed.
func mustDo(t *testing.T, c *testbed.Conn, args ...any) any {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// mustWrite writes bytes as they are.
func mustWrite(t *testing.T, c *testbed.Conn, b []byte) {
	t.Helper()
	if err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// repeat is n times the same command.
func repeat(n int, args ...any) []byte {
	return bytes.Repeat(testbed.AppendCommand(nil, args...), n)
}

// grown wants the proxy's memory to grow by at most limit while act runs and settle waits.
func grown(t *testing.T, p *harness.Proxy, limit int64, act func()) {
	t.Helper()
	before := p.RSS()
	act()
	if after := p.PeakRSS(); after-before > limit {
		t.Errorf("the proxy has grown by %d MB, want at most %d", (after-before)/mb, limit/mb)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

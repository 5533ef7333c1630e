package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"mithril/src/slot"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestMain(m *testing.M) { harness.Main(m) }

// patience bounds everything that happens soon but not at once.
const patience = 10 * time.Second

// tag returns a hash tag whose keys lie in a slot.
func tag(s int) string {
	for i := 0; ; i++ {
		if t := fmt.Sprint("{", i, "}"); int(slot.Of([]byte(t))) == s {
			return t
		}
	}
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

// wantError wants an error reply.
func wantError(t *testing.T, c *testbed.Conn, want string, args ...any) {
	t.Helper()
	if reply, err := c.Do(args...); err != testbed.Error(want) {
		t.Fatalf("%v: %v, %v, want the error %q", args, reply, err, want)
	}
}

// await waits until a command's reply is want.
func await(t *testing.T, c *testbed.Conn, want any, args ...any) {
	t.Helper()
	harness.Eventually(t, patience, fmt.Sprintf("%v to answer %v", args, want), func() error {
		if got, err := c.Do(args...); err != nil || got != want {
			return fmt.Errorf("it answers %v, %v", got, err)
		}
		return nil
	})
}

// start starts a proxy in front of bootstrap.
func start(t *testing.T, engine, bootstrap string, args ...string) *harness.Proxy {
	t.Helper()
	return harness.Start(t, harness.Options{
		Engine: engine, Checked: true, NoWait: true, Args: append([]string{"--bootstrap", bootstrap}, args...),
	})
}

// linesWith counts the lines of the log that have all the words.
func linesWith(p *harness.Proxy, words ...string) (n int) {
	for line := range strings.Lines(p.Log()) {
		has := 0
		for _, word := range words {
			if strings.Contains(line, word) {
				has++
			}
		}
		if has == len(words) {
			n++
		}
	}
	return n
}

// infoNumber is a field of the proxy's INFO.
func infoNumber(t *testing.T, c *testbed.Conn, field string) (n int64) {
	t.Helper()
	for line := range strings.Lines(infoText(t, c)) {
		if text, found := strings.CutPrefix(line, field+":"); found {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				t.Fatalf("INFO: %s", line)
			}
			return n
		}
	}
	t.Fatalf("INFO lacks %s", field)
	return 0
}

func infoText(t *testing.T, c *testbed.Conn) string {
	t.Helper()
	switch text := mustDo(t, c, "INFO").(type) {
	case string:
		return text
	case testbed.Verbatim:
		return text.Text
	default:
		t.Fatalf("INFO answers %v", text)
		return ""
	}
}

// eachEngine runs a test with each I/O engine of the proxy.
func eachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) { test(t, engine) })
	}
}

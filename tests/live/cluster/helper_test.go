package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mithril/src/slot"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

func TestMain(m *testing.M) { harness.Main(m) }

// tag returns a hash tag whose keys lie in a slot.
func tag(s int) string {
	for i := 0; ; i++ {
		if t := fmt.Sprint("{", i, "}"); int(slot.Of([]byte(t))) == s {
			return t
		}
	}
}

// await waits until a command's reply is want.
func await(t *testing.T, c *testbed.Conn, want any, args ...any) {
	t.Helper()
	harness.Eventually(t, harness.Patience, fmt.Sprintf("%v to answer %v", args, want), func() error {
		if got, err := c.Do(args...); err != nil || got != want {
			return fmt.Errorf("it answers %v, %v", got, err)
		}
		return nil
	})
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
	switch text := harness.MustDo(t, c, "INFO").(type) {
	case string:
		return text
	case testbed.Verbatim:
		return text.Text
	default:
		t.Fatalf("INFO answers %v", text)
		return ""
	}
}

package cluster

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestBenchmarkRuns lets the servers' own load generator use the proxy. It ends at the
// first error reply.
func TestBenchmarkRuns(t *testing.T) {
	redis, err := testbed.Ensure(testbed.Redis70)
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) {
			harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				host, port, _ := net.SplitHostPort(e.Proxy.Addr)
				tests := []string{"set", "get", "incr", "lpush", "sadd", "hset", "mset"}
				out, err := exec.CommandContext(ctx, redis.Benchmark, "-h", host, "-p", port, "-P", "16", "-c", "50",
					"-n", "100000", "-r", "100000", "-q", "-t", strings.Join(tests, ",")).CombinedOutput()
				text := string(out)
				if err != nil || strings.Contains(strings.ToLower(text), "err") || strings.Contains(text, "WARN") {
					t.Errorf("%v:\n%s", err, lastOfLines(text))
				}
				if n := strings.Count(text, " requests per second"); n != len(tests) {
					t.Errorf("%d of %d tests have a result:\n%s", n, len(tests), lastOfLines(text))
				}
				t.Log(lastOfLines(text))
			})
		})
	}
}

// lastOfLines keeps what a terminal would show of lines that are written over.
func lastOfLines(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line = line[strings.LastIndexByte(line, '\r')+1:]; line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

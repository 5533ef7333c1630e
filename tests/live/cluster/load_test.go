package cluster

import (
	"context"
	"fmt"
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

// TestMillionBeforeTheFirstRead writes a million SETs and only then reads. Each reply
// tells what the key had before, so every one of them is checked for order.
func TestMillionBeforeTheFirstRead(t *testing.T) {
	const (
		total     = 1_000_000
		keys      = 1000
		bytesMost = 128 << 20
	)
	for _, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) {
			harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
				p := e.Start(t, harness.Options{}) // its peak of memory is this test's alone
				c := p.Dial(t)
				c.SetTimeout(time.Minute)
				before := p.RSS()
				for i := range total {
					c.Send("SET", fmt.Sprint("k", i%keys), i, "GET")
					if i%keys == 0 {
						if err := c.Flush(); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
				for i := range total {
					var want any
					if i >= keys {
						want = fmt.Sprint(i - keys)
					}
					if got, err := c.Receive(); err != nil || got != want {
						t.Fatalf("reply %d: %v, %v, want %v", i, got, err, want)
					}
				}
				grown := p.PeakRSS() - before
				if grown > bytesMost {
					t.Errorf("the proxy grew by %d MiB, want %d at most", grown>>20, bytesMost>>20)
				}
				t.Logf("the proxy grew by %d MiB", grown>>20)
			})
		})
	}
}

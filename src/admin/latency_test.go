package admin

import (
	"strings"
	"testing"
)

// TestContract_OBS4_LatencyAsOnServers compares LATENCY with a server whose latency-monitor-threshold
// is 0, the default.
func TestContract_OBS4_LatencyAsOnServers(t *testing.T) {
	eachServer(t, func(t *testing.T, real *peer, own *rig) {
		for _, request := range [][]string{
			{"LATENCY", "LATEST"}, {"LATENCY", "DOCTOR"}, {"latency", "doctor"},
			{"LATENCY", "HISTORY", "command"}, {"LATENCY", "HISTORY", ""},
			{"LATENCY", "RESET"}, {"LATENCY", "RESET", "command"}, {"LATENCY", "RESET", "command", "fork", "no\x00such"},
			{"LATENCY", "GRAPH", "command"}, {"LATENCY", "GRAPH", ""}, {"LATENCY", "GRAPH", "a\r\nb\x00c"}, {"LATENCY", "GRAPH", "%s\xff"},
			{"LATENCY", "GRAPH", strings.Repeat("x", 1000)},
		} {
			equal(t, request, own.bytes(request...), real.bytes(request...))
		}
	})
}

package routing

import (
	"fmt"
	"slices"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_ROUTE8_ClusterScanSeesEveryKey walks with the servers' own cursors, whose hash tags lead through the slots. Each step is
// on another connection.
func TestContract_ROUTE8_ClusterScanSeesEveryKey(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		harness.One(t, testbed.Valkey91, engine, func(t *testing.T, e *harness.Env) {
			nodes := primaries(t, e)
			conns := []*testbed.Conn{e.Proxy.Dial(t), e.Proxy.DialProto(t, 3), e.Proxy.Dial(t)}
			walk := func(options ...any) (keys []string) {
				cursor := "0"
				for i := range 20_000 {
					reply := do(t, conns[i%len(conns)], append([]any{"CLUSTERSCAN", cursor}, options...)...).([]any)
					for _, key := range reply[1].([]any) {
						keys = append(keys, key.(string))
					}
					if cursor = reply[0].(string); cursor == "0" {
						slices.Sort(keys)
						return slices.Compact(keys)
					}
				}
				t.Fatalf("CLUSTERSCAN with %v does not end", options)
				return nil
			}
			if got := walk(); len(got) != 0 {
				t.Errorf("an empty cluster has %d keys", len(got))
			}
			want := spread(500)
			for _, key := range want {
				do(t, conns[0], "SET", key, "v")
			}
			do(t, conns[0], "RPUSH", "list", "x")
			slices.Sort(want)
			resetStats(t, nodes)
			if got := walk("TYPE", "string"); !slices.Equal(got, want) {
				t.Errorf("%d of %d strings", len(got), len(want))
			}
			if got := walk("COUNT", 1000, "MATCH", "li*"); fmt.Sprint(got) != "[list]" {
				t.Errorf("MATCH li*: got %q", got)
			}
			if got := walk("SLOT", slotOf("list")); fmt.Sprint(got) != "[list]" {
				t.Errorf("SLOT: got %q", got)
			}
			if moved := infoSum(t, nodes, "errorstats", "errorstat_MOVED", "count"); moved != 0 {
				t.Errorf("%d requests went to a node that does not own the slot", moved)
			}
			for _, cursor := range []string{"abc", "1", "", "0-{06S}-x", "0-{06S}", "{06S}"} {
				pair := &harness.Pair{Proxy: conns[0], Lone: e.Owner(t, cursor)}
				pair.Same(t, "CLUSTERSCAN", cursor)
			}
		})
	})
}

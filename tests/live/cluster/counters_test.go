package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// counts are all numbers of an INFO, those of commands by cmdstat_name.
func counts(t *testing.T, c *testbed.Conn) map[string]int {
	t.Helper()
	list := map[string]int{}
	for line := range strings.Lines(harness.MustDo(t, c, "INFO", "everything").(string)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "worker_commands" {
			if n, err := strconv.Atoi(strings.TrimPrefix(value, "calls=")); err == nil {
				list[name] = n
			}
			continue
		}
		for each := range strings.SplitSeq(value, ",") {
			n, err := strconv.Atoi(each)
			if err != nil {
				t.Fatal(line)
			}
			list[name] += n
		}
	}
	return list
}

// TestCase_M04_CountersAgainstTruth: after commands, errors, redirects and connections whose numbers are known, INFO
// counts as many, and what went to several nodes once.
func TestCase_M04_CountersAgainstTruth(t *testing.T) {
	const conns, rounds, missing, moved = 6, 20, 15, 103
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{})
		watcher := p.Dial(t)
		before := counts(t, watcher)
		for range conns {
			c := p.Dial(t)
			for range rounds {
				harness.MustDo(t, c, "SET", "word", "x")
				harness.MustDo(t, c, "MSET", "a", 1, "b", 2, "c", 3)
				harness.MustDo(t, c, "DEL", "a", "b", "c")
				harness.MustDo(t, c, "DBSIZE")
				for _, fails := range [][]any{{"INCR", "word"}, {"GET"}, {"NONESUCH"}, {"RENAME", "a", "b"}, {"CLIENT", "LIST", "x"}} {
					if _, err := c.Do(fails...); err == nil {
						t.Fatalf("%q: no error", fails)
					}
				}
			}
		}
		c := p.Dial(t)
		move := testbed.Move{Slot: moved, From: 0, To: 1, Hook: func(step testbed.MoveStep) error {
			if step != testbed.MoveMigrating {
				return nil
			}
			for i := range missing {
				// The key is not there, so the node sends whoever asks to the other one.
				if v, err := c.Do("GET", fmt.Sprint(tag(moved), i)); v != nil || err != nil {
					return fmt.Errorf("GET: %v, %v", v, err)
				}
			}
			return nil
		}}
		if err := e.Cluster.MoveSlotLegacy(t.Context(), move); err != nil {
			t.Fatal(err)
		}
		after := counts(t, watcher)
		if err := e.Cluster.MoveSlotLegacy(t.Context(), testbed.Move{Slot: moved, From: 1, To: 0}); err != nil {
			t.Fatal(err)
		}
		const executed = conns * rounds
		for name, want := range map[string]int{
			"total_connections_received": conns + 1, "connected_clients": conns + 1, "redirections": missing, "rejected_connections": 0,
			"total_commands_processed": 6*executed + missing + 1, // the first INFO counts itself in the second
			"worker_commands":          6*executed + missing + 1,
			"total_error_replies":      5 * executed,
			"cmdstat_set":              executed, "cmdstat_mset": executed, "cmdstat_del": executed, "cmdstat_dbsize": executed, "cmdstat_incr": executed,
			"cmdstat_client|list": executed, "cmdstat_get": missing, "cmdstat_rename": 0, "cmdstat_info": 1,
		} {
			if got := after[name] - before[name]; got != want {
				t.Errorf("%s grew by %d, want %d", name, got, want)
			}
		}
	})
}

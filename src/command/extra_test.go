package command

import (
	"strings"
	"testing"

	"mithril/src/resp"
)

func TestContract_ROUTE2_extraCommands(t *testing.T) {
	table, err := ForEngine("valkey", 9, 1).Extend(
		extra(t, "mymod.GET -2 readonly,fast 1 1 1"),
		extra(t, "mymod.size 1 - 0 0 0 request_policy:all_shards response_policy:agg_sum"),
		told(t, "mymod.get 9 write 0 0 0"))
	if err != nil {
		t.Fatal(err)
	}
	if added := table.Len() - ForEngine("valkey", 9, 1).Len(); added != 2 {
		t.Errorf("%d rows are added", added)
	}
	get := table.Lookup([]byte("MYMOD.get"))
	if get == nil || get.Name != "mymod.get" || get.Route != RouteKeyed || get.KeyIndex != 1 || get.Arity != -2 || get.Flags != FlagReadOnly|FlagFast {
		t.Errorf("mymod.get: %+v", get)
	}
	if size := table.Lookup([]byte("mymod.size")); size == nil || size.Route != RouteBroadcast || size.Response != ResponseAggSum {
		t.Errorf("mymod.size: %+v", size)
	}
	row := string(AppendInfo(nil, get, resp.RESP3))
	for _, part := range []string{"$9\r\nmymod.get\r\n:-2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~2\r\n+@fast\r\n+@read\r\n~0\r\n~1\r\n%3\r\n", "*0\r\n"} {
		if !strings.Contains(row, part) {
			t.Errorf("shown as %q, which has no %q", row, part)
		}
	}
}

func TestContract_CONF2_badExtraCommands(t *testing.T) {
	const (
		keys   = "expected 0 0 0, or a first key from 1 on, a last one not before it or negative, and a step from 1 on; not "
		closed = "expected a command that one node, or all by their tips, can serve"
	)
	for line, want := range map[string]string{
		"":                                       "expected " + ExtraForm,
		"m.get -2 readonly 1 1":                  "expected " + ExtraForm,
		"get -2 readonly 1 1 1":                  `expected a command that is not built in, not "get"`,
		"VADD -2 write 1 1 1":                    `expected a command that is not built in, not "vadd"`,
		"Shutdown 1 - 0 0 0":                     `expected a command that is not built in, not "shutdown"`,
		"m|get -2 - 1 1 1":                       `expected a name of printable characters without |, not "m|get"`,
		"m.gét -2 - 1 1 1":                       `expected a name of printable characters without |, not "m.gét"`,
		"m.get 0 - 1 1 1":                        `expected as arity an integer from -32768 to 32767, but not 0, instead of "0"`,
		"m.get two - 1 1 1":                      `expected as arity an integer from -32768 to 32767, but not 0, instead of "two"`,
		"m.get 40000 - 1 1 1":                    `expected as arity an integer from -32768 to 32767, but not 0, instead of "40000"`,
		"m.get 2 read 1 1 1":                     `no_mandatory_keys, no_multi, noscript, pubsub, readonly, skip_commandlog, skip_monitor, skip_slowlog, stale, write, or -; not "read"`,
		"m.get 2 fast,fast 1 1 1":                `expected as flags each once and separated by commas of admin, allow_busy, asking, blocking,`,
		"m.get 2 - 1 0 1":                        keys + `"1 0 1"`,
		"m.get 2 - 2 1 1":                        keys + `"2 1 1"`,
		"m.get 2 - 1 1 0":                        keys + `"1 1 0"`,
		"m.get 2 - 0 0 1":                        keys + `"0 0 1"`,
		"m.get 2 - x 0 0":                        keys + `"x 0 0"`,
		"m.get 2 - -1 -1 1":                      keys + `"-1 -1 1"`,
		"m.get 2 - 1 1 1 fast":                   `expected as tip request_policy:all_nodes|all_shards|multi_shard|special, response_policy:agg_`,
		"m.get 2 - 1 1 1 request_policy:agg_sum": `nondeterministic_output, nondeterministic_output_order, not "request_policy:agg_sum"`,
		"m.pop -2 blocking 1 1 1":                closed,
		"m.conf -2 admin 0 0 0":                  closed,
		"m.x -2 - 0 0 0 request_policy:special":  closed,
	} {
		if rows, err := ParseExtra(strings.Fields(line)); err == nil || rows != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", line, err, want)
		}
	}
}

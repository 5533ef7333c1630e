package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/slot"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// commandReply is a reply to COMMAND in RESP3. A line is a command's name, arity, flag, first key, last key, step and tips.
func commandReply(lines ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(lines))
	for _, line := range lines {
		w := strings.Fields(line)
		text += fmt.Sprintf("*10\r\n$%d\r\n%s\r\n:%s\r\n~1\r\n+%s\r\n:%s\r\n:%s\r\n:%s\r\n~1\r\n+@slow\r\n", len(w[0]), w[0], w[1], w[2], w[3], w[4], w[5])
		text += fmt.Sprintf("~%d\r\n", len(w[6:]))
		for _, tip := range w[6:] {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(tip), tip)
		}
		text += "~0\r\n*0\r\n"
	}
	return text
}

// moduleCommands are those of the module that all shards of newModules have.
var moduleCommands = []string{
	"m.get 2 readonly 1 1 1",
	"m.second 3 readonly 2 2 1",
	"m.mget -2 readonly 1 -1 1 request_policy:multi_shard",
	"m.size 1 readonly 0 0 0 request_policy:all_shards response_policy:agg_sum",
	"m.any 1 readonly 0 0 0",
	"m.pop -2 blocking 1 1 1",
	"m.find -2 movablekeys 0 0 0",
	"FT.AGGREGATE -2 readonly 1 1 1",
	"FT.CURSOR -1 readonly 0 0 0",
}

// newModules starts three fakes that share the slots and have the commands of a module; the first has one that the others lack. Each
// answers with its number, and hands out cursors that it alone knows.
func newModules(t *testing.T) []*fake {
	t.Helper()
	shards := []*fake{newFake(t), newFake(t), newFake(t)}
	slots := slotsReply(slotRange{0, 5460, shards[0].port}, slotRange{5461, 10922, shards[1].port}, slotRange{10923, 16383, shards[2].port})
	for i, f := range shards {
		f.tell(slots)
		f.has(moduleCommands...)
		f.script(func(args []any) string { return answerModule(i, args) })
	}
	shards[0].has(append([]string{"m.only 2 readonly 1 1 1"}, moduleCommands...)...)
	return shards
}

// has changes the commands that a fake tells.
func (f *fake) has(commands ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = commandReply(commands...)
}

// answerModule is what the shard of a number answers to a command of the module. Its cursors are 100 above the number and more.
func answerModule(shard int, args []any) string {
	results := fmt.Sprintf("*2\r\n:1\r\n*1\r\n:%d\r\n", shard)
	switch strings.ToUpper(args[0].(string)) {
	case "M.MGET":
		return fmt.Sprintf("*%d\r\n", len(args)-1) + strings.Repeat(fmt.Sprintf(":%d\r\n", shard), len(args)-1)
	case "M.SIZE":
		return fmt.Sprintf(":%d\r\n", 10+shard)
	case "FT.AGGREGATE":
		if len(args) < 4 {
			return results
		}
		return fmt.Sprintf("*2\r\n%s:%d\r\n", results, 100+shard)
	case "FT.CURSOR":
		switch args[3] {
		case fmt.Sprint(100 + shard):
			return fmt.Sprintf("*2\r\n%s:%d\r\n", results, 200+shard)
		case fmt.Sprint(200 + shard):
			return fmt.Sprintf("*2\r\n%s:0\r\n", results)
		}
		return fmt.Sprintf("-ERR Cursor %v not found at %d\r\n", args[3], shard)
	}
	return fmt.Sprintf(":%d\r\n", shard)
}

// timesAll is how often any of the shards was sent a command.
func timesAll(shards []*fake, name string) (n int) {
	for _, f := range shards {
		n += f.times(name)
	}
	return n
}

// shardOf is the number of the shard that owns a key.
func shardOf(key string) int64 { return int64(slot.Of([]byte(key))) / 5461 }

// wantReply compares a reply as it is printed.
func wantReply(t *testing.T, c *testbed.Conn, want string, words ...any) {
	t.Helper()
	if got, err := c.Do(words...); err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v answers %v, %v, want %s", words, got, err, want)
	}
}

// TestContract_ROUTE2_CommandsOfModules: what all shards tell of their commands is enough to route them. None that is refused gets to
// a node.
func TestContract_ROUTE2_CommandsOfModules(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		shards := newModules(t)
		p := harness.StartAt(t, engine, shards[0].addr)
		for _, proto := range []int{2, 3} {
			c := p.DialProto(t, proto)
			await(t, c, shardOf("foo"), "M.GET", "foo")
			for _, key := range []string{"foo", "bar", "hello", "{bar}foo", ""} {
				wantReply(t, c, fmt.Sprint(shardOf(key)), "m.get", key)
				wantReply(t, c, fmt.Sprint(shardOf(key)), "m.second", "foo", key)
			}
			keys := []any{"m.mget", "foo", "bar", "hello", "foo"}
			wantReply(t, c, fmt.Sprint([]int64{shardOf("foo"), shardOf("bar"), shardOf("hello"), shardOf("foo")}), keys...)
			wantReply(t, c, "33", "m.size")
			var seen []string
			for range 3 {
				seen = append(seen, fmt.Sprint(harness.MustDo(t, c, "m.any")))
			}
			if slices.Sort(seen); fmt.Sprint(seen) != "[0 1 2]" {
				t.Errorf("m.any was answered by %v", seen)
			}
			for _, refused := range []struct{ want, request string }{
				{"ERR 'm.pop' is not supported by this proxy", "m.pop foo"},
				{"ERR 'm.find' is not supported by this proxy", "m.find foo"},
				{"ERR unknown command 'm.only', with args beginning with: 'foo' ", "m.only foo"},
				{"ERR unknown command 'm.nothing', with args beginning with: ", "m.nothing"},
				{"ERR wrong number of arguments for 'm.get' command", "m.get foo bar"},
				{"ERR wrong number of arguments for 'm.mget' command", "m.mget"},
				{"ERR wrong number of arguments for 'FT.CURSOR' command", "ft.cursor read index"},
			} {
				name, rest, _ := strings.Cut(refused.request, " ")
				words := []any{name}
				for _, word := range strings.Fields(rest) {
					words = append(words, word)
				}
				before := timesAll(shards, strings.ToUpper(name))
				harness.WantError(t, c, refused.want, words...)
				if timesAll(shards, strings.ToUpper(name)) != before {
					t.Errorf("%q got to a node", refused.request)
				}
			}
		}
		if n := timesAll(shards, "COMMAND"); n != len(shards) {
			t.Errorf("%d nodes were asked for their commands %d times", len(shards), n)
		}
	})
}

// TestContract_ROUTE10_CommandsOfModulesAreShown: COMMAND shows them as the nodes do, but for those that are not carried.
func TestContract_ROUTE10_CommandsOfModulesAreShown(t *testing.T) {
	shards := newModules(t)
	p := harness.StartAt(t, harness.Auto, shards[0].addr)
	c := p.DialProto(t, 3)
	await(t, c, shardOf("foo"), "m.get", "foo")
	row := strings.TrimPrefix(commandReply(moduleCommands[2]), "*1\r\n")
	request := testbed.AppendCommand(nil, "COMMAND", "INFO", "M.MGET", "m.pop", "m.find", "m.only")
	harness.Expect(t, c, string(request), "*4\r\n"+row+"_\r\n_\r\n_\r\n")
}

// TestContract_ROUTE6_CursorsLeadBackToTheirNode: from any connection, of any worker.
func TestContract_ROUTE6_CursorsLeadBackToTheirNode(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		shards := newModules(t)
		p := harness.StartAt(t, engine, shards[0].addr)
		for _, proto := range []int{2, 3} {
			first := p.DialProto(t, proto)
			await(t, first, int64(33), "m.size")
			seen := map[int64]bool{}
			for range 6 {
				reply := harness.MustDo(t, first, "FT.AGGREGATE", "index", "*", "WITHCURSOR").([]any)
				shard := shardIn(reply[0])
				seen[shard] = true
				second := p.DialProto(t, proto)
				next := harness.MustDo(t, second, "FT.CURSOR", "READ", "index", reply[1]).([]any)
				last := harness.MustDo(t, p.DialProto(t, proto), "FT.CURSOR", "READ", "index", next[1], "COUNT", 10).([]any)
				if shardIn(next[0]) != shard || shardIn(last[0]) != shard || last[1] != int64(0) {
					t.Errorf("a query of shard %d was read on with %v and %v", shard, next, last)
				}
				if next[1] == reply[1] || next[1].(int64) < 1<<40 {
					t.Errorf("the cursors are %v and %v", reply[1], next[1])
				}
			}
			if len(seen) != len(shards) {
				t.Errorf("queries began at the shards %v", seen)
			}
			shardIn(harness.MustDo(t, first, "FT.AGGREGATE", "index")) // without a cursor, as the node answers
			harness.WantError(t, first, "ERR invalid cursor", "FT.CURSOR", "READ", "index", "nonsense")
		}
	})
}

// shardIn is the shard that results name.
func shardIn(results any) int64 { return results.([]any)[1].([]any)[0].(int64) }

// TestContract_CONF2_ExtraCommandsAreRouted: nodes that tell nothing of a command get it all the same, by its keys or its tips.
func TestContract_CONF2_ExtraCommandsAreRouted(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		shards := newModules(t)
		for _, f := range shards {
			f.has()
		}
		p := harness.StartAt(t, engine, shards[0].addr,
			"--extra-commands", "M.SECOND 3 readonly,fast 2 2 1", "--extra-commands", "m.size", "1", "-", "0", "0", "0",
			"request_policy:all_shards", "response_policy:agg_sum")
		c := p.Dial(t)
		await(t, c, int64(33), "m.size")
		for _, key := range []string{"foo", "bar", "hello"} {
			wantReply(t, c, fmt.Sprint(shardOf(key)), "m.second", "x", key)
		}
		harness.WantError(t, c, "ERR wrong number of arguments for 'm.second' command", "M.SECOND", "x")
		harness.WantError(t, c, "ERR unknown command 'm.get', with args beginning with: 'x' ", "m.get", "x")
		if n := timesAll(shards, "M.GET"); n != 0 {
			t.Errorf("a command that nobody has named got to a node")
		}
		wantReply(t, c, "[extra-commands m.second 3 readonly,fast 2 2 1\n"+
			"m.size 1 - 0 0 0 request_policy:all_shards response_policy:agg_sum]", "CONFIG", "GET", "extra-commands")
	})
}

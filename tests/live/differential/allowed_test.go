package differential

import (
	"slices"
	"strings"
	"testing"

	"mithril/src/glob"
	"mithril/tests/harness"
)

// difference is a way in which a cluster must answer otherwise than a lone node.
type difference struct {
	clause   string                           // of the contract
	reason   string                           // why it must
	commands string                           // patterns of full names
	when     func(g *rig, args []string) bool // only these requests; nil: all
	proxy    []string                         // what the proxy's reply begins with; empty: whatever has the type of the lone node's
	lone     []string                         // what the lone node's reply begins with; empty: whatever
	depth    int                              // of the example's pipelines; 0: all in one
	example  []string                         // requests of which one at least is answered otherwise
	behind   func(args []string) []string     // what makes both the same again, besides deleting the keys
}

// allowed is the closed list. It may only shrink.
var allowed = []difference{
	{
		clause: "ROUTE5", reason: "the keys lie on several nodes, none of which could execute the command",
		commands: "*", when: func(g *rig, args []string) bool { return g.spansSlots(args) && !g.isSplit(args) },
		proxy:   []string{"-CROSSSLOT Keys in request don't hash to the same slot\r\n"},
		example: []string{"RENAME a b", "MSETNX a 1 b 2", "SINTER a b", "ZUNIONSTORE a 1 b", "XREAD STREAMS a b 0 0", "EVAL \"return 1\" 2 a b"},
	},
	{
		clause: "ROUTE4", reason: "an element that is in several slots is counted in each, since no node sees the other sketches",
		commands: "pfcount", when: (*rig).spansSlots,
		proxy: []string{":"}, lone: []string{":"}, example: []string{"PFADD hll1 x y", "PFADD hll2 x y", "PFCOUNT hll1 hll2"},
	},
	{
		clause: "ROUTE11", reason: "a cluster has one database",
		commands: "select", proxy: []string{"-ERR SELECT is not allowed in cluster mode\r\n", "-ERR DB index is out of range\r\n"},
		example: []string{"SELECT 1"}, behind: line("SELECT 0"),
	},
	{
		clause: "ROUTE11", reason: "a cluster has one database; the texts are a node's in cluster mode",
		commands: "move", proxy: []string{"-ERR MOVE is not allowed in cluster mode\r\n", "-ERR DB index is out of range\r\n"},
		example: []string{"SET k v", "MOVE k 1"},
	},
	{
		clause: "ROUTE11", reason: "a cluster has one database; the texts are a node's in cluster mode",
		commands: "copy", when: func(_ *rig, args []string) bool { return with("db")(args) },
		proxy:   []string{"-ERR Copying to another database is not allowed in cluster mode\r\n", "-ERR DB index is out of range\r\n"},
		example: []string{"SET k v", "COPY k {k}2 DB 1"},
	},
	{
		clause: "ROUTE11", reason: "a cluster has one database; the text is a node's in cluster mode",
		commands: "client|list", when: func(_ *rig, args []string) bool { return with("db")(args) || with("not-db")(args) },
		proxy:   []string{"-ERR DB number should be between 0 and 0\r\n", "-ERR NOT-DB number should be between 0 and 0\r\n"},
		example: []string{"CLIENT LIST DB 16"},
	},
	{
		clause: "ROUTE11", reason: "a cluster has one database; the texts are a node's in cluster mode",
		commands: "swapdb", proxy: []string{"-ERR SWAPDB is not allowed in cluster mode\r\n", "-ERR DB index is out of range\r\n"},
		example: []string{"SWAPDB 0 1"}, behind: again,
	},
	{
		clause: "PROTO5", reason: "the keys that a pattern makes may lie on other nodes; the texts are a node's in cluster mode",
		commands: "sort sort_ro", when: func(_ *rig, args []string) bool {
			return with("by")(args) || with("get")(args)
		},
		proxy: []string{"-ERR BY option of SORT denied in ", "-ERR GET option of SORT denied in "}, example: []string{"RPUSH k 1 2", "SORT k BY w_*", "SORT k GET w_*"},
	},
	{
		clause: "ROUTE8", reason: "a cursor that the proxy has not given leads nowhere, so it is an error in place of an arbitrary page",
		commands: "scan", when: func(_ *rig, args []string) bool { return len(args) > 1 && args[1] != "0" },
		proxy: []string{"-ERR invalid cursor"}, example: []string{"SCAN 1"},
	},
	{
		clause: "ROUTE8", reason: "the cursor leads to the next shard too",
		commands: "scan", lone: []string{"*2\r\n"}, example: []string{"SET a 1", "SET b 1", "SCAN 0"},
	},
	{
		clause: "REDIR1", reason: "a redirect never reaches a client, and one that a script has made up looks like a node's",
		commands: "eval eval_ro evalsha evalsha_ro fcall fcall_ro", lone: []string{"-MOVED ", "-ASK "}, proxy: []string{
			"-ERR the script was answered by what reads like a redirect",
		},
		example: []string{"EVAL \"return {err='MOVED x'}\" 1 k", "EVAL \"return {err='ASK 7629 127.0.0.1:1'}\" 1 k"},
	},
	{
		clause: "SCRIPT1", reason: "a node has not every script that another has seen, and gets it only if nothing was asked for behind",
		commands: "evalsha evalsha_ro", proxy: []string{"-NOSCRIPT "},
		example: []string{"EVAL \"return 1\" 1 a", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 b", "GET b"},
	},
	{
		clause: "SCRIPT1", reason: "a script is remembered that was in an EVAL, also in one that a node has refused before it read the script",
		commands: "evalsha evalsha_ro", lone: []string{"-NOSCRIPT "}, proxy: []string{""},
		depth: 1, example: []string{"EVAL \"return 1\" 1", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 a"},
	},
	{
		clause: "SCRIPT1", reason: "any primary is asked, which has not every script",
		commands: "script|show", lone: []string{"$"}, proxy: []string{"-NOSCRIPT "},
		example: []string{"EVAL \"return 1\" 1 a", "SCRIPT SHOW e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "SCRIPT SHOW e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "SCRIPT SHOW e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
	},
	{
		clause: "SCRIPT1", reason: "true only where every primary has the script",
		commands: "script|exists", lone: []string{"*"}, example: []string{"EVAL \"return 1\" 1 a", "SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
	},
	{
		clause: "ROUTE9", reason: "a lone node is in no cluster; package admin compares with a node that owns every slot",
		commands: "cluster* readonly readwrite asking", proxy: []string{""}, lone: []string{"-ERR This instance has cluster support disabled\r\n"},
		example: []string{"CLUSTER MYID", "READONLY"},
	},
	{
		clause: "PROTO3", reason: "the reply describes the proxy: its mode is cluster, and it has no modules",
		commands: "hello", example: []string{"HELLO 3"},
	},
	{
		clause: "OBS1", reason: "the reply describes the proxy", commands: "info", example: []string{"INFO"},
	},
	{
		clause: "CONF3", reason: "the keys are the proxy's", commands: "config|get", example: []string{"CONFIG GET *"},
	},
	{
		clause: "ROUTE10", reason: "the reply describes what the proxy accepts",
		commands: "command command|count command|list", example: []string{"COMMAND COUNT"},
	},
	{
		clause: "ROUTE10", reason: "the reply describes what the proxy accepts; a container's subcommands come in the order of a hash table",
		commands: "command|info command|docs", when: (*rig).asksForMore, example: []string{"COMMAND INFO multi", "COMMAND DOCS config"},
	},
	{
		clause: "OBS2", reason: "nodes would have to be told, on connections that others use too",
		commands: "client|no-touch", proxy: []string{"-ERR 'client|no-touch' is not supported by this proxy\r\n"},
		example: []string{"CLIENT NO-TOUCH ON"}, behind: line("CLIENT NO-TOUCH OFF"),
	},
}

// again is the request itself, which undoes what it has done.
func again(args []string) []string { return args }

func line(text string) func([]string) []string {
	return func([]string) []string { return strings.Fields(text) }
}

// isSplit says that a request goes to several slots in parts.
func (g *rig) isSplit(args []string) bool { return g.row(args).KeyStep != 0 }

// asksForMore says that COMMAND INFO or DOCS is about all commands, a container, or what the
// proxy does not offer.
func (g *rig) asksForMore(args []string) bool {
	return len(args) == 2 || slices.ContainsFunc(args[2:], func(name string) bool {
		row := g.commands[strings.ToLower(name)]
		return row != nil && (!row.Offered() || len(row.Subcommands()) > 0)
	})
}

// differences are the entries that are about a request.
func (g *rig) differences(args []string) (list []*difference) {
	name := g.name(args)
	isName := func(pattern string) bool { return glob.Match(pattern, name) }
	for i := range allowed {
		d := &allowed[i]
		if name != "" && slices.ContainsFunc(strings.Fields(d.commands), isName) && (d.when == nil || d.when(g, args)) {
			list = append(list, d)
		}
	}
	return list
}

// allows says that the two replies may differ as they do.
func (d *difference) allows(proxy, lone []byte) bool {
	if len(d.lone) > 0 && !hasPrefix(lone, d.lone) {
		return false
	}
	if len(d.proxy) == 0 {
		return harness.Kind(proxy) == harness.Kind(lone)
	}
	return hasPrefix(proxy, d.proxy)
}

func hasPrefix(reply []byte, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(string(reply), text) })
}

// TestContract_PROTO5_EveryAllowedDifferenceIsThere: an entry whose example is answered alike
// has no use any more.
func TestContract_PROTO5_EveryAllowedDifferenceIsThere(t *testing.T) {
	used := make([]bool, len(allowed))
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		g := newRig(t, e)
		for i := range allowed {
			d := &allowed[i]
			b := batch{proto: 2, depth: d.depth}
			for _, line := range d.example {
				r, err := parseLine(line)
				if err != nil {
					t.Fatal(err)
				}
				b.requests = append(b.requests, r)
			}
			f := g.play(t, b, func(met *difference) { used[i] = used[i] || met == d })
			if f != nil {
				t.Errorf("%s, %s: %v", d.clause, d.commands, f)
			}
		}
	})
	for i, d := range allowed {
		if !used[i] {
			t.Errorf("%s, %s: the examples %q are answered alike", d.clause, d.commands, d.example)
		}
		if d.reason == "" || d.clause == "" {
			t.Errorf("%s: clause %q, reason %q", d.commands, d.clause, d.reason)
		}
	}
}

// TestAllowedCanFail: an entry lets only pass what it describes.
func TestAllowedCanFail(t *testing.T) {
	for _, tc := range []struct {
		d           difference
		proxy, lone string
		want        bool
	}{
		{difference{proxy: []string{"-A ", "-B "}}, "-B x\r\n", "+OK\r\n", true},
		{difference{proxy: []string{"-A ", "-B "}}, "-C x\r\n", "+OK\r\n", false},
		{difference{lone: []string{"*1x", "*2\r\n"}}, "*3\r\n", "*2\r\n", true},
		{difference{lone: []string{"*1x", "*2\r\n"}}, "*3\r\n", "*1\r\n", false},
		{difference{}, "*3\r\n", "*1\r\n", true},
		{difference{}, "-ERR x\r\n", "*1\r\n", false},
		{difference{}, "-ERR x\r\n", "-ERR y\r\n", false},
	} {
		if got := tc.d.allows([]byte(tc.proxy), []byte(tc.lone)); got != tc.want {
			t.Errorf("%+v allows %q in place of %q: %v, want %v", tc.d, tc.proxy, tc.lone, got, tc.want)
		}
	}
}

package command

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/resp"
)

// TestContract_ROUTE2_commandsThatOnlyTheBackendsKnow: a table takes in what a newer server and its modules have besides.
func TestContract_ROUTE2_commandsThatOnlyTheBackendsKnow(t *testing.T) {
	old := ForEngine("redis", 7, 0)
	newer, err := dataFiles.ReadFile("data/" + Version{"redis", 8, 0}.RowsFile())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ParseRows(newer)
	if err != nil {
		t.Fatal(err)
	}
	table, err := old.Extend(server, told(t, "MOD.READ 2 readonly,module 1 1 1", "mod.list 1 fast 0 0 0", "GET 5 - 0 0 0"))
	if err != nil {
		t.Fatal(err)
	}
	for id := range old.Len() {
		was, is := old.Row(uint16(id)), table.Row(uint16(id))
		sameParent := (was.parent == nil) == (is.parent == nil) && (was.parent == nil || was.parent.ID == is.parent.ID)
		if was.Name != is.Name || was.Route != is.Route || was.KeyIndex != is.KeyIndex || was.Response != is.Response || !sameParent ||
			was.info != is.info || was.docs != is.docs || len(was.KeySpecs) != len(is.KeySpecs) || was.Arity != is.Arity {
			t.Errorf("ID %d was %s, is %s", id, was.Name, is.Name)
		}
	}
	for name, want := range map[string]Route{"hexpire": RouteKeyed, "vadd": RouteKeyed, "mod.read": RouteKeyed, "MOD.LIST": RouteAny} {
		if old.Lookup([]byte(name)) != nil {
			t.Errorf("%s is in the old table", name)
		}
		if c := table.Lookup([]byte(name)); c == nil || c.Route != want || !c.Offered() {
			t.Errorf("%s: %v", name, c)
		}
	}
	if c := table.LookupFull([]byte("object|encoding")); c == nil || c.KeyIndex != 2 || c.Parent() != table.Lookup([]byte("object")) {
		t.Errorf("object|encoding: %v", c)
	}
	docs := string(table.AppendDocsReply(nil, [][]byte{[]byte("mod.read"), []byte("mod.list")}, resp.RESP3))
	if want := "%2\r\n$8\r\nmod.read\r\n%1\r\n$5\r\ngroup\r\n$6\r\nmodule\r\n$8\r\nmod.list\r\n%0\r\n"; docs != want {
		t.Errorf("COMMAND DOCS says %q, want %q", docs, want)
	}
	if c := table.Lookup([]byte("waitaof")); c != nil {
		t.Errorf("waitaof is refused, but found")
	}
	if same, err := table.Extend(server, &Rows{}); same != table || err != nil {
		t.Errorf("a list without news makes another table: %v", err)
	}
}

func TestRows_badReplies(t *testing.T) {
	for reply, want := range map[string]string{
		"*1\r\n+x\r\n": "want one of",
		"-NOPERM User x has no permissions to run the 'command' command\r\n": "NOPERM User x has no permissions to run the",
		"": "want a RESP3 value",
	} {
		if _, err := ParseRows([]byte(reply)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", reply, err, want)
		}
	}
}

// TestContract_ROUTE2_offeredIsWhatAllHave: a command that one node lacks, or describes in another way, is not common.
func TestContract_ROUTE2_offeredIsWhatAllHave(t *testing.T) {
	const get, set = "m.get 2 readonly 1 1 1", "m.set 3 write 1 1 1"
	box := []string{"m.box -2 - 0 0 0", "m.box|a 2 - 0 0 0"}
	for _, test := range []struct {
		lists [][]string
		want  string
	}{
		{nil, ""},
		{[][]string{{get, set}}, "m.get m.set"},
		{[][]string{{get, set}, {set, get}, {get, set}}, "m.get m.set"},
		{[][]string{{get, set}, {get}, {get, set}}, "m.get"},
		{[][]string{{get, set}, {}}, ""},
		{[][]string{{get, set}, {"M.GET 2 readonly 1 1 1", set}}, "m.get m.set"},
		{[][]string{{get, set}, {"m.get 2 readonly 2 2 1", set}}, "m.set"},
		{[][]string{{get, set}, {"m.get 2 readonly 1 -1 1", set}}, "m.set"},
		{[][]string{{get, set}, {"m.get 2 readonly 0 0 0", set}}, "m.set"},
		{[][]string{{get, set}, {"m.get -2 readonly 1 1 1", set}}, "m.set"},
		{[][]string{{get, set}, {"m.get 2 readonly,blocking 1 1 1", set}}, "m.set"},
		{[][]string{{get, set}, {"m.get 2 readonly 1 1 1 request_policy:multi_shard", set}}, "m.set"},
		{[][]string{{get, set}, {"m.get 2 readonly 1 1 1 nondeterministic_output", set}}, "m.get m.set"},
		{[][]string{box, box}, "m.box"},
		{[][]string{box, box[:1]}, ""},
		{[][]string{box, {box[0], "m.box|a 3 readonly 2 2 1"}}, ""},
	} {
		var lists []*Rows
		for _, lines := range test.lists {
			lists = append(lists, told(t, lines...))
		}
		var names []string
		for _, row := range Common(lists).rows {
			names = append(names, strings.ToLower(row.command.Name))
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%q have %q in common, want %q", test.lists, got, test.want)
		}
		if len(lists) == 2 {
			equal := test.want != "" && len(lists[0].rows) == len(names) && len(lists[1].rows) == len(names)
			if lists[0].Equal(lists[1]) != equal {
				t.Errorf("%q are equal: %v", test.lists, !equal)
			}
		}
	}
}

func TestExtend_tooManyRows(t *testing.T) {
	list := &Rows{make([]parsedRow, 1<<15)}
	for i := range list.rows {
		list.rows[i].command.pattern = newPattern(fmt.Sprint("m.", i))
	}
	if _, err := ForEngine("redis", 7, 0).Extend(list); err == nil || !strings.Contains(err.Error(), "at most 32768") {
		t.Errorf("error %v", err)
	}
}

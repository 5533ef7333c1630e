package differential

import (
	"slices"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// argument is a node of the grammar that COMMAND DOCS gives for a command.
type argument struct {
	name, kind, token                 string
	optional, multiple, multipleToken bool
	parts                             []argument // of a block, or to choose from
}

// grammar is a command or subcommand with its arguments.
type grammar struct {
	name  []string // its words
	group string   // as in COMMAND DOCS: string, sorted-set, ...
	args  []argument
}

// grammars reads the documentation of every command without subcommands that may be sent to
// a lone node, in the order of their names. Those of modules have none: they get a row of
// plain words.
func (g *rig) grammars(t *testing.T) (list []grammar) {
	t.Helper()
	c := harness.Hello(t, testbed.MustDial(t, g.Lone.Addr()), 3)
	docs := map[string]testbed.Map{}
	collectDocs(harness.MustDo(t, c, "COMMAND", "DOCS").(testbed.Map), docs)
	for _, name := range sortedKeys(g.commands) {
		row := g.commands[name]
		words := strings.Split(row.Name, "|")
		least := max(int(row.Arity), -int(row.Arity))
		if len(row.Subcommands()) > 0 || !g.comparable(append(words, make([]string, least-len(words))...)) {
			continue
		}
		doc := docs[name]
		group, _ := doc.Get("group").(string)
		list = append(list, grammar{words, group, arguments(doc.Get("arguments"))})
	}
	return list
}

// collectDocs puts the documentation of commands and subcommands into a map by full name.
func collectDocs(from testbed.Map, into map[string]testbed.Map) {
	for i := 0; i+1 < len(from); i += 2 {
		doc := from[i+1].(testbed.Map)
		into[strings.ToLower(from[i].(string))] = doc
		if subs, ok := doc.Get("subcommands").(testbed.Map); ok {
			collectDocs(subs, into)
		}
	}
}

func arguments(list any) (args []argument) {
	items, _ := list.([]any)
	for _, item := range items {
		m := item.(testbed.Map)
		text := func(field string) string { s, _ := m.Get(field).(string); return s }
		var flags []any
		switch f := m.Get("flags").(type) {
		case []any:
			flags = f
		case testbed.Set:
			flags = f
		}
		args = append(args, argument{
			name: text("name"), kind: text("type"), token: text("token"),
			optional: slices.Contains(flags, any("optional")), multiple: slices.Contains(flags, any("multiple")),
			multipleToken: slices.Contains(flags, any("multiple_token")), parts: arguments(m.Get("arguments")),
		})
	}
	return args
}

// isTimed says that an argument somewhere in a grammar is a time. Values that are moved
// about could become a few milliseconds, which pass sooner on one side than on the other.
func isTimed(args []argument) bool {
	return slices.ContainsFunc(args, func(a argument) bool { return times[a.name] || isTimed(a.parts) })
}

// times are the names of arguments that are times.
var times = map[string]bool{
	"seconds": true, "milliseconds": true, "unix-time-seconds": true, "unix-time-milliseconds": true, "ttl": true, "ms": true,
	"min-idle-time": true, "idle": true, "time": true, "timeout": true,
}

package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// TestContract_ROUTE10_CommandRowsAndDocs compares the rows and the documentation of every
// command that the proxy accepts with a node's, in both protocols. What it refuses or does
// not carry is missing, subcommands too.
func TestContract_ROUTE10_CommandRowsAndDocs(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		table := tableOf(t, e.Server)
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for id := range table.Len() {
				row := table.Row(uint16(id))
				if !row.Offered() {
					for _, about := range []string{"INFO", "DOCS"} {
						harness.Expect(t, pair.Proxy, array("COMMAND", about, row.Name), pair.Same(t, "COMMAND", about, "nonesuch"))
					}
					continue
				}
				if len(row.Subcommands()) == 0 {
					pair.Same(t, "COMMAND", "INFO", row.Name)
					pair.Same(t, "COMMAND", "DOCS", strings.ToUpper(row.Name))
					continue
				}
				for _, about := range []string{"INFO", "DOCS"} {
					got, want := do(t, pair.Proxy, "COMMAND", about, row.Name), do(t, pair.Lone, "COMMAND", about, row.Name)
					tidyContainer(table, got)
					if tidyContainer(table, want); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
						t.Errorf("COMMAND %s %s:\n got %v\nwant %v", about, row.Name, got, want)
					}
				}
			}
		}
	})
}

// tidyContainer puts the subcommands in COMMAND INFO or DOCS of one container in order,
// since a server lists them as they lie in a hash table, and leaves out those that the
// proxy does not offer.
func tidyContainer(table *command.Table, reply any) {
	byName := func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) }
	hidden := func(row []any) bool { return !offered(table, row) }
	tidy := func(list []any, size int) []any {
		rows := slices.DeleteFunc(slices.Collect(slices.Chunk(list, size)), hidden)
		slices.SortFunc(rows, byName)
		return slices.Concat(rows...)
	}
	switch reply := reply.(type) {
	case []any:
		if len(reply) == 2 { // DOCS in RESP2: name and fields
			docs := reply[1].([]any)
			docs[len(docs)-1] = tidy(docs[len(docs)-1].([]any), 2)
			return
		}
		row := reply[0].([]any) // INFO: one row, with the subcommands' rows at its end
		subs := row[len(row)-1].([]any)
		subs = slices.DeleteFunc(subs, func(sub any) bool { return hidden(sub.([]any)) })
		slices.SortFunc(subs, func(a, b any) int { return byName(a.([]any), b.([]any)) })
		row[len(row)-1] = subs
	case testbed.Map: // DOCS in RESP3
		docs := reply[1].(testbed.Map)
		docs[len(docs)-1] = testbed.Map(tidy(docs[len(docs)-1].(testbed.Map), 2))
	}
}

// offered says whether the proxy lists the command of a node's row, or of a name and its
// documentation.
func offered(table *command.Table, row []any) bool {
	c := table.LookupFull([]byte(row[0].(string)))
	return c != nil && c.Offered()
}

// TestContract_ROUTE10_CommandListsWhatIsAccepted asks for everything at once.
func TestContract_ROUTE10_CommandListsWhatIsAccepted(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		table := tableOf(t, e.Server)
		pair := e.Pair(t, 3)
		hidden := func(row any) bool { return !offered(table, row.([]any)) }
		want := names(slices.DeleteFunc(do(t, pair.Lone, "COMMAND").([]any), hidden))
		for _, request := range [][]any{{"COMMAND"}, {"COMMAND", "INFO"}} {
			if got := names(do(t, pair.Proxy, request...).([]any)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v:\n got %v\nwant %v", request, got, want)
			}
		}
		if got := do(t, pair.Proxy, "COMMAND", "COUNT"); got != int64(len(want)) {
			t.Errorf("COMMAND COUNT: got %v, want %d", got, len(want))
		}
		var documented []string
		for i, field := range do(t, pair.Proxy, "COMMAND", "DOCS").(testbed.Map) {
			if i%2 == 0 {
				documented = append(documented, field.(string))
			}
		}
		if slices.Sort(documented); fmt.Sprint(documented) != fmt.Sprint(want) {
			t.Errorf("COMMAND DOCS:\n got %v\nwant %v", documented, want)
		}
	})
}

func names(rows []any) []string {
	var names []string
	for _, row := range rows {
		names = append(names, row.([]any)[0].(string))
	}
	slices.Sort(names)
	return names
}

// TestContract_ROUTE10_OddNames has names that are no command, or several.
func TestContract_ROUTE10_OddNames(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for _, request := range [][]any{
				{"COMMAND", "INFO", "nonesuch"}, {"COMMAND", "INFO", "get", "nonesuch", "SET", "get"}, {"COMMAND", "INFO", "object|encoding"},
				{"COMMAND", "INFO", "object|nonesuch"}, {"COMMAND", "INFO", ""}, {"COMMAND", "DOCS", "nonesuch"}, {"COMMAND", "DOCS", "get"},
				{"COMMAND", "DOCS", "object|encoding"}, {"COMMAND", "COUNT", "x"}, {"COMMAND", "NONESUCH"},
				{"COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2"}, {"COMMAND", "GETKEYS", "PING"}, {"COMMAND", "GETKEYS"},
				{"COMMAND", "GETKEYSANDFLAGS", "LMOVE", "a", "b", "LEFT", "RIGHT"}, {"COMMAND", "GETKEYS", "NONESUCH", "x"},
				{"COMMAND", "GETKEYS", "GET", "k", "x"}, {"COMMAND", "GETKEYSANDFLAGS", "SET", "k", "v", "GET"}, {"COMMAND", "LIST", "FILTERBY"},
				{"COMMAND", "LIST", "FILTERBY", "ACLCAT", "nonesuch"}, {"COMMAND", "LIST", "FILTERBY", "PATTERN", "ge?"},
			} {
				pair.Same(t, request...)
			}
		}
	})
}

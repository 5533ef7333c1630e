package command

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/resp"
	"mithril/tools/testbed"
)

var protos = []resp.Proto{resp.RESP2, resp.RESP3}

// eachLive runs f for every table and protocol with a connection to the server that the table describes.
func eachLive(t *testing.T, f func(t *testing.T, table *Table, conn *testbed.Conn, proto resp.Proto)) {
	eachTable(t, func(t *testing.T, table *Table) {
		for _, proto := range protos {
			t.Run(fmt.Sprintf("RESP%d", proto), func(t *testing.T) { f(t, table, dialLive(t, table, proto), proto) })
		}
	})
}

// Rows and docs of everything but containers are the server's own bytes. What is not offered is answered as what the server does not know.
func TestContract_ROUTE10_infoAndDocsByteForByte(t *testing.T) {
	eachLive(t, func(t *testing.T, table *Table, conn *testbed.Conn, proto resp.Proto) {
		for id := range table.Len() {
			c := table.Row(uint16(id))
			if len(c.Subcommands()) != 0 {
				continue
			}
			names, known := [][]byte{[]byte(c.Name)}, c.Name
			if !c.Offered() {
				known = "nosuch"
			}
			if got, want := string(table.AppendInfoReply(nil, names, proto)), rawReply(t, conn, "COMMAND", "INFO", known); got != want {
				t.Errorf("info of %s:\n got %q\nwant %q", c.Name, got, want)
			}
			if got, want := string(table.AppendDocsReply(nil, names, proto)), rawReply(t, conn, "COMMAND", "DOCS", known); got != want {
				t.Errorf("docs of %s:\n got %q\nwant %q", c.Name, got, want)
			}
		}
	})
}

func TestContract_ROUTE10_infoAndDocsOfSeveralNames(t *testing.T) {
	eachLive(t, func(t *testing.T, table *Table, conn *testbed.Conn, proto resp.Proto) {
		for _, test := range []struct{ names, known string }{
			{names: "nosuch"}, {names: "get"}, {names: "GET nosuch Set"}, {names: "client|setname CLIENT|ID"},
			{names: "client|nosuch get|x client|id|x |"}, {names: "get get"}, {names: "MGET  x"},
			{names: "get MULTI client|kill Client|ID acl|save set", known: "get nosuch nosuch Client|ID nosuch set"},
			{names: "scan|x subscribe", known: "nosuch nosuch"},
		} {
			words := strings.Split(test.names, " ")
			known := words // what the server is asked for
			if test.known != "" {
				known = strings.Split(test.known, " ")
			}
			var names [][]byte
			for _, w := range words {
				names = append(names, []byte(w))
			}
			got, want := string(table.AppendInfoReply(nil, names, proto)), rawReply(t, conn, append([]string{"COMMAND", "INFO"}, known...)...)
			if got != want {
				t.Errorf("info of %q:\n got %q\nwant %q", words, got, want)
			}
			got, want = string(table.AppendDocsReply(nil, names, proto)), rawReply(t, conn, append([]string{"COMMAND", "DOCS"}, known...)...)
			if got != want {
				t.Errorf("docs of %q:\n got %q\nwant %q", words, got, want)
			}
		}
	})
}

// The whole lists are those of the server but for the order and what is not offered.
func TestContract_ROUTE10_wholeListsOfTheOffered(t *testing.T) {
	eachLive(t, func(t *testing.T, table *Table, conn *testbed.Conn, proto resp.Proto) {
		offered := func(name string) bool {
			c := table.LookupFull([]byte(name))
			return c != nil && c.Offered()
		}

		got := decode(t, table.AppendList(nil, proto)).([]any)
		if again := decode(t, table.AppendInfoReply(nil, nil, proto)); fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("COMMAND INFO without names is not COMMAND")
		}
		want := ask(t, conn, "COMMAND").([]any)
		compareLists(t, "COMMAND", sortedRows(got, nil), sortedRows(want, offered))
		if !bytes.Equal(table.AppendCount(nil), fmt.Appendf(nil, ":%d\r\n", len(got))) {
			t.Errorf("COMMAND COUNT says %q for %d commands", table.AppendCount(nil), len(got))
		}

		gotDocs := decode(t, table.AppendDocsReply(nil, nil, proto))
		compareLists(t, "COMMAND DOCS", sortedDocs(gotDocs, nil), sortedDocs(ask(t, conn, "COMMAND", "DOCS"), offered))
	})
}

func decode(t *testing.T, reply []byte) any {
	t.Helper()
	value, err := testbed.NewConn(&readOnlyConn{r: bytes.NewReader(reply)}).Receive()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func ask(t *testing.T, conn *testbed.Conn, words ...any) any {
	t.Helper()
	value, err := conn.Do(words...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func compareLists(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s, entry %d:\n got %s\nwant %s", what, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d entries, want %d", what, len(got), len(want))
	}
}

// sortedRows prints rows in name order, subcommands too, without those that keep says no to. It prints Go types, so that a set differs
// from an array.
func sortedRows(rows []any, keep func(name string) bool) (list []string) {
	for _, row := range rows {
		row := slices.Clone(row.([]any))
		if keep != nil && !keep(row[0].(string)) {
			continue
		}
		if subs, ok := row[9].([]any); ok && len(subs) != 0 {
			row[9] = sortedRows(subs, keep)
		}
		list = append(list, fmt.Sprintf("%#v", row))
	}
	slices.Sort(list)
	return list
}

// sortedDocs is sortedRows for docs. It prints whether they are a map or an array.
func sortedDocs(docs any, keep func(name string) bool) (list []string) {
	for pair := range slices.Chunk(items(docs), 2) {
		if keep != nil && !keep(pair[0].(string)) {
			continue
		}
		text := fmt.Sprintf("%s %T", pair[0], pair[1])
		for field := range slices.Chunk(items(pair[1]), 2) {
			if field[0] == docsSubcommands {
				text += fmt.Sprintf(" %T %q", field[1], sortedDocs(field[1], keep))
			} else {
				text += fmt.Sprintf(" %#v", field)
			}
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

// items returns the keys and values of a map, or of the array that stands for one in RESP2.
func items(v any) []any {
	if m, ok := v.(testbed.Map); ok {
		return m
	}
	return v.([]any)
}

package command

import (
	"slices"
	"strings"
	"testing"
)

// Names that the generated files use and the program does not know would be dropped silently.
func TestParse_everyNameIsKnown(t *testing.T) {
	for _, v := range Versions {
		text, err := dataFiles.ReadFile("data/" + v.RowsFile())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\r\n") {
			name, isStatus := strings.CutPrefix(line, "+")
			category, isCategory := strings.CutPrefix(name, "@")
			if !isStatus || isCategory && categoryBits[category] != 0 || flagBits[name] != 0 || keyFlagBits[name] != 0 {
				continue
			}
			t.Errorf("%v: %q is neither a flag, a category nor a key flag", v, line)
		}
	}
}

func TestParse_row(t *testing.T) {
	c := ForEngine("redis", 7, 0).LookupFull([]byte("memory|usage"))
	if c.Name != "memory|usage" || c.ShortName != "usage" || c.Parent().Name != "memory" || c.Arity != -3 {
		t.Errorf("name %q, short name %q, arity %d", c.Name, c.ShortName, c.Arity)
	}
	if c.Flags != FlagReadOnly || c.Categories != categoryBits["read"]|categoryBits["slow"] {
		t.Errorf("flags %b, categories %b", c.Flags, c.Categories)
	}
	want := KeySpec{Flags: KeyRO, Begin: BeginIndex, Index: 2, Count: CountRange, Step: 1}
	if len(c.KeySpecs) != 1 || c.KeySpecs[0] != want {
		t.Errorf("key specs %+v", c.KeySpecs)
	}
	object := ForEngine("redis", 7, 0).LookupFull([]byte("object"))
	var subs []string
	for i := range object.Subcommands() {
		subs = append(subs, object.Subcommands()[i].ShortName)
	}
	if !slices.Equal(subs, []string{"encoding", "freq", "help", "idletime", "refcount"}) {
		t.Errorf("subcommands of object: %q", subs)
	}
}

const getRow = "*10\r\n$3\r\nget\r\n:2\r\n~1\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~1\r\n+@read\r\n~0\r\n~1\r\n" +
	"%3\r\n$5\r\nflags\r\n~1\r\n+RO\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n%1\r\n$5\r\nindex\r\n:1\r\n" +
	"$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n~0\r\n"

func TestParse_badReplies(t *testing.T) {
	if rows, err := parseRows("*1\r\n" + getRow); err != nil || len(rows) != 1 || rows[0].command.KeySpecs[0].Index != 1 {
		t.Fatalf("a good reply: %v", err)
	}
	for _, test := range []struct{ old, new, want string }{
		{"*1\r\n", "*2\r\n", "want a RESP3 value"},
		{"*1\r\n", "*1\n", "want"},
		{"*1\r\n", "%1\r\n", `want one of "*"`},
		{"*1\r\n", "*-1\r\n", "-1 elements"},
		{"*1\r\n", "*99999999\r\n", "99999999 elements"},
		{"*10\r\n", "*8\r\n", "a row of 8 elements"},
		{"*10\r\n", "*11\r\n", "a row of 11 elements"},
		{"$3\r\nget", "$3\r\ng t", "a command named \"g t\""},
		{"$3\r\nget", "$4\r\nget|", "a command named \"get|\""},
		{"$3\r\nget", "$0\r\n", "a command named \"\""},
		{"$3\r\nget", "$300\r\nget", "a string of 300 bytes"},
		{"$3\r\nget", "$-1\r\nget", "a string of -1 bytes"},
		{"$3\r\nget", ":3", "want a string"},
		{":2\r\n", "$1\r\n2\r\n", "want an integer"},
		{":2\r\n", ":two\r\n", "want a number"},
		{"limit\r\n:0", "limit\r\n:40000", "40000 is beyond 16 bits"},
		{":0\r\n~0\r\n", ":0\r\n~0\r\n+more\r\n", "bytes behind the reply"},
		{"*1\r\n" + getRow, "*2\r\n" + getRow + strings.Replace(getRow, "get", "GET", 1), "two rows"},
	} {
		reply := strings.Replace("*1\r\n"+getRow, test.old, test.new, 1)
		if _, err := parseRows(reply); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q for %q: error %v, want %q", test.new, test.old, err, test.want)
		}
	}
}

// A spec that contradicts itself leads to no key; it does not keep the server's other commands out.
func TestParse_specsThatLeadNowhere(t *testing.T) {
	for _, test := range []struct{ old, new string }{
		{"keystep\r\n:1", "keystep\r\n:0"},
		{"index\r\n:1", "index\r\n:0"},
		{"index\r\n:1", "index\r\n:-1"},
		{"$5\r\nindex\r\n$4\r\nspec", "$7\r\nunknown\r\n$4\r\nspec"},
		{"$5\r\nrange", "$7\r\nunknown"},
		{"$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n$7\r\nlastkey\r\n:0", "$6\r\nkeynum\r\n$4\r\nspec\r\n%3\r\n$8\r\nfirstkey\r\n:-1"},
	} {
		rows, err := parseRows(strings.Replace("*1\r\n"+getRow, test.old, test.new, 1))
		if err != nil {
			t.Errorf("%q: %v", test.new, err)
			continue
		}
		if c := &rows[0].command; c.findsKeys() || !c.hidesKeys() {
			t.Errorf("%q: %+v", test.new, c.KeySpecs)
		}
	}
}

// Rows of Redis 6 and before have no key specs, and ranges of modules may have nothing else.
func TestParse_rowsOfOlderVersions(t *testing.T) {
	six := "*7\r\n$5\r\nm.set\r\n:-3\r\n*2\r\n+write\r\n+denyoom\r\n:1\r\n:-1\r\n:2\r\n*1\r\n+@write\r\n"
	two := "*6\r\n$5\r\nm.get\r\n:2\r\n*0\r\n:1\r\n:1\r\n:1\r\n"
	none := "*6\r\n$6\r\nm.ping\r\n:1\r\n*0\r\n:0\r\n:0\r\n:0\r\n"
	rows, err := parseRows("*3\r\n" + six + two + none)
	if err != nil {
		t.Fatal(err)
	}
	flags := KeyRW | KeyAccess | KeyUpdate
	get, ping, set := &rows[0].command, &rows[1].command, &rows[2].command
	if want := []KeySpec{{Flags: flags, Begin: BeginIndex, Index: 1, Count: CountRange, Step: 1}}; !slices.Equal(get.KeySpecs, want) {
		t.Errorf("m.get: %+v", get.KeySpecs)
	}
	want := []KeySpec{{Flags: flags, Begin: BeginIndex, Index: 1, Count: CountRange, LastKey: -1, Step: 2}}
	if !slices.Equal(set.KeySpecs, want) || set.Flags != FlagWrite|FlagDenyOOM || set.Categories != categoryBits["write"] {
		t.Errorf("m.set: %+v, flags %b, categories %b", set.KeySpecs, set.Flags, set.Categories)
	}
	if ping.HasKeys() {
		t.Errorf("m.ping: %+v", ping.KeySpecs)
	}
	for _, row := range rows {
		again, err := parseRows("*1\r\n*10\r\n" + row.command.info)
		if err != nil || !isAlike(again[0], row) {
			t.Errorf("%s is shown as %q: %v", row.command.Name, row.command.info, err)
		}
	}
	for _, keys := range [][3]int16{{1, 0, 1}, {1, 1, 0}, {-1, 1, 1}, {2, 1, 1}} {
		if k := rangeSpec(keys[0], keys[1], keys[2]); k.Begin != BeginUnknown {
			t.Errorf("range %d: %+v", keys, k)
		}
	}
}

// FuzzParseRows: whatever a node says of its commands, none leads a request beyond its arguments.
func FuzzParseRows(f *testing.F) {
	f.Add("*1\r\n" + getRow)
	f.Add("*1\r\n" + strings.Replace(getRow, "get", "m.g", 1))
	f.Add("*1\r\n*10\r\n$1\r\nx\r\n:-1\r\n*0\r\n:0\r\n:0\r\n:0\r\n*0\r\n*0\r\n*0\r\n*1\r\n" + getRow)
	f.Add("*1\r\n*10\r\n$9\r\nft.cursor\r\n:3\r\n*0\r\n:1\r\n:-1\r\n:1\r\n*0\r\n*1\r\n$26\r\nrequest_policy:multi_shard\r\n*0\r\n*0\r\n")
	for _, odd := range oddFields {
		f.Add(rowWithField(odd))
	}
	built := ForEngine("redis", 7, 0)
	f.Fuzz(func(t *testing.T, reply string) {
		if strings.HasPrefix(reply, "-") {
			return // a refusal, which comes as a whole line
		}
		rows, err := ParseRows([]byte(reply))
		if err != nil {
			return
		}
		if len(rows.rows) > len(reply) {
			t.Fatalf("%d rows in %d bytes", len(rows.rows), len(reply))
		}
		table, err := built.Extend(rows)
		if err != nil {
			t.Fatal(err)
		}
		for id := built.Len(); id < table.Len(); id++ {
			c := table.Row(uint16(id))
			for n := 1; n < 5; n++ {
				frame, args := request(slices.Repeat([]string{"2"}, n)...)
				if !c.Accepts(n) {
					continue
				}
				for _, ref := range c.Keys(frame, args, nil) {
					if ref.Arg < 1 || int(ref.Arg) >= n {
						t.Fatalf("%+v: key at argument %d of %d", c, ref.Arg, n)
					}
				}
				if int(c.ArgIndex) >= n || c.Route == RouteSplit && n <= 1 {
					t.Fatalf("%+v: route %v for %d arguments", c, c.Route, n)
				}
			}
		}
	})
}

// rowWithField is a reply to COMMAND whose only row has a key spec with a field that nobody knows, and a value.
func rowWithField(value string) string {
	return "*1\r\n*10\r\n$3\r\nfoo\r\n:2\r\n~0\r\n:1\r\n:1\r\n:1\r\n~0\r\n*0\r\n~1\r\n%1\r\n+x\r\n" + value + "*0\r\n"
}

// oddFields are values that are stepped over, or that end the reading.
var oddFields = map[string]string{
	"null string":        "$-1\r\n",
	"null array":         "*-1\r\n",
	"nulls within":       "*2\r\n$-1\r\n+$-999999\r\n",
	"RESP3 null":         "_\r\n",
	"negative string":    "$-2\r\n",
	"negative map":       "%-1\r\n",
	"string without end": "$9223372036854775807\r\n",
	"array without end":  "*9223372036854775807\r\n",
	"map without end":    "%4611686018427387905\r\n",
}

func TestContract_SEC4_odd_values_in_rows(t *testing.T) {
	for name, value := range oddFields {
		_, err := ParseRows([]byte(rowWithField(value)))
		if bad := strings.HasPrefix(name, "negative") || strings.HasSuffix(name, "without end"); bad != (err != nil) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

package command

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// syntax is an argument of a command, as COMMAND DOCS describes it.
type syntax struct {
	name, kind, token string
	optional, multiple,
	tokens bool // with multiple: the token too comes before each
	parts []syntax
}

// syntaxes are the arguments of all commands and subcommands that a server describes, by full name.
func syntaxes(t *testing.T, conn *testbed.Conn) map[string][]syntax {
	t.Helper()
	m := map[string][]syntax{}
	var read func(docs testbed.Map)
	read = func(docs testbed.Map) {
		for pair := range slices.Chunk(docs, 2) {
			fields := pair[1].(testbed.Map)
			m[pair[0].(string)] = readSyntax(fields.Get("arguments"))
			if subs, ok := fields.Get(docsSubcommands).(testbed.Map); ok {
				read(subs)
			}
		}
	}
	read(ask(t, conn, "COMMAND", "DOCS").(testbed.Map))
	return m
}

func readSyntax(list any) (parts []syntax) {
	arguments, _ := list.([]any)
	for _, argument := range arguments {
		fields := argument.(testbed.Map)
		text := func(name string) string { s, _ := fields.Get(name).(string); return s }
		s := syntax{name: text("name"), kind: text("type"), token: text("token"), parts: readSyntax(fields.Get("arguments"))}
		flags, _ := fields.Get("flags").(testbed.Set)
		s.optional, s.multiple = slices.Contains(flags, "optional"), slices.Contains(flags, "multiple")
		s.tokens = slices.Contains(flags, "multiple_token")
		parts = append(parts, s)
	}
	return parts
}

// generator writes requests by the commands' syntax, with values that are hard to tell from options and keys, and spoils some of them.
type generator struct {
	*rand.Rand
	words  []string
	count  int  // where the number of keys is; 0 if nowhere
	keys   int  // keys behind that
	tagged bool // keys share a slot
}

// optionWords are options that decide where keys are, and some that do not.
var optionWords = strings.Fields(`STREAMS streams STORE Store STOREDIST COUNT BLOCK GROUP NOACK GET BY LIMIT KEYS WEIGHTS SET INCRBY OVERFLOW
	WITHSCORES LEFT MAX DB REPLACE EX ANY`)

// plainWords are values that no command knows.
var plainWords = []string{
	"", "k", "s", "g", "$", ">", "nosort", "#", "\x00\xff", "a\r\nb", "{", "{}x", "\xc3\x28", "streams\x00x", "store\x00", "get\x00",
}

// numbers are what is given as a number, and what C reads as one.
var numbers = []string{
	"1", "2", "3", "4", "10", "0", "-1", "1.5", "01", "+2", " 1", "\t2", "2x", "1\x00", "", "x", "99999999999999999999", "4294967297", "-4294967294",
}

func (g *generator) pick(list []string) string { return list[g.IntN(len(list))] }

func (g *generator) value() string {
	switch g.IntN(4) {
	case 0:
		return g.pick(optionWords)
	case 1:
		return g.pick(numbers)
	}
	return g.pick(plainWords)
}

func (g *generator) key() string {
	if g.tagged {
		return "{t}" + g.value()
	}
	return g.value()
}

// request is a request for a command with this full name.
func (g *generator) request(name string, arguments []syntax) []string {
	g.words, g.count, g.keys, g.tagged = strings.Split(name, "|"), 0, 0, g.IntN(3) != 0
	least := len(g.words)
	g.list(arguments)
	if g.count != 0 {
		g.words[g.count] = strconv.Itoa(g.keys)
		if g.IntN(3) == 0 {
			g.words[g.count] = g.pick(numbers)
		}
	}
	for g.IntN(3) == 0 {
		g.spoil(least)
	}
	return g.words
}

func (g *generator) list(arguments []syntax) {
	for i := range arguments {
		s := &arguments[i]
		if s.optional && g.IntN(2) == 0 {
			continue
		}
		n := 1
		if s.multiple {
			n += g.IntN(3)
		}
		for j := range n {
			if s.token != "" && (j == 0 || s.tokens) {
				g.words = append(g.words, s.token)
			}
			g.one(s)
		}
	}
}

func (g *generator) one(s *syntax) {
	switch {
	case s.kind == "pure-token":
	case s.kind == "oneof":
		choice := g.IntN(len(s.parts))
		g.list(s.parts[choice : choice+1])
	case s.kind == "block":
		g.list(s.parts)
	case s.name == "numkeys":
		g.count, g.keys = len(g.words), 0
		g.words = append(g.words, "")
	case s.kind == "key":
		g.keys++
		g.words = append(g.words, g.key())
	case s.kind == "integer" && g.IntN(2) == 0:
		g.words = append(g.words, g.pick(numbers))
	default:
		g.words = append(g.words, g.value())
	}
}

// spoil changes one argument behind the name, or their number.
func (g *generator) spoil(least int) {
	at := least + g.IntN(len(g.words)-least+1)
	switch {
	case g.IntN(2) == 0:
		g.words = slices.Insert(g.words, at, g.value())
	case at == len(g.words):
	case g.IntN(3) == 0:
		g.words = slices.Delete(g.words, at, at+1)
	case g.IntN(2) == 0:
		g.words[at] = g.value()
	default:
		g.words = g.words[:at]
	}
}

// keyRequests are requests for every row that a client may call, with keys more than others, each once.
func keyRequests(t *testing.T, table *Table, conn *testbed.Conn, seed uint64) (requests [][]string) {
	t.Helper()
	seen := map[string]bool{}
	add := func(words []string) {
		if key := strings.Join(words, "\xfe"); !seen[key] {
			seen[key] = true
			requests = append(requests, words)
		}
	}
	for _, line := range keyLines {
		add(strings.Fields(line))
	}
	arguments := syntaxes(t, conn)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	for id := range table.Len() {
		c := table.Row(uint16(id))
		if c.Route == RouteRefused {
			continue
		}
		n := 3
		if c.HasKeys() {
			n = 40
			addFilled(c, add)
		}
		for range n {
			add(g.request(c.Name, arguments[c.Name]))
		}
	}
	if len(requests) < 5000 {
		t.Fatalf("only %d requests", len(requests))
	}
	return requests
}

// addFilled adds requests with all arguments alike: as numbers of keys they are right, too many, or zero.
func addFilled(c *Command, add func(words []string)) {
	name := strings.Split(c.Name, "|")
	for _, filler := range []string{"1", "2", "3", "0", "x"} {
		for n := range 10 - len(name) {
			add(append(slices.Clone(name), slices.Repeat([]string{filler}, n)...))
		}
	}
}

package differential

import (
	"slices"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/tests/harness"
)

// canons are the canonicalisers by the names that the corpus and unfixed have for them.
// Package harness shows of each that it can fail.
var canons = map[string]harness.Canon{
	"exact":     harness.Exact,
	"unordered": harness.Unordered,
	"pairs":     harness.Pairs,
	"page":      harness.Page,
	"positive":  harness.Positive,
	"shape":     harness.Shape,
	"kind":      harness.Kind,
}

// unfixed says of which commands one server does not fix the reply. All others are compared
// byte by byte. The first row that fits a request counts.
var unfixed = []struct {
	canon    string
	commands string                   // full names
	when     func(args []string) bool // only these requests; nil: all
	leaves   bool                     // what it leaves in its keys is not fixed either
	why      string
}{
	{canon: "shape", commands: "sort sort_ro", when: with("nosort"), why: "elements of a set in the order of a hash table, cut by LIMIT"},
	{canon: "unordered", commands: "smembers sinter sunion sdiff hkeys hvals sort sort_ro keys", why: "a hash table has no order"},
	{canon: "unordered", commands: "function|list", why: "a hash table has no order"},
	{canon: "pairs", commands: "hgetall", why: "a hash table has no order"},
	{canon: "kind", commands: "hscan sscan zscan", when: inTheMiddle, why: "a cursor is the node's own"},
	{canon: "kind", commands: "hscan sscan zscan", when: with("count"), why: "a page of a hash table has more than it is asked for by lot"},
	{canon: "page", commands: "scan hscan sscan zscan", why: "a cursor is the node's own, and so is how much a page has"},

	{canon: "shape", commands: "spop", leaves: true, why: "drawn by lot"},
	{canon: "shape", commands: "srandmember hrandfield zrandmember randomkey", why: "drawn by lot"},
	{canon: "kind", commands: "vlinks vrandmember", why: "drawn by lot"},
	{canon: "shape", commands: "xadd", when: with("*"), leaves: true, why: "the id is the time of day"},
	{canon: "shape", commands: "vinfo", why: "counts the levels of a graph that is drawn by lot"},

	{canon: "shape", commands: "expire pexpire hexpire hpexpire", when: with("gt"), why: "the same time from now is later than it was"},
	{canon: "shape", commands: "expire pexpire hexpire hpexpire", when: with("lt"), why: "the same time from now is later than it was"},
	{canon: "positive", commands: "ttl pttl expiretime pexpiretime httl hpttl hexpiretime hpexpiretime", why: "time passes"},
	{canon: "shape", commands: "xinfo|stream", when: with("full"), why: "tells times"},
	{canon: "shape", commands: "xinfo|consumers xpending", why: "tell how long ago something was"},
	{canon: "shape", commands: "time lastsave object|idletime", why: "time passes"},
	{canon: "shape", commands: "memory|usage", why: "the memory allocator rounds, and a cluster's node keeps other tables"},
	{canon: "shape", commands: "dump", why: "the order within a hash table is written too"},
	{canon: "shape", commands: "lolwut", why: "drawn by lot"},
	{canon: "shape", commands: "client|id", why: "numbers of connections"},
	{canon: "kind", commands: "client|list client|info", why: "tell of connections"},
}

// canonOf is the canonicaliser for a request's reply, and whether what it leaves in its keys
// is fixed by nobody.
func canonOf(name string, r request) (canon harness.Canon, leaves bool) {
	canon = harness.Exact
	for _, row := range unfixed {
		if slices.Contains(strings.Fields(row.commands), name) && (row.when == nil || row.when(r.args)) {
			canon, leaves = canons[row.canon], row.leaves
			break
		}
	}
	if r.canon != "" {
		canon = canons[r.canon]
	}
	return canon, leaves
}

// with says of requests whether one of their arguments is a word, in any case.
func with(word string) func(args []string) bool {
	return func(args []string) bool {
		return slices.ContainsFunc(args[1:], func(arg string) bool { return strings.EqualFold(arg, word) })
	}
}

// inTheMiddle says that HSCAN or its like does not begin at the beginning.
func inTheMiddle(args []string) bool { return len(args) > 2 && args[2] != "0" }

// TestUnfixedNamesCommands: every row is about commands that exist, and gives a reason.
func TestUnfixedNamesCommands(t *testing.T) {
	used := map[string]bool{"exact": true}
	for _, row := range unfixed {
		used[row.canon] = true
		if canons[row.canon] == nil || row.why == "" {
			t.Errorf("%s: canonicaliser %q, reason %q", row.commands, row.canon, row.why)
		}
		for name := range strings.FieldsSeq(row.commands) {
			known := func(v command.Version) bool { return rowsOf(v)[name] != nil }
			if !slices.ContainsFunc(command.Versions, known) {
				t.Errorf("%s is a command of no server", name)
			}
		}
	}
	for name := range canons {
		if !used[name] {
			t.Errorf("canonicaliser %s is used for no command", name)
		}
	}
}

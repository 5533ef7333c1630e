package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mithril/src/resp"
	"mithril/src/slot"
	"mithril/tools/testbed"
)

// difference is a kind of requests with which a server does otherwise than the walker, and why that is right.
type difference struct {
	why      string
	versions string // which do so
	applies  func(c *Command, words []string) bool
}

const everyVersion = "redis-7.0 redis-8.0 valkey-9.1"

// toldOtherwise are requests for which COMMAND GETKEYS or GETKEYSANDFLAGS tells something else than what the server does with the request
// itself.
var toldOtherwise = []difference{
	{"the number of keys is one to C's atoi only: they are told without flags and the destination last", everyVersion, isLooseCount},
	{"PFMERGE with a destination alone is executed", everyVersion, isLonePFMerge},
	{"the first word STREAMS is taken, and one key too few is no error", "redis-7.0 valkey-9.1", isOddStreams},
	{"the first STORE and the first STOREDIST are told, and the last one is used", "redis-7.0", isGeoWithStores},
	{"a destination named STORE is taken for the option", "redis-7.0 valkey-9.1", isSortIntoStore},
}

// routedOtherwise are requests that a node of a cluster takes for requests with other keys.
var routedOtherwise = []difference{
	{"nodes find no keys in MSETEX, and would write them wherever it was sent", "valkey-9.1", isMSETEX},
	{"a destination named STORE is taken for the option", "redis-7.0 valkey-9.1", isSortIntoStore},
}

func isLooseCount(c *Command, words []string) bool {
	for i := range c.KeySpecs {
		if k := &c.KeySpecs[i]; k.Count == CountKeynum {
			number := words[k.Index+k.Keynum]
			return number == "" || len(number) > 9 || len(number) > 1 && number[0] == '0' || strings.Trim(number, "0123456789") != ""
		}
	}
	return false
}

func isMSETEX(c *Command, _ []string) bool { return c.Name == "msetex" }

func isLonePFMerge(c *Command, words []string) bool { return c.Name == "pfmerge" && len(words) == 2 }

func isOddStreams(c *Command, words []string) bool {
	if c.Name != "xread" && c.Name != "xreadgroup" {
		return false
	}
	frame, args := request(words...)
	option := streamReadOptions.find(frame, args, "streams")
	first := 1 + slices.IndexFunc(words, func(w string) bool { return isWord([]byte(w), "streams") })
	return option != first || (len(words)-option)%2 != 0
}

func isGeoWithStores(c *Command, words []string) bool {
	return strings.HasPrefix(c.Name, "georadius") && countWords(words[5:], "store", "storedist") > 1
}

func isSortIntoStore(c *Command, words []string) bool {
	return c.Name == "sort" && countWords(words, "store") > 1
}

func countWords(words []string, those ...string) (n int) {
	for _, w := range words {
		if slices.ContainsFunc(those, func(word string) bool { return isWord([]byte(w), word) }) {
			n++
		}
	}
	return n
}

// exceptions are the differences of one table, each of which must be met.
type exceptions struct {
	version string
	list    []difference
	met     map[string]bool
}

func newExceptions(table *Table, list []difference) *exceptions {
	return &exceptions{table.Version().String(), list, map[string]bool{}}
}

// cover says that a difference applies to a request, which the table accepts.
func (e *exceptions) cover(c *Command, words []string) bool {
	for _, d := range e.list {
		if slices.Contains(strings.Fields(d.versions), e.version) && d.applies(c, words) {
			e.met[d.why] = true
			return true
		}
	}
	return false
}

func (e *exceptions) check(t *testing.T) {
	t.Helper()
	for _, d := range e.list {
		if slices.Contains(strings.Fields(d.versions), e.version) && !e.met[d.why] {
			t.Errorf("no request was excepted because %s", d.why)
		}
	}
}

// TestContract_ROUTE2_keysAsServersTellThem compares the keys and their flags with COMMAND GETKEYS and GETKEYSANDFLAGS, errors too.
func TestContract_ROUTE2_keysAsServersTellThem(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		table = withAllCarried(t, table)
		conns := map[resp.Proto]*testbed.Conn{resp.RESP2: dialLive(t, table, resp.RESP2), resp.RESP3: dialLive(t, table, resp.RESP3)}
		requests := keyRequests(t, table, conns[resp.RESP3], 1)
		excepted := newExceptions(table, toldOtherwise)
		for _, ask := range []struct {
			about string
			proto resp.Proto
		}{{"GETKEYS", resp.RESP2}, {"GETKEYSANDFLAGS", resp.RESP2}, {"GETKEYSANDFLAGS", resp.RESP3}} {
			for i, want := range exchange(t, conns[ask.proto], prefixed(requests, "COMMAND", ask.about)) {
				got := answer(table, ask.proto, ask.about, requests[i])
				frame, args := request(requests[i]...)
				if c, problem := table.Find(frame, args); problem == OK && excepted.cover(c, requests[i]) {
					continue
				}
				if got != want {
					t.Errorf("%s of %q in RESP%d:\n got %q\nwant %q", ask.about, requests[i], ask.proto, got, want)
				}
			}
		}
		excepted.check(t)
	})
}

// answer is the reply to COMMAND GETKEYS or GETKEYSANDFLAGS with a request.
func answer(table *Table, proto resp.Proto, about string, words []string) string {
	frame, args := request(slices.Concat([]string{"COMMAND", about}, words)...)
	c, problem := table.Find(frame, args)
	switch {
	case problem != OK:
		return string(AppendProblem(nil, problem, c, frame, args))
	case about == "GETKEYS":
		return string(table.AppendKeys(nil, frame, args[2:]))
	}
	return string(table.AppendKeysAndFlags(nil, frame, args[2:], proto))
}

// prefixed puts words before each request.
func prefixed(requests [][]string, words ...string) (list [][]string) {
	for _, r := range requests {
		list = append(list, slices.Concat(words, r))
	}
	return list
}

// TestContract_ROUTE2_slotsAsServersFindThem compares where the walker sends requests with where a node of a cluster does.
func TestContract_ROUTE2_slotsAsServersFindThem(t *testing.T) {
	eachTable(t, func(t *testing.T, table *Table) {
		var requests [][]string
		for _, words := range keyRequests(t, table, dialLive(t, table, resp.RESP3), 2) {
			frame, args := request(words...)
			if c, problem := table.Find(frame, args); problem == OK && c.namesKeys() {
				requests = append(requests, words)
			}
		}
		excepted := newExceptions(table, routedOtherwise)
		for i, reply := range exchange(t, dialReplica(t, table), requests) {
			frame, args := request(requests[i]...)
			c, _ := table.Find(frame, args)
			if got, want := routeOf(c, frame, args), routeTold(reply); got != want && !excepted.cover(c, requests[i]) {
				t.Errorf("%q goes to %s, the replica answers %q", requests[i], got, reply)
			}
		}
		excepted.check(t)
	})
}

// routeOf is where the walker sends a request.
func routeOf(c *Command, frame []byte, args []resp.Arg) string {
	var slots []uint16
	for _, k := range c.Keys(frame, args, nil) {
		slots = append(slots, slot.Of(args[k.Arg].Of(frame)))
	}
	switch slices.Sort(slots); len(slices.Compact(slots)) {
	case 0:
		return "any node"
	case 1:
		return fmt.Sprint("slot ", slots[0])
	}
	return "several slots"
}

// routeTold is the same by a replica's reply. It sends requests with keys away and executes others.
func routeTold(reply string) string {
	switch fields := strings.Fields(reply); fields[0] {
	case "-MOVED":
		return "slot " + fields[1]
	case "-CROSSSLOT":
		return "several slots"
	}
	return "any node"
}

// withAllCarried is a table like another in which nothing is left out because the proxy does not carry it yet.
func withAllCarried(t *testing.T, table *Table) *Table {
	t.Helper()
	all, err := build(table.Version())
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.rows {
		if all.rows[i].Route == RouteLater {
			all.rows[i].Route = RouteAny
		}
	}
	return all
}

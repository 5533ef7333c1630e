package refresher

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mithril/src/command"
	"mithril/src/topology"
)

// rowsReply writes a reply to COMMAND. A command is its name, arity, flag, first key, last key and step.
func rowsReply(commands ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(commands))
	for _, line := range commands {
		w := strings.Fields(line)
		text += fmt.Sprintf("*6\r\n%s:%s\r\n*1\r\n+%s\r\n:%s\r\n:%s\r\n:%s\r\n", bulk(w[0]), w[1], w[2], w[3], w[4], w[5])
	}
	return text
}

const (
	getRow  = "m.get 2 readonly 1 1 1"
	setRow  = "m.set 3 write 1 1 1"
	pingRow = "m.ping 1 fast 0 0 0"
	coreRow = "get 2 readonly 1 1 1" // built in
)

// offers reports whether the table has exactly these commands besides the built-in ones of Redis 7.0.
func (r *rig) offers(names string) bool {
	o := offer{base: command.ForEngine("redis", 7, 0), table: r.Commands()}
	return o.added() == names
}

func (r *rig) awaitOffer(names string) {
	r.t.Helper()
	r.await("offer of "+names, func() bool { return r.offers(names) })
}

func TestContract_ROUTE2_CommandsOfAllPrimariesAreOffered(t *testing.T) {
	t.Parallel()
	a, b, replica := newFakeNode(t), newFakeNode(t), newFakeNode(t)
	nodes := []*fakeNode{a, b, replica}
	halves := []span{{0, 8191, []named{a.as("a"), replica.as("c")}}, {8192, 16383, []named{b.as("b")}}}
	for _, n := range nodes {
		n.serveMap(3, halves...)
		n.script("COMMAND", rowsReply(coreRow, setRow, getRow, pingRow))
	}
	b.script("COMMAND", rowsReply(pingRow, coreRow, getRow))
	replica.script("COMMAND", rowsReply(coreRow))
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitOffer("m.get m.ping")
	table, epoch := r.Commands(), r.Current().Epoch
	for name, want := range map[string]command.Route{"m.get": command.RouteKeyed, "m.ping": command.RouteAny, "get": command.RouteKeyed} {
		if c := table.Lookup([]byte(name)); c == nil || c.Route != want {
			t.Errorf("%s: %v", name, c)
		}
	}
	for range 5 {
		r.refresh()
	}
	if r.Commands() != table || r.Current().Epoch != epoch {
		t.Errorf("the table is another one or published again: epoch %d, was %d", r.Current().Epoch, epoch)
	}
	for i, n := range nodes {
		if asked := n.count("COMMAND"); asked != 1 {
			t.Errorf("node %d was asked for its commands %d times", i, asked)
		}
	}
	if r.log.count(`"commands beyond the built-in ones are offered" names="m.get m.ping"`) != 1 || r.log.count("does not tell") != 0 {
		t.Errorf("log:\n%s", r.log)
	}
	// The replica takes over: it has been asked already.
	halves[0].nodes = []named{replica.as("c"), a.as("a")}
	for _, n := range nodes {
		n.serveMap(4, halves...)
	}
	r.refresh()
	if !r.offers("") || replica.count("COMMAND") != 1 {
		t.Errorf("with a primary that has no module: %q", (&offer{base: command.ForEngine("redis", 7, 0), table: r.Commands()}).added())
	}
	if r.log.count("no more commands than the built-in ones") != 1 {
		t.Errorf("log:\n%s", r.log)
	}
}

// A node that does not tell its commands may not have those of the others. It is asked again when it comes back.
func TestContract_ROUTE2_NodesThatDoNotTellTheirCommands(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"refused":   "-NOPERM this user has no permissions to run the 'command' command\r\n",
		"malformed": "*1\r\n+get\r\n",
		"too old":   "*0\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := newFakeNode(t), newFakeNode(t)
			halves := []span{{0, 8191, []named{a.as("a")}}, {8192, 16383, []named{b.as("b")}}}
			shards := func(health string) string {
				return "*1\r\n*4\r\n" + bulk("slots") + "*0\r\n" + bulk("nodes") + "*1\r\n*4\r\n" + bulk("id") +
					bulk("b"+strings.Repeat("0", 39)) + bulk("health") + bulk(health)
			}
			for _, n := range []*fakeNode{a, b} {
				n.serveMap(3, halves...)
				n.script("COMMAND", rowsReply(coreRow, getRow))
			}
			b.script("COMMAND", reply)
			r := start(t, Options{Bootstrap: []string{a.addr}})
			r.await("both nodes to be asked", func() bool { return a.count("COMMAND") == 1 && b.count("COMMAND") == 1 })
			r.refresh()
			r.refresh()
			logged := 1
			if name == "too old" {
				logged = 0
			}
			if !r.offers("") || a.count("COMMAND") != 1 || b.count("COMMAND") != 1 || r.log.count("does not tell its commands") != logged ||
				r.log.count("WARN") != 0 {
				t.Errorf("%d commands, log:\n%s", r.Commands().Len(), r.log)
			}
			for _, n := range []*fakeNode{a, b} {
				n.script("CLUSTER SHARDS", shards("fail"))
			}
			r.refresh()
			r.awaitOffer("m.get") // of the one that is left
			b.script("COMMAND", rowsReply(getRow, coreRow, setRow))
			for _, n := range []*fakeNode{a, b} {
				n.script("CLUSTER SHARDS", shards("online"))
			}
			r.refresh()
			r.await("the node to be asked again", func() bool { return b.count("COMMAND") == 2 })
			r.awaitOffer("m.get")
			r.await("the log line", func() bool { return r.log.count(`"node tells its commands"`) == logged })
		})
	}
}

// The configuration's commands are there before any node is, and whatever the nodes tell.
func TestContract_ROUTE2_ExtraCommandsAreOfferedInAnyCase(t *testing.T) {
	t.Parallel()
	extra, err := command.ParseExtra(strings.Fields("m.get -3 write 2 2 1"))
	if err != nil {
		t.Fatal(err)
	}
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	a.script("COMMAND", rowsReply(getRow, setRow))
	options := Options{Bootstrap: []string{a.addr}, Extra: []*command.Rows{extra}, Period: time.Hour}
	isConfigured := func(table *command.Table) bool {
		c := table.Lookup([]byte("m.get"))
		return c != nil && c.Arity == -3 && c.KeyIndex == 2
	}
	if table := New(options).Commands(); !isConfigured(table) {
		t.Error("not offered before the first map")
	}
	r := start(t, options)
	r.awaitOffer("m.get m.set")
	if !isConfigured(r.Commands()) {
		t.Error("the node's description is taken in place of the configured one")
	}
}

// The built-in commands follow the version, those of the nodes are added to them, and a node that has been started again is asked again.
func TestContract_ROUTE2_CommandsFollowTheVersion(t *testing.T) {
	t.Parallel()
	a := newFakeNode(t)
	a.serveMap(3, a.whole("a"))
	a.script("COMMAND", rowsReply(getRow, "hexpire -6 write 1 1 1"))
	r := start(t, Options{Bootstrap: []string{a.addr}})
	r.awaitOffer("hexpire m.get")
	a.script("INFO SERVER", bulk("# Server\r\nredis_version:7.0.15\r\nrun_id:1\r\n"))
	a.script("COMMAND", rowsReply(pingRow))
	r.refresh()
	r.awaitOffer("m.ping")
	a.script("INFO SERVER", bulk("# Server\r\nredis_version:8.0.1\r\nrun_id:2\r\n"))
	a.script("COMMAND", rowsReply(setRow, "hexpire -6 write 1 1 1"))
	r.refresh()
	r.await("the new module", func() bool { return r.Commands().Lookup([]byte("m.set")) != nil })
	if n := a.count("COMMAND"); n != 3 {
		t.Errorf("asked %d times, want once for each start", n)
	}
	if got, want := r.Commands().Version(), (command.Version{Engine: topology.EngineRedis, Major: 8}); got != want {
		t.Errorf("the table is that of %v", got)
	}
	if c := r.Commands().Lookup([]byte("hexpire")); len(c.KeySpecs) != 1 || c.KeySpecs[0].Flags&command.KeyAccess != 0 ||
		r.Commands().Lookup([]byte("m.get")) != nil {
		t.Errorf("hexpire has the key specs %+v", c.KeySpecs)
	}
}

// Nodes that run the same program have one list between them: a thousand would take as many times 100 KB.
func TestEqualListsAreOne(t *testing.T) {
	t.Parallel()
	v := newVersions()
	for i, reply := range []string{rowsReply(getRow, setRow), rowsReply(setRow, getRow), rowsReply(getRow)} {
		rows, err := command.ParseRows([]byte(reply))
		if err != nil {
			t.Fatal(err)
		}
		v.learn(probe{addr: fmt.Sprint(i), commands: rows})
	}
	if v.commands["0"] != v.commands["1"] || v.commands["0"] == v.commands["2"] {
		t.Errorf("lists are kept as %p, %p and %p", v.commands["0"], v.commands["1"], v.commands["2"])
	}
	snapshot := &topology.Snapshot{}
	for i := range 4 {
		snapshot.Nodes = append(snapshot.Nodes, topology.Node{Addr: fmt.Sprint(i), Shard: i})
		snapshot.Shards = append(snapshot.Shards, topology.Shard{Primary: i})
	}
	if lists := v.told(snapshot); len(lists) != 2 {
		t.Errorf("three nodes have told %d lists", len(lists))
	}
}

package golden

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"mithril/src/admin"
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/slot"
	"mithril/src/topology"
	"mithril/src/worker"
)

func TestWorker(t *testing.T) {
	playAll(t, "worker", func(t *testing.T) map[string]Verb {
		p := newPlay(t)
		verbs := map[string]Verb{
			"client": p.client, "raw": p.raw, "reply": p.reply, "advance": p.advance, "close": p.close, "reset": p.reset,
			"map": p.publish, "replicas": p.follow, "node": p.node, "left": p.left, "reads": p.reads, "large": p.large,
		}
		for name, do := range verbs {
			verbs[name] = func(d *Directive) {
				p.ring.start = p.ring.now
				do(d)
				p.settle(d)
			}
		}
		return verbs
	})
}

// primaries is how many nodes share the slots in the first map, as evenly as clusters do.
const primaries = 3

// play is a production worker with three nodes, and as many clients as the script names.
// After each directive it tells everything that has reached the far ends.
type play struct {
	ring   *scriptRing
	worker *worker.Worker
	arena  *buf.Arena
	shared worker.Shared
	slots  *topology.Snapshot
	wished bool

	replicas map[int]int // of the map: which node is whose replica
}

func newPlay(t *testing.T) *play {
	p := &play{arena: newArena(t)}
	p.slots = mapOf(func(s int) int { return 1 + s*primaries/slot.Count })
	p.start(worker.Large{}, session.Env{}, 100)
	return p
}

// start begins the play with a new worker.
func (p *play) start(sizes worker.Large, env session.Env, private int) {
	p.ring = newRing(p.arena)
	env.Limits, env.FreshLimits = resp.Authenticated, resp.Unauthenticated
	p.worker = worker.New(worker.Options{
		Ring: p.ring, Arena: p.arena, Listeners: []ring.Socket{listener}, Shared: &p.shared,
		Log:     slog.New(slog.DiscardHandler),
		Session: env, Large: sizes, PrivateMax: private,
		Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 7, 0) },
		Lanes:    1, MaxRedirects: 7, MaxClients: 10_000,
		Topology: func() *topology.Snapshot { return p.slots },
		Wish:     func() { p.wished = true },
		Resolve:  resolve, Admin: &admin.Server{}, Rand: rand.New(rand.NewPCG(1, 1)),
	})
}

// resolve knows addresses only, no names.
func resolve(host []byte, port uint16, from netip.AddrPort) (netip.AddrPort, bool) {
	if len(host) == 0 {
		return netip.AddrPortFrom(from.Addr(), port), true
	}
	addr, err := netip.ParseAddr(string(host))
	return netip.AddrPortFrom(addr, port), err == nil
}

// mapOf makes a map of each slot's owner, the number of a node, or 0 for none.
func mapOf(owner func(s int) int) *topology.Snapshot {
	m := &topology.Snapshot{Engine: topology.EngineRedis, Version: topology.Version{Major: 7}}
	shards := map[int]uint16{0: topology.NoShard}
	for s := range m.Slots {
		i := owner(s)
		if _, known := shards[i]; !known {
			shards[i] = uint16(len(m.Shards))
			m.Shards = append(m.Shards, topology.Shard{Primary: len(m.Nodes)})
			m.Nodes = append(m.Nodes, topology.Node{Addr: nodeAddr(i).String(), Dial: nodeAddr(i), Shard: int(shards[i])})
		}
		m.Slots[s] = shards[i]
	}
	return m
}

// settle turns until nothing happens any more, and tells what has happened.
func (p *play) settle(d *Directive) {
	for {
		p.worker.Turn()
		if !p.ring.active && p.ring.now >= p.ring.until {
			break
		}
	}
	for _, line := range p.ring.told {
		d.Say("%s", line)
	}
	p.ring.told = nil
	if p.wished {
		d.Say("a new map is wished for")
		p.wished = false
	}
}

// link finds the open connection of a client or a node.
func (p *play) link(d *Directive, name string) *link {
	l := p.ring.find(name)
	if l == nil {
		d.Fail("%s has no connection", name)
	}
	return l
}

// sender finds a client, or lets a new one connect.
func (p *play) sender(name string) *link {
	if l := p.ring.find(name); l != nil {
		return l
	}
	return p.ring.accept(name)
}

// client sends requests in one write: the client's name, and the words of each, with a
// semicolon between requests.
func (p *play) client(d *Directive) {
	from := p.sender(d.Word())
	for request := range strings.SplitSeq(strings.Join(d.Rest(), "\x00"), "\x00;\x00") {
		from.arrived = append(from.arrived, resp.AppendCommand(nil, strings.Split(request, "\x00")...)...)
	}
}

// raw sends bytes from a client.
func (p *play) raw(d *Directive) {
	from := p.sender(d.Word())
	from.arrived = append(from.arrived, d.Word()...)
}

// reply sends bytes from a node, whose name comes first.
func (p *play) reply(d *Directive) {
	from := p.link(d, d.Word())
	from.arrived = append(from.arrived, strings.Join(d.Rest(), "")...)
}

// advance lets time pass.
func (p *play) advance(d *Directive) { p.ring.until = p.ring.now + int64(d.Duration()) }

// close says that a client sends nothing more, or a node nothing more on a connection.
func (p *play) close(d *Directive) { p.link(d, d.Word()).ended = true }

// reset breaks the connection of a client or to a node.
func (p *play) reset(d *Directive) {
	l := p.link(d, d.Word())
	l.ended, l.broken = true, true
}

// publish publishes a new map, in which slots have changed hands: words slot=node, or
// node=node for all of one, n0 for nobody.
func (p *play) publish(d *Directive) {
	slots, nodes := map[int]int{}, map[int]int{}
	for _, word := range d.Rest() {
		var from, to int
		if n, _ := fmt.Sscanf(word, "%d=n%d", &from, &to); n == 2 {
			slots[from] = to
		} else if n, _ := fmt.Sscanf(word, "n%d=n%d", &from, &to); n == 2 {
			nodes[from] = to
		} else {
			d.Fail("%q is no change of hands, want one as 3300=n2 or n1=n4", word)
		}
	}
	old := p.slots
	p.put(mapOf(func(s int) int {
		owner := 0
		if shard := old.Owner(uint16(s)); shard != nil {
			owner = int(old.Nodes[shard.Primary].Dial.Addr().As4()[3])
		}
		if to, changed := nodes[owner]; changed {
			owner = to
		}
		if to, changed := slots[s]; changed {
			owner = to
		}
		return owner
	}))
}

// follow publishes a map that has replicas too: words replica=primary, as n4=n1.
func (p *play) follow(d *Directive) {
	p.replicas = map[int]int{}
	for _, word := range d.Rest() {
		var replica, primary int
		if n, _ := fmt.Sscanf(word, "n%d=n%d", &replica, &primary); n != 2 {
			d.Fail("%q names no replica and its primary, want n4=n1", word)
		}
		p.replicas[replica] = primary
	}
	m := *p.slots
	m.Nodes, m.Shards = slices.Clone(m.Nodes[:len(m.Shards)]), slices.Clone(m.Shards)
	p.put(&m)
}

// put publishes a map of primaries, with their replicas in the order of their numbers.
func (p *play) put(m *topology.Snapshot) {
	for replica := range 10 {
		primary, isReplica := p.replicas[replica]
		shard := slices.IndexFunc(m.Nodes, func(n topology.Node) bool { return n.Dial == nodeAddr(primary) })
		if !isReplica || shard < 0 {
			continue
		}
		m.Shards[shard].Replicas = append(slices.Clone(m.Shards[shard].Replicas), len(m.Nodes))
		m.Nodes = append(m.Nodes, topology.Node{Addr: nodeAddr(replica).String(), Dial: nodeAddr(replica), Role: topology.Replica, Shard: shard})
	}
	p.slots = m
}

// node says how a node takes dials from now on: refuses, stalls, or greets with some bytes.
func (p *play) node(d *Directive) {
	var i int
	if _, err := fmt.Sscanf(d.Word(), "n%d", &i); err != nil {
		d.Fail("%v, want a node as n1", err)
	}
	addr := nodeAddr(i)
	p.ring.refusing[addr], p.ring.stalling[addr] = d.Flag("refuses"), d.Flag("stalls")
	p.ring.greeting[addr] = d.Option("greets", "")
	p.ring.answerDials()
}

// large, which a script begins with, says from which sizes on frames are large, all in bytes:
// requests take a connection of their own, are passed on, replies come in parts, hold up
// nobody new, are heavy; how much of them may wait on its way; and how many connections of
// their own there may be to a node.
func (p *play) large(d *Directive) {
	sizes := worker.Large{
		LargeRequestFrom: d.Number("own", 60), PartsFrom: d.Number("parts", 60), LargeReplyFrom: d.Number("reply", 60),
		HeavyFrom: d.Number("heavy", 1<<20), StreamWindow: d.Number("window", 100),
	}
	env := session.Env{
		StreamFrom: d.Number("stream", 100),
		Output:     session.OutputLimit{Soft: int64(d.Number("soft", 0)), SoftFor: int64(d.Span("softfor", 0))},
	}
	p.start(sizes, env, d.Number("private", 100))
}

// reads says whether a client, or a node, takes what it is sent from now on.
func (p *play) reads(d *Directive) {
	l := p.link(d, d.Word())
	l.deaf = d.Word() == "no"
	p.ring.goOn(l)
}

// left tells what the worker holds.
func (p *play) left(d *Directive) {
	c := p.worker.Census()
	d.Say("%d clients, %d requests with nodes, %d waiting, %d joins, %d pipes, %d blocks",
		c.Clients, c.InFlight, c.Waiting, c.Joins, c.Pipes, p.arena.Live())
}

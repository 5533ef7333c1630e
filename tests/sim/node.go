package sim

import (
	"fmt"
	"net/netip"
	"strings"
)

// node is one server of the cluster. It reads requests off its connections and executes
// them one by one.
type node struct {
	cluster   *cluster
	index     int
	addr      netip.AddrPort
	store     store
	cursors   map[uint64]bool   // that it has given, never ranged over
	scripts   map[string]bool   // by SHA1, never ranged over
	owner     [slotCount]uint16 // as this node believes
	migrating []move            // slots on their way out
	importing []move            // and in
	conns     []*nodeConn

	fooledAt    int64 // when a connection last became one that redirects to itself
	refuseUntil int64
	stallUntil  int64
	downUntil   int64             // answers CLUSTERDOWN
	dials       [coresMax]dialing // by worker
	keepers     [2]*dialing       // by protocol: who keeps the shared connection
}

// dialing is what has become of a worker's dials to a node.
type dialing struct {
	failedIn  int64 // turn of the ring in which one has failed last, 0: none has
	failedAt  int64 // and when
	greetedAt int64 // when a greeting was answered last
}

// foolingPause lets those who dial again after a redirect to the same node find one that
// serves.
const foolingPause = 100 * millisecond

// move is a slot in migration, with the other node.
type move struct {
	slot  uint16
	other *node
}

func findMove(list []move, slot uint16) *node {
	for _, m := range list {
		if m.slot == slot {
			return m.other
		}
	}
	return nil
}

func dropMove(list []move, slot uint16) []move {
	for i, m := range list {
		if m.slot == slot {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// nodeConn is a connection to a node, seen from there.
type nodeConn struct {
	node       *node
	dials      *dialing // of the worker that has made it
	end        *end
	in         []byte
	out        []byte
	proto      int
	loggedIn   bool
	asking     bool
	loaded     string // the script that the last SCRIPT LOAD has brought, until it is run
	behindLoad bool   // and this is it
	selfMoved  bool   // answers requests for the node's own slots with MOVED to itself
	hasMoved   bool   // and has done so
	busy       bool   // work is scheduled
	former     bool   // leads to where the node has been
	cut        bool   // broke off within a reply: nothing more is served
	closed     bool
}

func (n *node) accept(d *dialing) *end {
	c := n.cluster
	near, far := newWire(c.world, c.config.Latency, c.config.Room)
	conn := &nodeConn{node: n, dials: d, end: far, proto: 2, loggedIn: !c.config.Password}
	if c.world.now-n.fooledAt > foolingPause && c.world.chance(c.faults.SelfMoved) {
		n.fooledAt, conn.selfMoved = c.world.now, true
	}
	n.conns = append(n.conns, conn)
	far.watch(conn.readable, conn.flush)
	return near
}

// readable is called when bytes or the end arrive.
func (c *nodeConn) readable() {
	if c.busy || c.closed || c.cut {
		return
	}
	c.busy = true
	w := c.node.cluster.world
	w.after(max(w.between(0, 50*microsecond), c.node.stallUntil-w.now), c.work)
}

// work executes a few requests.
func (c *nodeConn) work() {
	n, w := c.node, c.node.cluster.world
	c.busy = false
	if c.closed || c.cut {
		return
	}
	if n.stallUntil > w.now {
		c.readable()
		return
	}
	c.in = append(c.in, c.end.in.read(1<<20)...)
	if c.former && len(c.in) > 0 {
		c.snap()
		return
	}
	for range 1 + w.rng.IntN(16) {
		args, size, problem := parseRequest(c.in)
		if problem != "" {
			w.fail("node %d received what is no request: %s", n.index, problem)
		}
		if size == 0 {
			if c.end.in.over() {
				c.drop()
			}
			return
		}
		c.serve(args)
		if c.closed || c.cut {
			return
		}
		c.in = c.in[size:]
	}
	c.readable()
}

// drop closes the connection from the node's side.
func (c *nodeConn) drop() {
	if c.closed {
		return
	}
	c.closed = true
	c.end.watch(func() {}, func() {})
	c.end.close()
	for i, other := range c.node.conns {
		if other == c {
			c.node.conns = append(c.node.conns[:i], c.node.conns[i+1:]...)
			return
		}
	}
}

// snap breaks the connection.
func (c *nodeConn) snap() {
	if c.closed {
		return
	}
	end := c.end
	c.drop()
	end.reset()
}

// reply sends bytes to the proxy, with what the faults make of them.
func (c *nodeConn) reply(b []byte) {
	w, f := c.node.cluster.world, c.node.cluster.faults
	w.trace("node-reply", int64(c.node.index), int64(len(b)), b)
	if c.proto == 3 && w.chance(f.Push) {
		c.out = append(c.out, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nkey\r\n"...)
	}
	switch {
	case w.chance(f.BadReply):
		garbage := [...]string{"?what\r\n", "$-5\r\n", ":12x\r\n", "$3\r\nabcdef\r\n", "\x00\x00\x00\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}
		c.out = append(c.out, garbage[w.rng.IntN(len(garbage))]...)
		c.flush()
		return
	case w.chance(f.MidReply):
		c.out = append(c.out, b[:w.rng.IntN(len(b))]...)
		c.flush()
		c.cut = true
		w.after(w.between(0, millisecond), c.snap)
		return
	}
	c.out = append(c.out, b...)
	c.flush()
}

func (c *nodeConn) flush() {
	if c.end.out.broken {
		c.readable() // to notice the end
		return
	}
	k := c.end.out.write(c.out)
	c.out = c.out[k:]
}

// serve executes one request or redirects it.
func (c *nodeConn) serve(args [][]byte) {
	n, w := c.node, c.node.cluster.world
	words := make([]string, len(args))
	for i := range args {
		words[i] = string(args[i])
	}
	name := strings.ToLower(words[0])
	w.trace("node-serve", int64(n.index), int64(len(words)), []byte(strings.Join(words, " ")))
	c.expectRun(name, words)
	if c.connection(name, words) {
		return
	}
	if !c.loggedIn {
		w.fail("node %d got %s on a connection that has not logged in", n.index, clip([]byte(name)))
	}
	if name == "script" {
		c.load(words)
		return
	}
	asking := c.asking
	c.asking = false
	if c.whole(name, words) {
		return
	}
	shape, ok := shapes[name]
	if !ok {
		w.fail("node %d got the command %s, which no client has sent", n.index, clip([]byte(name)))
	}
	marked := shape.keysOf(words)
	if shape.firstKey == 0 {
		marked = words[1:2]
	}
	bases := make([]string, len(marked))
	marks := make([]mark, len(marked))
	for i, key := range marked {
		if bases[i], marks[i], ok = splitMark(key); !ok {
			w.fail("node %d got the key %s, which no client has sent", n.index, clip([]byte(key)))
		}
	}
	if name == "exists" && c.probed(marks[0], bases, asking) {
		return
	}
	n.cluster.judge.tried(c, marks, asking)
	if shape.firstKey != 0 {
		if refusal := c.route(bases, asking); refusal != "" {
			if strings.HasPrefix(refusal, "-ASK ") {
				n.cluster.judge.asks(marks, findMove(n.migrating, slotOf(bases[0])))
			}
			c.reply([]byte(refusal))
			return
		}
	}
	if c.script(name, words, marks, asking) {
		return
	}
	reply := shape.run(&n.store, c.proto, bases, words)
	n.cluster.judge.executed(n, marks, bases, words, reply, asking)
	c.reply(reply)
}

// connection serves the commands that set up a connection.
func (c *nodeConn) connection(name string, words []string) bool {
	n := c.node
	switch name {
	case "hello":
		if n.cluster.world.chance(n.cluster.faults.NodeGreeting) {
			c.reply([]byte("-LOADING Redis is loading the dataset in memory\r\n"))
			return true
		}
		if words[1] == "3" {
			c.proto = 3
		}
		c.dials.greetedAt = n.cluster.world.now
		c.judgeKeeper()
		if len(words) > 4 && words[2] == "AUTH" && words[4] == nodePassword {
			c.loggedIn = true
		}
		header := "*14\r\n"
		if c.proto == 3 {
			header = "%7\r\n"
		}
		c.reply(fmt.Appendf([]byte(header), "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:%d\r\n"+
			"$2\r\nid\r\n:7\r\n$4\r\nmode\r\n$7\r\ncluster\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n", c.proto))
		return true
	case "asking":
		c.asking = true
		c.out = append(c.out, replyOK...)
		c.flush()
		return true
	}
	return false
}

// judgeKeeper expects all shared connections of a protocol to be one worker's. Those for large
// requests are nobody's but theirs.
func (c *nodeConn) judgeKeeper() {
	n := c.node
	config := n.cluster.config
	if !config.Shared || config.Large > 0 {
		return
	}
	keeper := &n.keepers[c.proto-2]
	if *keeper != nil && *keeper != c.dials {
		n.cluster.world.fail("two workers have connections to node %d in RESP%d", n.index, c.proto)
	}
	*keeper = c.dials
}

const nodePassword = "node secret"

// route says why a request is not for this node now, as servers do: slot first, then
// which of its keys are here. (Redis cluster specification; cluster.c, getNodeByQuery)
func (c *nodeConn) route(keys []string, asking bool) (refusal string) {
	n, w := c.node, c.node.cluster.world
	slot := slotOf(keys[0])
	missing := 0
	for _, k := range keys {
		if slotOf(k) != slot {
			w.fail("node %d got a request whose keys span slots", n.index)
		}
		if !n.store.has(k) {
			missing++
		}
	}
	owner := n.cluster.nodes[n.owner[slot]]
	target := findMove(n.migrating, slot)
	switch {
	case n.downUntil > w.now:
		return "-CLUSTERDOWN The cluster is down\r\n"
	case c.selfMoved && owner == n:
		c.hasMoved = true
		return n.redirect("MOVED", slot, n)
	case owner == n && target != nil && missing > 0 && missing < len(keys):
		return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
	case owner == n && target != nil && missing > 0:
		return n.redirect("ASK", slot, target)
	case owner == n:
		return ""
	case asking && findMove(n.importing, slot) != nil:
		if len(keys) > 1 && missing > 0 {
			return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
		}
		return ""
	}
	return n.redirect("MOVED", slot, owner)
}

// redirect writes a redirect in one of the forms that servers use.
func (n *node) redirect(kind string, slot uint16, to *node) string {
	w := n.cluster.world
	if w.chance(n.cluster.faults.BadRedirect) {
		forms := [...]string{
			"-%s %d nowhere.example:7000\r\n", "-%s %d\r\n", "-%s x%d 10.0.0.1:7000\r\n", "-%s %d 10.0.0.1:0\r\n", "-%s %d 10.0.0.1\r\n",
			"-%s 9%05d 10.0.0.1:7000\r\n",
		}
		return fmt.Sprintf(forms[w.rng.IntN(len(forms))], kind, slot)
	}
	host := to.addr.Addr().String()
	switch w.rng.IntN(4) { // all nodes have the host in common
	case 0:
		host = ""
	case 1:
		host = "?"
	}
	return fmt.Sprintf("-%s %d %s:%d\r\n", kind, slot, host, to.addr.Port())
}

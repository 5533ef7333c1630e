package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Requests that concern the keys of all nodes. KEYS, FLUSHALL and SCAN carry their numbers in
// an argument; DBSIZE and RANDOMKEY cannot, so of them no more is known than between what
// bounds the reply must be.

// isWhole says that a request goes to more than one node, or to the one where a walk is, and
// so is alone in its session.
func (o op) isWhole() bool { return o >= opKeys && o <= opScan }

// isUnmarked says that nodes cannot tell whose request it is.
func (o op) isUnmarked() bool { return o == opDbsize || o == opRandomkey }

// oneWhole adds a request on the whole keyspace, or some steps of a walk.
func (s *script) oneWhole(kind op) {
	if kind == opScan {
		for range 1 + s.world.rng.IntN(6) {
			s.oneScan()
		}
		return
	}
	m := mark{s.session, len(s.requests), 0}.String()
	q := &request{op: kind, wire: wireOf(strings.ToUpper(opNames[kind]))}
	switch kind {
	case opKeys:
		pattern := "*"
		if s.world.chance(0.3) {
			pattern = keyOf(s.tag(), "*")
		}
		q.wire = wireOf("KEYS", pattern+m)
	case opFlushall:
		q.wire = wireOf("FLUSHALL", m)
	}
	s.add(q)
}

// oneScan adds the next step of the session's walk. Most clients wait for the cursor that the
// one before brings.
func (s *script) oneScan() {
	m := mark{s.session, len(s.requests), 0}.String()
	count := strconv.Itoa(5 + s.world.rng.IntN(40))
	q := &request{op: opScan, walks: &s.walk, waits: s.world.chance(0.8)}
	q.write = func(order int) []byte {
		q.walk = s.walk.step(order)
		return wireOf("SCAN", s.walk.cursor, "MATCH", "*"+m, "COUNT", count)
	}
	s.add(q)
}

// walk is a session's way through all keys: the cursor that it has got last, and what it has
// seen since it began.
type walk struct {
	number int // of the walks of the session
	cursor string
	begun  bool
	began  int             // the last execution before
	seen   map[string]bool // keys, never ranged over
	steps  int
}

// step notes that another request of the walk is sent and returns the number of the walk.
func (k *walk) step(order int) int {
	if !k.begun {
		k.begun, k.began, k.seen, k.steps = true, order, map[string]bool{}, 0
	}
	return k.number
}

// end lets the next request begin another walk.
func (k *walk) end() { *k = walk{number: k.number + 1, cursor: "0"} }

// whole serves a command on the whole keyspace, which is for whoever gets it.
func (c *nodeConn) whole(name string, words []string) bool {
	n, j := c.node, c.node.cluster.judge
	switch name {
	case "dbsize":
		j.sized++
		c.reply(number(int64(len(n.store.values))))
	case "randomkey":
		keys := n.keys("*")
		if len(keys) == 0 {
			c.reply(null(c.proto))
		} else {
			c.reply(bulk(keys[n.cluster.world.rng.IntN(len(keys))]))
		}
	case "keys":
		base, q := c.marked(words[1])
		c.done(q, words, listOf(n.keys(base)))
	case "flushall":
		_, q := c.marked(words[1])
		for _, key := range n.keys("*") {
			n.store.drop(key)
		}
		c.done(q, words, []byte(replyOK))
	case "scan":
		_, q := c.marked(words[3])
		c.done(q, words, n.scan(words))
	default:
		return false
	}
	return true
}

// marked finds the request that an argument carries the number of.
func (c *nodeConn) marked(arg string) (base string, q *request) {
	j := c.node.cluster.judge
	base, m, ok := splitMark(arg)
	if !ok || m.session >= len(j.sessions) || m.request >= len(j.sessions[m.session]) || m.item != 0 {
		j.world.fail("node %d got %s, which no client has sent", c.node.index, clip([]byte(arg)))
	}
	return base, j.sessions[m.session][m.request]
}

// done notes that a request has been executed here, and answers it.
func (c *nodeConn) done(q *request, words []string, reply []byte) {
	j := c.node.cluster.judge
	if q.proto != c.proto {
		j.world.fail("node %d got %s in RESP%d, the session speaks RESP%d", c.node.index, q, c.proto, q.proto)
	}
	sent, _, _ := parseRequest(q.wire)
	for i, word := range sent {
		if isCursor := q.op == opScan && i == 1; len(words) != len(sent) || string(word) != words[i] && !isCursor {
			j.world.fail("node %d executed %s with other arguments: %s", c.node.index, q, clip([]byte(strings.Join(words, " "))))
		}
	}
	if q.outcome == answered {
		j.world.fail("%s was executed after its reply", q)
	}
	for i := range q.executions {
		if q.op == opScan || q.executions[i].node == c.node {
			j.world.fail("node %d executed %s again", c.node.index, q)
		}
	}
	j.order++
	q.executions = append(q.executions, execution{order: j.order, reply: reply, node: c.node})
	c.reply(reply)
}

// keys lists the keys of a node that match a pattern: "*", perhaps with a tag before it.
func (n *node) keys(pattern string) (list []string) {
	for _, key := range n.cluster.keys {
		if n.store.has(key) && strings.HasPrefix(key, pattern[:len(pattern)-1]) {
			list = append(list, key)
		}
	}
	return list
}

func listOf(keys []string) []byte {
	reply := fmt.Appendf(nil, "*%d\r\n", len(keys))
	for _, key := range keys {
		reply = append(reply, bulk(key)...)
	}
	return reply
}

const (
	positionBits   = 8 // of a cursor: where to go on among all keys that there may be
	indexBits      = 2 // and whose it is, so that no two nodes give the same
	cursorBits     = 48
	bigCursorBits  = 63
	cursorMeanings = positionBits + indexBits
)

// scan answers SCAN cursor MATCH pattern COUNT n. The upper bits of its cursors mean nothing,
// but must come back.
func (n *node) scan(words []string) []byte {
	w := n.cluster.world
	cursor, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil || cursor != 0 && !n.cursors[cursor] {
		w.fail("node %d got the cursor %s, which is not its own", n.index, words[1])
	}
	count, _ := strconv.Atoi(words[5])
	at := int(cursor & (1<<positionBits - 1))
	end := min(at+count, len(n.cluster.keys))
	var found []string
	for _, key := range n.cluster.keys[at:end] {
		if n.store.has(key) {
			found = append(found, key)
		}
	}
	next := uint64(0)
	if end < len(n.cluster.keys) {
		upper := uint64(1) << (cursorBits - cursorMeanings)
		if w.chance(n.cluster.faults.BigCursor) {
			upper = 1 << (bigCursorBits - cursorMeanings)
		}
		next = w.rng.Uint64N(upper)<<cursorMeanings | uint64(n.index)<<positionBits | uint64(end)
		n.cursors[next] = true
	}
	return append(append([]byte("*2\r\n"), bulk(strconv.FormatUint(next, 10))...), listOf(found)...)
}

// wholeReply says what is wrong with the reply to a request on the whole keyspace.
func (j *judge) wholeReply(q *request, reply []byte) (wrong string) {
	switch q.op {
	case opDbsize:
		return j.sizeReply(q, reply)
	case opRandomkey:
		return j.randomReply(q, reply)
	case opScan:
		return j.scanReply(q, reply)
	}
	if len(q.executions) != primaries {
		return fmt.Sprintf("%d nodes have executed it", len(q.executions))
	}
	if q.op == opFlushall {
		if string(reply) != replyOK {
			return "the nodes answered " + replyOK
		}
		return ""
	}
	var want []string
	for _, e := range q.executions {
		for _, key := range elements(e.reply) {
			want = append(want, string(key))
		}
	}
	var got []string
	if !bytes.HasPrefix(reply, fmt.Appendf(nil, "*%d\r\n", len(want))) {
		return fmt.Sprintf("the nodes have %d keys", len(want))
	}
	for _, key := range elements(reply) {
		got = append(got, string(key))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("the nodes have the keys %q", want)
	}
	return ""
}

// since is an execution behind which q must have been executed: it was not sent before, and
// waits for the replies to what its session has sent before.
func (j *judge) since(q *request) int {
	order := q.sentAt
	for _, earlier := range j.sessions[q.session][:q.number] {
		for _, e := range earlier.executions {
			if earlier.outcome == answered {
				order = max(order, e.order)
			}
		}
	}
	return order
}

// sizeReply expects the sum of what the nodes have had since the request could be executed.
func (j *judge) sizeReply(q *request, reply []byte) (wrong string) {
	least, most := 0, 0
	for _, n := range j.cluster.nodes {
		low, high := n.store.sizeSince(j.since(q))
		least, most = least+low, most+high
	}
	size := -1
	if _, err := fmt.Sscanf(string(reply), ":%d\r\n", &size); err != nil || size < least || size > most {
		return fmt.Sprintf("the nodes had %d to %d keys", least, most)
	}
	return ""
}

// randomReply expects a key that was there, or none if there may have been none.
func (j *judge) randomReply(q *request, reply []byte) (wrong string) {
	since := j.since(q)
	if string(reply) == string(null(q.proto)) {
		for _, n := range j.cluster.nodes {
			if least, _ := n.store.sizeSince(since); least > 0 {
				return fmt.Sprintf("node %d had %d keys at least", n.index, least)
			}
		}
		return ""
	}
	for _, key := range j.cluster.keys {
		if string(reply) == string(bulk(key)) && j.cluster.wasThereSince(key, since) {
			return ""
		}
	}
	return "no node had this key"
}

// scanReply expects what the node has answered, with another cursor, and at the end of a walk
// that it has seen every key that was there all the time.
func (j *judge) scanReply(q *request, reply []byte) (wrong string) {
	if len(q.executions) != 1 {
		return fmt.Sprintf("%d nodes have executed it", len(q.executions))
	}
	got, said := elements(reply), elements(q.executions[0].reply)
	if !bytes.HasPrefix(reply, []byte("*2\r\n")) || len(got) != 2 || !bytes.Equal(got[1], said[1]) {
		return "the node answered " + clip(q.executions[0].reply)
	}
	_, text, _ := strings.Cut(string(got[0]), "\r\n")
	text = strings.TrimSuffix(text, "\r\n")
	cursor, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(cursor, 10) != text {
		return "its cursor is no number that every client can hold"
	}
	walk := q.walks
	if walk.number != q.walk {
		return "" // an earlier reply has ended the walk
	}
	for _, key := range elements(got[1]) {
		_, name, _ := strings.Cut(string(key), "\r\n")
		walk.seen[strings.TrimSuffix(name, "\r\n")] = true
	}
	walk.cursor = text
	walk.steps++
	if most := primaries * len(j.cluster.keys); q.alone && walk.steps > most {
		return fmt.Sprintf("the walk has not ended in %d steps", most)
	}
	if cursor != 0 {
		return ""
	}
	for _, key := range j.cluster.keys {
		if !walk.seen[key] && j.cluster.livedSince(key, walk.began) {
			return fmt.Sprintf("the walk has not come to %s", key)
		}
	}
	j.world.trace("walked", int64(q.session), int64(walk.steps), nil)
	walk.end()
	return ""
}

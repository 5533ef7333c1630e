package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// judge knows every request and every execution, and says whether what clients see is
// right.
type judge struct {
	world    *World
	config   *Config
	sessions [][]*request // by session and request number
	cluster  *cluster
	order    int // executions so far, and moves of keys
	lives    *lives
	replies  int             // judged
	sized    int             // DBSIZEs that nodes have executed
	seen     map[string]bool // scripts that nodes have executed, by SHA1, never ranged over
	probing  bool            // no error has an excuse any more
}

// execution is what one node did for one request, or for some items of it.
type execution struct {
	order  int
	items  []int
	reply  []byte
	asking bool
	node   *node // of requests on the whole keyspace
}

// outcome is what the client was told.
type outcome uint8

const (
	pending  outcome = iota // nothing, so far or for ever
	answered                // what the nodes answered
	unknown                 // an error that leaves open whether it was executed
	refused                 // an error that says it was not
)

// request is one request of one session.
type request struct {
	session, number int
	op              op
	before          []byte // sent before it: makes it silent
	wire            []byte // as the client sends it
	silent          bool   // must not be answered
	keys            []string
	slots           []uint16
	behind          bool                      // sent behind the session's last request: must not be answered
	local           func(reply []byte) string // for requests that no node sees: what is wrong with a reply, if anything
	waits           bool                      // it is sent when all before it are answered
	write           func(order int) []byte    // makes wire when the request is sent, if it depends on earlier replies
	sentAt          int                       // the last execution before
	walks           *walk                     // of SCAN: the session's
	walk            int                       // and its number when the request was sent
	alone           bool                      // the session has one request under way at a time
	proto           int                       // of the session when it sends the request
	tries           []int                     // by item: how often a node has seen it
	triedAt         []int64                   // by item: and when last
	asked           []*node                   // by item: where an ASK has sent it that is not followed yet
	misses          int                       // how often a node had not its script
	wasSeen         bool                      // that was known then, though
	executions      []execution
	outcome         outcome
	probe           *request // the question for its key that goes before a large request
	aimed           *node    // where the answer came from, behind an ASKING
}

func (q *request) String() string {
	return fmt.Sprintf("session %d request %d %s", q.session, q.number, clip(q.wire))
}

const (
	// maxRedirects is how many redirects the proxy is told to follow.
	maxRedirects = 7
	// firstWait is how long it waits before it follows a second one; then the wait doubles.
	firstWait = 2 * millisecond
)

// tried notes that a request has come to a node, whether or not it is for that node.
func (j *judge) tried(c *nodeConn, marks []mark, asking bool) {
	m := marks[0]
	if m.session >= len(j.sessions) || m.request >= len(j.sessions[m.session]) {
		j.world.fail("node %d got request %d of session %d, which does not exist", c.node.index, m.request, m.session)
	}
	j.triedBy(j.sessions[m.session][m.request], c, marks, asking)
}

func (j *judge) triedBy(q *request, c *nodeConn, marks []mark, asking bool) {
	if q.proto != c.proto {
		j.world.fail("node %d got %s in RESP%d, the session speaks RESP%d", c.node.index, q, c.proto, q.proto)
	}
	if q.tries == nil {
		n := max(1, len(q.keys))
		q.tries, q.triedAt, q.asked = make([]int, n), make([]int64, n), make([]*node, n)
	}
	for _, m := range marks {
		if m.item >= len(q.tries) {
			continue // executed will say what is wrong with it
		}
		switch to := q.asked[m.item]; {
		case to != nil && to != c.node:
			j.world.fail("item %d of %s came to node %d, an ASK had sent it to node %d", m.item, q, c.node.index, to.index)
		case to != nil && !asking:
			j.world.fail("item %d of %s came to node %d without ASKING", m.item, q, c.node.index)
		case to == nil && asking && q.aimed == c.node: // it was asked for the key with ASKING
		case to == nil && asking:
			j.world.fail("item %d of %s came to node %d with ASKING, which no ASK had asked for", m.item, q, c.node.index)
		}
		q.asked[m.item] = nil
		if q.tries[m.item]++; q.tries[m.item] > 1+maxRedirects {
			j.world.fail("item %d of %s came to nodes %d times", m.item, q, q.tries[m.item])
		}
		waited := j.world.now - q.triedAt[m.item]
		if k := q.tries[m.item]; k > 2 && waited < firstWait<<(k-3) {
			j.world.fail("item %d of %s came to a node for the %d. time after %d us", m.item, q, k, waited/microsecond)
		}
		q.triedAt[m.item] = j.world.now
	}
}

// asks notes that a node has answered a request with ASK.
func (j *judge) asks(marks []mark, to *node) {
	for _, m := range marks {
		j.sessions[m.session][m.request].asked[m.item] = to
	}
}

// executed notes that a node has executed a request.
func (j *judge) executed(n *node, marks []mark, keys, words []string, reply []byte, asking bool) {
	m := marks[0]
	q := j.sessions[m.session][m.request]
	j.order++
	e := execution{order: j.order, reply: reply, asking: asking}
	for i, other := range marks {
		if other.session != m.session || other.request != m.request {
			j.world.fail("node %d executed one request with keys of two: %s and %s", n.index, m, other)
		}
		if other.item >= max(1, len(q.keys)) || len(q.keys) > 0 && q.keys[other.item] != keys[i] {
			j.world.fail("node %d executed %s with the key %s for item %d", n.index, q, keys[i], other.item)
		}
		e.items = append(e.items, other.item)
	}
	if strings.ToLower(words[0]) != opNames[q.op] {
		j.world.fail("node %d executed %s as %s", n.index, q, words[0])
	}
	if want := argsOf(q, e.items); !slices.Equal(words[1:], want) {
		j.world.fail("node %d executed %s with other arguments: %s", n.index, q, clip([]byte(strings.Join(words, " "))))
	}
	q.executions = append(q.executions, e)
	if q.outcome == answered || q.outcome == refused && !opSplit[q.op] {
		j.world.fail("%s was executed after its reply", q)
	}
	for _, item := range e.items {
		if n := q.count(item); n > 1 {
			j.world.fail("item %d of %s was executed %d times", item, q, n)
		}
	}
}

// argsOf are the arguments that a node must have got with some items of a request: those
// of the client, in the client's order.
func argsOf(q *request, items []int) (args []string) {
	sent, _, _ := parseRequest(q.wire)
	if sent == nil { // inline
		line, _, _ := bytes.Cut(q.wire, []byte("\r\n"))
		sent = bytes.Fields(line)
	}
	step := max(1, shapes[opNames[q.op]].step)
	for _, item := range items {
		for k := range step {
			args = append(args, string(sent[1+item*step+k]))
		}
	}
	if shapes[opNames[q.op]].step == 0 && len(sent) > 2 { // SET, APPEND
		for _, arg := range sent[2:] {
			args = append(args, string(arg))
		}
	}
	return args
}

// count is how often an item was executed.
func (q *request) count(item int) (n int) {
	for i := range q.executions {
		if slices.Contains(q.executions[i].items, item) {
			n++
		}
	}
	return n
}

// reply judges the reply to a request.
func (j *judge) reply(q *request, reply []byte) {
	j.replies++
	wrong := ""
	switch {
	case q.outcome != pending:
		wrong = "a second reply"
	case q.behind:
		wrong = "a reply behind the end of the session"
	case bytes.HasPrefix(reply, []byte("-MOVED")) || bytes.HasPrefix(reply, []byte("-ASK")):
		wrong = "a redirect"
	case q.local != nil:
		q.outcome = answered
		wrong = q.local(reply)
	case reply[0] == '-':
		wrong = j.errorReply(q, reply)
	default:
		q.outcome = answered
		wrong = j.matches(q, reply)
	}
	if q.walks != nil && reply[0] == '-' {
		j.world.trace("walk-given-up", int64(q.session), int64(q.walks.steps), nil)
		q.walks.end()
	}
	if wrong != "" {
		j.world.fail("%s was answered %s: %s", q, clip(reply), wrong)
	}
}

// silent judges a request that gets no reply, when one behind it has been answered. So it has come to its
// end: it has been executed, unless something in this run explains that it was not.
func (j *judge) silent(q *request) {
	if q.local != nil {
		q.outcome = answered
		return
	}
	q.outcome = unknown
	switch {
	case q.isDone():
		q.outcome = answered
	case !slices.ContainsFunc(excuses, func(x excuse) bool { return x.excused(j.config) }):
		j.world.fail("%s was not executed", q)
	}
}

// excuse is an error that a client may see when the faults of the seed explain it.
type excuse struct {
	prefix, part string
	outcome      outcome
	excused      func(c *Config) bool
	insisted     bool                  // and only if it has been tried as often as it may, or the session has other requests under way
	large        bool                  // and only if the request is too long to be kept
	only         func(q *request) bool // and only for these, if it is not nil
}

var excuses = []excuse{
	{prefix: "-ERR connection to node ", part: "outcome of the command is unknown", outcome: unknown, excused: (*Config).losesConnections},
	{prefix: "-TRYAGAIN node ", part: "the request was not sent", outcome: refused, excused: (*Config).losesConnections},
	{prefix: "-ERR node ", part: "this part of the request was not sent", outcome: unknown, excused: (*Config).losesConnections},
	{prefix: "-TRYAGAIN slot ", outcome: refused, excused: func(c *Config) bool { return c.F.BadRedirect > 0 }},
	{prefix: "-TRYAGAIN slot ", outcome: refused, excused: func(c *Config) bool { return c.F.SelfMoved+c.F.Migrate > 0 }, insisted: true},
	{prefix: "-TRYAGAIN slot ", outcome: refused, excused: (*Config).redirects, large: true},
	{prefix: "-ERR too many connections of their own", outcome: refused, excused: func(c *Config) bool { return c.Private < max(c.Sessions, c.probes()) }, large: true},
	{prefix: "-TRYAGAIN Multiple keys request", outcome: refused, excused: func(c *Config) bool { return c.F.Migrate > 0 }},
	{prefix: "-CLUSTERDOWN Hash slot not served", outcome: refused, excused: func(c *Config) bool { return c.F.LateMap > 0 }},
	{prefix: "-CLUSTERDOWN The cluster is down", outcome: refused, excused: func(c *Config) bool { return c.F.NodeDown > 0 }},
	{prefix: "-ERR out of memory for the request", outcome: refused, excused: func(c *Config) bool { return c.Scarce > 0 }},
	{prefix: noScript, outcome: refused, excused: func(*Config) bool { return true }, only: (*request).mayMiss},
	{prefix: "-ERR the script was answered by what reads like a redirect", outcome: refused, excused: (*Config).redirects, only: (*request).runsScript},
	{prefix: "-ERR invalid cursor: the cluster has other primaries", outcome: refused, excused: func(c *Config) bool { return c.F.Failover > 0 }},
	{prefix: "-ERR a node has returned a cursor", outcome: unknown, excused: func(c *Config) bool { return c.F.BigCursor > 0 }},
	{prefix: "-ERR node ", part: "malformed redirect", outcome: refused, excused: func(c *Config) bool { return c.F.BadRedirect > 0 }},
}

// errorReply judges an error: it is what a node has answered, or one with an excuse.
func (j *judge) errorReply(q *request, reply []byte) (wrong string) {
	known := false
	for _, x := range excuses {
		if !bytes.HasPrefix(reply, []byte(x.prefix)) || !bytes.Contains(reply, []byte(x.part)) {
			continue
		}
		known = true
		if j.probing && j.config.Scarce == 0 && !x.large || !x.excused(j.config) {
			continue
		}
		if x.insisted && (q.op.isWhole() || q.alone && slices.Max(q.tries) <= maxRedirects) {
			continue
		}
		if x.only != nil && !x.only(q) {
			continue
		}
		if x.large && (j.config.Large == 0 || len(q.wire) <= j.config.Large) {
			continue
		}
		q.outcome = x.outcome
		if x.outcome == refused && len(q.executions) > 0 && len(q.executions) >= q.parts() {
			return "it was executed"
		}
		return ""
	}
	if known {
		return "an error that nothing in this run explains"
	}
	q.outcome = answered
	return j.matches(q, reply)
}

// isDone says that all of a request has been executed, as far as nodes can tell.
func (q *request) isDone() bool {
	switch {
	case q.op.isUnmarked():
		return true
	case q.op == opScan:
		return len(q.executions) == 1
	case q.op.isWhole():
		return len(q.executions) == primaries
	}
	for item := range max(1, len(q.keys)) {
		if q.count(item) != 1 {
			return false
		}
	}
	return true
}

// matches says what is wrong with a reply, if anything.
func (j *judge) matches(q *request, reply []byte) string {
	if q.op.isWhole() {
		return j.wholeReply(q, reply)
	}
	return q.matches(reply)
}

// parts is how many executions a request takes in all.
func (q *request) parts() int {
	switch {
	case q.op == opKeys, q.op == opFlushall:
		return primaries + 1 // a node that has been replaced is asked too, as long as it is in the route
	case !opSplit[q.op]:
		return 1
	}
	distinct := slices.Clone(q.slots)
	slices.Sort(distinct)
	return len(slices.Compact(distinct))
}

// matches says what is wrong with a reply in the light of the executions.
func (q *request) matches(reply []byte) string {
	for item := range max(1, len(q.keys)) {
		if q.count(item) != 1 {
			return fmt.Sprintf("item %d was executed %d times", item, q.count(item))
		}
	}
	want := q.executions[0].reply
	if len(q.executions) > 1 {
		if !opSplit[q.op] {
			return "it was executed in parts"
		}
		want = q.merged()
	}
	if !bytes.Equal(reply, want) {
		return "the nodes answered " + clip(want)
	}
	return ""
}

// merged is the reply that the parts of a split request make.
func (q *request) merged() []byte {
	switch q.op {
	case opMget:
		reply := fmt.Appendf(nil, "*%d\r\n", len(q.keys))
		for item := range q.keys {
			for _, e := range q.executions {
				if at := slices.Index(e.items, item); at >= 0 {
					reply = append(reply, elements(e.reply)[at]...)
				}
			}
		}
		return reply
	case opMset:
		return []byte(replyOK)
	}
	sum := int64(0)
	for _, e := range q.executions {
		var v int64
		fmt.Sscanf(string(e.reply), ":%d", &v)
		sum += v
	}
	return number(sum)
}

// latest is the execution that came last, of those seen so far.
type latest struct {
	order int
	by    *request
}

// finish judges what can be judged when everything is over: the order in which the
// requests of each session took effect. In one slot none may do so before an earlier
// one; while a slot is being moved its keys are at two nodes, and what follows an ASK
// keeps its place among the requests for the same key only. What concerns the whole keyspace
// keeps its place among all requests.
func (j *judge) finish() {
	for _, requests := range j.sessions {
		bySlot := map[uint16]latest{}
		byKey := map[string]latest{}
		var any, whole latest
		for _, q := range requests {
			for _, e := range q.executions {
				j.after(q, e, whole)
				if q.op.isWhole() {
					j.after(q, e, any)
				}
				for _, item := range e.items {
					if len(q.keys) > 0 {
						j.after(q, e, bySlot[q.slots[item]])
						j.after(q, e, byKey[q.keys[item]])
					}
				}
			}
			if q.outcome != answered {
				continue // some of it may take effect whenever the network likes
			}
			for _, e := range q.executions {
				if any.order < e.order {
					any = latest{e.order, q}
				}
				if q.op.isWhole() && whole.order < e.order {
					whole = latest{e.order, q}
				}
				for _, item := range e.items {
					if len(q.keys) == 0 {
						continue
					}
					if key := q.keys[item]; byKey[key].order < e.order {
						byKey[key] = latest{e.order, q}
					}
					if slot := q.slots[item]; !e.asking && bySlot[slot].order < e.order {
						bySlot[slot] = latest{e.order, q}
					}
				}
			}
		}
	}
	if asked := j.asked(opDbsize, opRandomkey); j.sized > primaries*asked {
		j.world.fail("nodes were asked for their sizes %d times, by %d requests", j.sized, asked)
	}
}

// asked counts the requests of some kinds.
func (j *judge) asked(kinds ...op) (n int) {
	for _, requests := range j.sessions {
		for _, q := range requests {
			if slices.Contains(kinds, q.op) {
				n++
			}
		}
	}
	return n
}

func (j *judge) after(q *request, e execution, last latest) {
	if last.by != nil && last.by != q && e.order < last.order {
		j.world.fail("%s took effect after %s (executions %d and %d)", last.by, q, last.order, e.order)
	}
}

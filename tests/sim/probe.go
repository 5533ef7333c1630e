package sim

import "strings"

// probed serves a question for a key, an EXISTS of the proxy's own, with which it finds out
// where a large request goes. It is redirected as the request would be.
func (c *nodeConn) probed(m mark, keys []string, asking bool) bool {
	j := c.node.cluster.judge
	if m.session >= len(j.sessions) || m.request >= len(j.sessions[m.session]) {
		return false
	}
	q := j.sessions[m.session][m.request]
	if q.op == opExists {
		return false
	}
	if q.runsScript() {
		c.doubted(q, keys, asking)
		return true
	}
	if j.config.Large == 0 || len(q.wire) <= j.config.Large {
		j.world.fail("node %d was asked for the key of %s, which is not large", c.node.index, q)
	}
	if q.probe == nil {
		q.probe = &request{session: q.session, number: q.number, op: opExists, wire: q.wire, keys: q.keys[:1], proto: q.proto}
	}
	j.triedBy(q.probe, c, []mark{m}, asking)
	refusal := c.route(keys, asking)
	switch {
	case strings.HasPrefix(refusal, "-ASK "):
		q.probe.asked[0] = findMove(c.node.migrating, slotOf(keys[0]))
	case strings.HasPrefix(refusal, "-MOVED "):
	default: // an answer, if only that the node is down
		q.probe, q.aimed = nil, nil
		if asking {
			q.aimed = c.node
		}
		if refusal == "" {
			refusal = ":1\r\n"
		}
	}
	c.reply([]byte(refusal))
	return true
}

// doubted serves the question whether a redirect that answered a script was the node's. What
// it says now is what counts.
func (c *nodeConn) doubted(q *request, keys []string, asking bool) {
	refusal := c.route(keys, asking)
	var to *node
	if strings.HasPrefix(refusal, "-ASK ") {
		to = findMove(c.node.migrating, slotOf(keys[0]))
	}
	for i := range q.asked {
		q.asked[i] = to
	}
	if refusal == "" {
		refusal = ":1\r\n"
	}
	c.reply([]byte(refusal))
}

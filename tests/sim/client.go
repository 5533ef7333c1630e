package sim

import (
	"bytes"
	"fmt"

	"mithril/src/worker"
)

// ending is how a session leaves.
type ending uint8

const (
	endClose     ending = iota // closes when every reply is in
	endHalf                    // ends its sending side, reads to the end
	endCut                     // the same, in the middle of a request
	endQuit                    // sends QUIT, and something behind it
	endMalformed               // sends what is no request
	endHTTP                    // sends what a browser would
	endStay                    // does nothing more, until the proxy closes
	endAbort                   // breaks the connection at any time
)

// client plays the requests of one session.
type client struct {
	world  *World
	config *Config
	faults *Faults
	judge  *judge
	number int
	server *socket // where to connect

	end      *end
	requests []*request
	ending   ending
	bytewise bool
	deaf     bool // reads nothing while the faults last
	stubborn bool // nor after that, until it breaks its connection
	depth    int

	sent    int // requests handed to out
	got     int // replies judged, or known not to come
	due     int // replies awaited
	out, in []byte
	rushing bool // nothing is delayed any more
	acting  bool
	done    bool
	clearAt int64 // since when out is empty
	doneAt  int64
}

// malformed are last words and what a server says to them.
var malformed = []struct{ wire, reply string }{
	{"*1\r\n:4\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"},
	{"*2\r\n$3\r\nGET\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
	{"*99999999999\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
	{"GET \"abc\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
	{"*1\r\n$4\r\nPINGxx", "-ERR Protocol error: invalid CRLF in request\r\n"},
}

// farewell adds what an ending needs to the script.
func (c *client) farewell(s *script) {
	w := c.world
	last := func(wire, want string) {
		s.exact([]byte(wire), want)
	}
	switch c.ending {
	case endQuit:
		last(string(wireOf("QUIT")), replyOK)
		last(string(wireOf("PING")), "")
		s.requests[len(s.requests)-1].behind = true
	case endMalformed:
		m := malformed[w.rng.IntN(len(malformed))]
		last(m.wire, m.reply)
	case endHTTP:
		last("POST / HTTP/1.1\r\nHost: proxy\r\n\r\n", "")
		s.requests[len(s.requests)-1].behind = true
	}
	c.requests = s.requests
}

// connect enters the listener's backlog.
func (c *client) connect() {
	if !c.server.isOpen() {
		c.done = true // nobody listens any more
		return
	}
	near, far := newWire(c.world, c.config.Latency, c.config.Room)
	c.end = near
	near.watch(c.readable, c.act)
	c.server.backlog = append(c.server.backlog, &inbound{end: far, addr: clientAddr(c.number)})
	c.server.mark()
	if c.ending == endAbort && !c.stubborn {
		c.world.after(c.world.between(0, 300*millisecond), c.abort)
	}
	c.act()
}

func (c *client) abort() {
	if c.done {
		return
	}
	c.world.trace("abort", int64(c.number), int64(c.got), nil)
	c.leave()
	if c.world.chance(0.5) {
		c.end.reset()
	} else {
		c.end.close()
	}
}

// leave makes the client deaf to its connection.
func (c *client) leave() {
	c.done, c.doneAt = true, c.world.now
	c.end.watch(func() {}, func() {})
}

// act lets the client write, some time later.
func (c *client) act() {
	if c.acting || c.done {
		return
	}
	c.acting = true
	pause := int64(0)
	if !c.rushing {
		pause = c.world.between(0, 200*microsecond)
		switch {
		case c.got == c.sent:
			pause = c.world.between(0, c.config.Pace)
		case c.config.Trickle > 0:
			pause = c.world.between(0, c.config.Trickle)
		}
	}
	c.world.after(pause, func() {
		c.acting = false
		if !c.done {
			c.write()
		}
	})
}

// write sends what may be outstanding, in pieces that have nothing to do with requests.
func (c *client) write() {
	for c.sent < len(c.requests) && c.due < c.depth {
		q := c.requests[c.sent]
		if q.waits && c.due > 0 {
			break
		}
		q.sentAt = c.judge.order
		if q.write != nil {
			q.wire = q.write(c.judge.order)
		}
		c.out = append(append(c.out, q.before...), q.wire...)
		c.sent++
		if !q.silent {
			c.due++
		}
		if c.config.Trickle > 0 && !c.rushing && c.world.chance(0.5) {
			break
		}
	}
	most := len(c.out)
	switch {
	case c.rushing || most == 0:
	case c.bytewise && most > 0:
		most = 1 + c.world.rng.IntN(min(most, 3))
	case c.world.chance(0.2):
		most = 1 + c.world.rng.IntN(most)
	}
	n := c.end.out.write(c.out[:most])
	c.out = c.out[n:]
	if n > 0 && len(c.out) == 0 {
		c.clearAt = c.world.now
	}
	if c.end.out.broken {
		return
	}
	switch {
	case len(c.out) > 0:
		if n > 0 {
			c.act()
		}
	case c.sent == len(c.requests):
		c.allSent()
	case c.due < c.depth && !(c.requests[c.sent].waits && c.due > 0):
		c.act()
	}
}

func (c *client) allSent() {
	switch c.ending {
	case endCut:
		c.end.out.write([]byte("*2\r\n$3\r\nGE"))
		c.end.out.finish()
	case endHalf:
		c.end.out.finish()
	}
}

// readable takes replies.
func (c *client) readable() {
	if c.done || c.deaf && (!c.rushing || c.stubborn) {
		return
	}
	for len(c.end.in.arrived) > 0 {
		c.in = append(c.in, c.end.in.read(1<<20)...)
	}
	for {
		n, problem := parseReply(c.in)
		if problem != "" {
			c.world.fail("session %d received what is no reply: %s", c.number, problem)
		}
		if n == 0 {
			break
		}
		c.reply(c.in[:n])
		if c.done {
			return
		}
		c.in = c.in[n:]
	}
	if c.end.in.over() {
		c.closed()
	}
	c.act()
}

func (c *client) reply(reply []byte) {
	c.world.trace("reply", int64(c.number), int64(c.got), reply)
	if c.config.MaxClients > 0 && c.got == 0 && string(reply) == "-ERR max number of clients reached\r\n" {
		c.leave()
		c.end.close()
		return
	}
	for c.got < c.sent && c.requests[c.got].silent {
		c.judge.silent(c.requests[c.got])
		c.got++
	}
	if c.got == c.sent {
		c.world.fail("session %d got a reply that it has not asked for: %s", c.number, clip(reply))
	}
	c.judge.reply(c.requests[c.got], reply)
	c.got++
	c.due--
	if c.got == len(c.requests) && c.ending == endClose {
		c.leave()
		c.end.close()
	}
}

// idleGrace is longer than a request and the end of a connection are on their way.
const idleGrace = 100 * millisecond

// expectsParts says that a reply is due that is passed on in parts.
func (c *client) expectsParts() bool {
	for _, q := range c.requests[c.got:c.sent] {
		for i := range q.executions {
			if len(q.executions[i].reply) > worker.LargeSizes.PartsFrom {
				return true
			}
		}
	}
	return false
}

// isOpen says that a request is for a node and has not been executed.
func (q *request) isOpen() bool {
	return q.local == nil && len(q.executions) == 0 && !q.op.isUnmarked()
}

// closed judges the end of the connection by the proxy.
func (c *client) closed() {
	c.leave()
	c.end.close()
	want := len(c.requests)
	for want > 0 && c.requests[want-1].behind {
		want--
	}
	waits := c.got < min(c.sent, want) && len(c.out) == 0 && c.world.now-c.clearAt > idleGrace && c.requests[c.got].isOpen()
	switch {
	case c.ending == endHTTP:
		return // the proxy says nothing more, to earlier requests neither
	case waits && c.config.closesIdleOnly():
		c.world.fail("session %d was closed while it waits for the reply to %s", c.number, c.requests[c.got])
	case c.config.closesSessions():
		return
	case c.config.Stop > 0 && c.got == 0:
		return // it was never accepted
	case c.config.losesConnections() && c.expectsParts():
		return // a large reply has broken off
	case c.got < want:
		c.world.fail("session %d was closed by the proxy with %d of %d replies", c.number, c.got, want)
	case len(c.in) > 0:
		c.world.fail("session %d ends within a reply: %s", c.number, clip(c.in))
	case c.ending == endClose || c.ending == endAbort:
		c.world.fail("session %d was closed by the proxy", c.number)
	}
}

// rush makes the client go on as fast as it can, for the end of the run.
func (c *client) rush() {
	c.rushing = true
	if !c.done && (c.ending == endAbort && !c.stubborn || c.ending == endStay && !c.config.endsStaying()) {
		c.abort()
	}
	if c.end != nil && !c.done {
		c.readable()
	}
}

// String says how far the client has come.
func (c *client) String() string {
	var next []byte
	if c.got < len(c.requests) {
		next = bytes.Clone(c.requests[c.got].wire)
	}
	return fmt.Sprintf("session %d: %d of %d requests sent, %d answered, waits for the reply to %s", c.number, c.sent, len(c.requests), c.got,
		clip(next))
}

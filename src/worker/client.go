package worker

import (
	"net/netip"

	"mithril/src/buf"
	"mithril/src/fanout"
	"mithril/src/ring"
	"mithril/src/session"
)

// readAheadBytes is how much a held session may receive before its reading stops.
const readAheadBytes = buf.ReceiveChunkBytes

// client is a session with its socket.
type client struct {
	session.Session
	end        end
	dirty      bool // listed in dirtyClients
	ready      bool // listed in ready
	turnedAway bool
	lane       uint16
	waitsOn    ring.Token     // the pipe a HoldPipe waits for
	era        uint32         // of order, in which its oldest open request may have been sent
	heard      int64          // when bytes last arrived, ns
	answered   uint32         // requests, at the last sweep, modulo 2^32
	answers    uint64         // requests, until then
	local      netip.AddrPort // where it has reached the proxy; not valid before somebody has asked
	received   uint64         // bytes
	delivered  uint64         // bytes
	waits      int64          // since when it waits for a node, ns; see sweepLeft
	moved      int64          // when bytes were last sent, ns
	lookedAt   int64          // when it was last asked whether its peer has left, ns; see sweepLost

	leases   []ring.Token // pipes that only this client uses
	upload   ring.Token   // the pipe that takes the parts of a large request, 0 without
	resentOn ring.Token   // the pipe that a redirected request has taken last
	aim      aim          // where a large request goes
	download ring.Token   // the pipe whose large reply is passed on, 0 without
}

const (
	errMaxClients = "-ERR max number of clients reached\r\n"
	errProtected  = "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the " +
		"default user. In this mode connections are only accepted from the loopback interface. If you want to connect from " +
		"external computers to Redis you may adopt one of the following solutions: 1) Just disable protected mode sending the " +
		"command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same host the server " +
		"is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG REWRITE to make " +
		"this change permanent. 2) Alternatively you can just disable the protected mode by editing the Redis configuration file, " +
		"and setting the protected mode option to 'no', and then restarting the server. 3) If you started the server manually " +
		"just for testing, restart it with the '--protected-mode no' option. 4) Set up an authentication password for the default " +
		"user. NOTE: You only need to do one of the above things in order for the server to start accepting connections from the " +
		"outside.\r\n"
)

// touch lists a client for the flush at the end of the turn.
func (w *Worker) touch(c *client) {
	if !c.dirty {
		c.dirty = true
		w.dirtyClients = append(w.dirtyClients, c.Token)
	}
}

func (w *Worker) clientEvent(c *client, ev *ring.Event) {
	switch ev.Kind {
	case ring.Received:
		w.counters.NetInput += uint64(ev.Data.Len)
		if c.end.state != endOpen {
			w.Arena.Release(ev.Data.Block)
			return
		}
		if c.heard < w.finder.last {
			w.finder.clients++
		}
		c.heard = w.now
		c.received += uint64(ev.Data.Len)
		w.due.heard(&c.end)
		c.Put(&w.env, ev.Data)
		w.feed(c)
		return
	case ring.RecvEnded:
		w.clientRecvEnded(c, ev.Err)
	case ring.Sent:
		w.clientSent(c, ev)
	}
	if w.joined(&c.end, false) {
		w.freeClient(c)
	}
}

func (w *Worker) clientRecvEnded(c *client, err ring.Err) {
	c.end.recv = recvOff
	if c.end.state != endOpen {
		return
	}
	switch err {
	case ring.ErrNone:
		c.end.recv = recvOver
		w.counters.ReadersExited++
		c.End()
		w.feed(c)
	case ring.ErrCanceled:
		if c.Holding() == session.HoldNone {
			w.receive(&c.end)
		}
	case ring.ErrNoBuffers:
		w.starved = append(w.starved, c.Token)
	case ring.ErrResources:
		c.end.recv = recvOver
		w.counters.ReadersExited++
		c.Kill(err.String())
	default:
		c.end.recv = recvOver
		w.counters.ReadersExited++
		c.Kill("")
		w.touch(c)
	}
}

func (w *Worker) clientSent(c *client, ev *ring.Event) {
	if ev.Err != ring.ErrNone {
		c.end.out.Drop(w.Arena)
		if c.end.state == endOpen {
			c.Kill("")
			w.touch(c)
		}
		return
	}
	w.counters.NetOutput += uint64(ev.N)
	c.moved = w.now
	c.delivered += uint64(ev.N)
	c.end.out.Sent(w.Arena, int(ev.N))
	c.Sent(&w.env, int(ev.N))
	if c.download != 0 {
		w.moveOn(c)
	}
	if c.end.state != endOpen {
		c.end.out.Drop(w.Arena)
		return
	}
	if c.end.out.Bytes() > 0 {
		w.submitSend(&c.end)
		return
	}
	if c.Out().Bytes() > 0 || c.Done() {
		w.touch(c)
	}
	w.goOn(c)
}

// goOn lists a session for reading when what held it has passed.
func (w *Worker) goOn(c *client) {
	if c.Holding() != session.HoldNone && !c.ready && c.Release(&w.env) {
		c.ready = true
		w.ready = append(w.ready, c.Token)
	}
}

// feed serves the requests a session has received. When one of them has to be held back,
// the next Next offers nothing and puts aside what is left, so that no receive chunk
// waits with it.
func (w *Worker) feed(c *client) {
serving:
	for {
		intent := c.Next(&w.env)
		switch intent.Kind {
		case session.Nothing:
			break serving
		case session.Forward:
			w.forward(c, intent)
		case session.ForwardAny:
			intent.Slot = w.anySlot()
			w.forward(c, intent)
		case session.Split:
			w.split(c, intent)
		case session.Broadcast:
			w.broadcast(c, intent)
		case session.Sample:
			w.sample(c, intent)
		case session.Cursor:
			w.step(c, intent)
		case session.Local:
			w.answerLocal(c, intent)
		case session.Begin:
			w.beginUpload(c, intent)
		case session.BeginAny:
			intent.Slot = w.anySlot()
			w.beginUpload(c, intent)
		case session.Part:
			w.passOn(c, intent)
		}
	}
	if c.upload != 0 && !c.Passing() {
		w.abortUpload(c)
	}
	if c.Holding() == session.HoldNone {
		w.receive(&c.end)
	} else if c.Unread() > readAheadBytes {
		w.pause(&c.end)
	}
	w.touch(c)
}

// closeLogsMax is how many lines about closed clients the log gets in a second: clients
// must not be able to fill a disk.
const closeLogsMax = 20

// mayLogClose counts a client that is closed for a reason and says whether there is room
// for it in the log.
func (w *Worker) mayLogClose() bool {
	w.closeLogs++
	return w.closeLogs <= closeLogsMax
}

// logMoreCloses sums up the clients that there was no room for in the last second.
func (w *Worker) logMoreCloses() {
	if more := w.closeLogs - closeLogsMax; more > 0 {
		w.Log.Warn("more clients closed", "worker", w.Number, "clients", more)
	}
	w.closeLogs = 0
}

// closeClient ends a client whose session is done.
func (w *Worker) closeClient(c *client) {
	if why := c.Why(); why != "" && w.mayLogClose() {
		w.Log.Warn("client closed", "worker", w.Number, "client", c.Token.String(), "id", c.ID, "addr", c.Peer.String(), "reason", why)
	}
	if c.end.recv != recvOver {
		w.counters.ReadersExited++
	}
	w.counters.WritersExited++
	w.abortUpload(c)
	w.endDownload(c)
	w.endLeases(c)
	w.shut(&c.end)
	if w.joined(&c.end, false) {
		w.freeClient(c)
	}
}

func (w *Worker) freeClient(c *client) {
	token := c.Token
	if c.Parts() > 0 {
		w.joins.each(func(j *fanout.Join) {
			if j.Owner == token {
				j.Forget(w.Arena)
			}
		})
	}
	c.end.out.Drop(w.Arena)
	c.Free(&w.env)
	w.clients.put(token)
	w.counters.Closed++
	w.leave(c)
}

package worker

import (
	"mithril/src/invariant"
	"mithril/src/pipe"
	"mithril/src/ring"
	"mithril/src/session"
)

// A large request that is passed on cannot be sent again when its node answers with a
// redirect. So before it goes out its slot's owner is asked for the key: the question
// meets the same redirects, is small, and follows them.
//
//	None   nothing is asked
//	Asked  the session is held until the answer
//	Known  the request goes where the answer came from
//
//	None ---> Asked ---> Known ---> None
//	            ^          |
//	            +----------+  another request came in between, and asks for itself
type aimState uint8

const (
	aimNone aimState = iota
	aimAsked
	aimKnown
	aimStates
)

var aimAllowed = [aimStates]uint8{
	aimNone:  1 << aimAsked,
	aimAsked: 1 << aimKnown,
	aimKnown: 1<<aimNone | 1<<aimAsked,
}

// aim is where a large request of a client goes.
type aim struct {
	state aimState
	ask   bool   // the node takes it behind an ASKING only
	node  uint16 // noNode: the question had no answer, so where the route leads
	seq   uint32 // the number it will have: another request makes its own
}

func (a *aim) become(next aimState) {
	invariant.Assert(aimAllowed[a.state]&(1<<next) != 0, "worker: step of a question for a key that the table does not have")
	a.state = next
}

// kindProbe is the token kind of the questions; index and generation are the client's.
const kindProbe = kindJoin + 1

// aimed says that the large request on offer may go out. If not, the session is held and
// its key is asked for.
func (w *Worker) aimed(c *client, in session.Intent) bool {
	if c.aim.state == aimKnown && c.aim.seq == c.NextSeq() {
		return true
	}
	b, _ := w.pipeOf(c, in.Slot)
	if b == nil {
		return true // and is told so
	}
	if b.Full() {
		w.holdFor(c, b)
		return false
	}
	frame, ok := w.question(w.env.Args[in.Command.KeyIndex].Of(w.Arena.Bytes(in.Frame)))
	if !ok {
		return true
	}
	c.aim.become(aimAsked)
	c.aim.seq = c.NextSeq()
	c.HoldForPipe()
	c.waitsOn = 0
	owner := ring.MakeToken(kindProbe, c.Token.Generation(), c.Token.Index())
	r := pipe.Request{Owner: owner, Slot: in.Slot, Frame: frame}
	w.push(b, &r, pipe.Prefix{})
	return false
}

// aim takes the answer to a question: it came from a node, which is noNode if there is
// none.
func (w *Worker) aim(probe ring.Token, node uint16, ask bool) {
	c := w.clients.get(probe)
	if c == nil {
		return
	}
	c.aim.become(aimKnown)
	c.aim.node, c.aim.ask = node, ask
	c.PipeHasRoom()
	if !c.ready {
		c.ready = true
		w.ready = append(w.ready, c.Token)
	}
}

// takeAim returns where a large request goes, and whether behind an ASKING.
func (w *Worker) takeAim(c *client, slot uint16) (node uint16, ask bool) {
	if a := &c.aim; a.state == aimKnown {
		a.become(aimNone)
		if a.seq == c.NextSeq() && a.node != noNode && w.nodes[a.node].used {
			return a.node, a.ask
		}
	}
	return w.route[slot], false
}

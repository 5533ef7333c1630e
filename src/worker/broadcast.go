package worker

import (
	"slices"

	"mithril/src/command"
	"mithril/src/pipe"
	"mithril/src/session"
)

// owner is a node that owns slots, and one of them.
type owner struct {
	node *node
	slot uint16
}

// owners lists the nodes that own slots. It asks the route, not the map: after a redirect a
// new owner is known before the map names it.
func (w *Worker) owners() []owner {
	w.round++
	list, last, promoted := w.targets[:0], noNode, false
	for s, index := range w.route {
		if index == last || index == noNode {
			continue
		}
		last = index
		if n := w.nodes[index]; n.round != w.round {
			n.round = w.round
			list = append(list, owner{n, uint16(s)})
			promoted = promoted || n.role == roleReplica
		}
	}
	if promoted {
		list = slices.DeleteFunc(list, w.isReplaced)
	}
	w.targets = list
	return list
}

// isReplaced says of an owner that a replica has taken the place of: as redirects tell, but
// for slots that nobody has asked for since then. Both would tell of the same keys.
func (w *Worker) isReplaced(o owner) bool {
	for _, n := range w.nodes {
		if o.node.role == rolePrimary && n.role == roleReplica && n.shard == o.node.shard && n.round == w.round {
			o.node.round = 0
			return true
		}
	}
	return false
}

// audience lists whom a command is broadcast to, those whose replies count first: the owners
// of slots, and the other nodes of the map where the command wants all.
func (w *Worker) audience(cmd *command.Command) (list []owner, count int) {
	list = w.owners()
	count = len(list)
	if cmd.Request == command.RequestAllNodes {
		for _, n := range w.nodes {
			if n.role != roleNone && !n.down && n.round != w.round {
				list = append(list, owner{node: n})
			}
		}
		w.targets = list
	}
	return list, count
}

// broadcast sends a request to all nodes that own slots and joins their replies, or holds
// the session when that has to wait. Replicas are told too where the command wants it; what
// they say does not count.
func (w *Worker) broadcast(c *client, in session.Intent) {
	targets, count := w.audience(in.Command)
	if in.Command.Script == command.ScriptKill || in.Command.RawErrors {
		w.bypass(c, targets)
	}
	if !w.haveRoom(c, in, targets, count) {
		return
	}
	w.noteScript(in)
	frame := w.frameOf(in.Frame)
	seq := c.Accept(&w.env, in.Command)
	c.HoldAlone()
	j, token := w.joins.take()
	j.BeginBroadcast(len(targets), count, in.Command.Response, c.Token, seq)
	j.Reads = in.Command.Reads()
	for k, to := range targets {
		r := pipe.Request{Owner: token, Seq: uint32(k), Slot: to.slot, Traits: traitsOf(in.Command) & pipe.RawErrors, Frame: w.frameOf(frame)}
		b, reason := w.pipeForAll(c, in.Command, to.node)
		if b != nil {
			w.push(b, &r, pipe.Prefix{})
		} else {
			w.answerLost(to.node, r, false, reason)
		}
	}
	w.Arena.Release(frame.Block)
}

// pipeForAll returns the pipe to one of the nodes that a command is broadcast to, or why there
// is none.
func (w *Worker) pipeForAll(c *client, cmd *command.Command, n *node) (b *backend, reason string) {
	if !cmd.RawErrors {
		return w.pipeTo(c, n), n.reason
	}
	if b = w.leaseOf(c, n); b == nil && n.private >= w.PrivateMax {
		return nil, "too many connections of their own to it, see private-conns-per-node"
	}
	return b, n.reason
}

// haveRoom says that a request can be sent to all targets now. If not, it is answered, or
// its session waits for a pipe.
func (w *Worker) haveRoom(c *client, in session.Intent, targets []owner, count int) bool {
	if count == 0 {
		w.refuse(c, in.Command, nil)
		return false
	}
	for k, to := range targets {
		b := w.pipeTo(c, to.node)
		if b == nil && k >= count {
			continue // whether a replica can be reached does not count
		}
		if !w.canTake(c, in.Command, b, to.node) {
			return false
		}
	}
	return true
}

// The two questions of a sample.
const (
	askSize = "*1\r\n$6\r\nDBSIZE\r\n"
	askKey  = "*1\r\n$9\r\nRANDOMKEY\r\n"
)

// sample answers RANDOMKEY: every owner is asked for its number of keys and one of them.
func (w *Worker) sample(c *client, in session.Intent) {
	targets := w.owners()
	if !w.haveRoom(c, in, targets, len(targets)) {
		return
	}
	seq := c.Accept(&w.env, in.Command)
	c.HoldAlone()
	j, token := w.joins.take()
	j.BeginSample(len(targets), w.Rand.Uint64(), c.Token, seq)
	j.Reads = in.Command.Reads()
	for i, question := range [...]string{askSize, askKey} {
		for k, to := range targets {
			r := pipe.Request{Owner: token, Seq: uint32(i*len(targets) + k), Slot: to.slot}
			if at, ok := w.reserve(w.pipeTo(c, to.node), r, len(question)); ok {
				copy(w.Arena.Bytes(at), question)
			}
		}
	}
}

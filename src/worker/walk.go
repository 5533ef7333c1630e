package worker

import (
	"hash/fnv"
	"strconv"

	"mithril/src/fanout"
	"mithril/src/invariant"
	"mithril/src/pipe"
	"mithril/src/resp"
	"mithril/src/session"
	"mithril/src/topology"
)

// walk is the way of cursors through the shards of the map: their primaries by node ID.
type walk struct {
	fanout.Walk
	nodes []uint16 // by rank; noNode where the address is not known
}

// plan takes the primaries of a map over; index tells the worker's numbers of its nodes.
func (k *walk) plan(t *topology.Snapshot, index []uint16) {
	tag := fnv.New64a()
	k.nodes = k.nodes[:0]
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if t.Shards[n.Shard].Primary != i {
			continue
		}
		k.nodes = append(k.nodes, index[i])
		id := n.ID
		if id == "" {
			id = n.Addr
		}
		tag.Write([]byte(id + "\n"))
	}
	invariant.Assert(len(k.nodes) <= fanout.ShardsMax, "worker: more shards than slots")
	k.Walk = fanout.Walk{Shards: len(k.nodes), Tag: tag.Sum64()}
}

const (
	errBadCursor = "-ERR invalid cursor\r\n"
	errOldCursor = "-ERR invalid cursor: the cluster has other primaries now than when it was given, begin again with 0\r\n"
)

// read tells the shard and its own cursor that a client's cursor stands for.
func (k *walk) read(text []byte) (rank int, node uint64, problem string) {
	if _, ok := fanout.ParseCursor(text); !ok {
		return 0, 0, errBadCursor
	}
	rank, node, ok := k.Read(text)
	if !ok {
		return 0, 0, errOldCursor
	}
	return rank, node, ""
}

// step sends a request to the node that its cursor leads to. One that only begins a walk
// there goes to any primary.
func (w *Worker) step(c *client, in session.Intent) {
	if len(w.walk.nodes) == 0 {
		w.refuse(c, in.Command, nil)
		return
	}
	frame := w.Arena.Bytes(in.Frame)
	from, to := len(frame), len(frame) // what the node's cursor takes the place of
	rank, cursor := 0, []byte(nil)
	if i := in.Command.ArgIndex; i == 0 {
		rank = w.pick(len(w.walk.nodes))
	} else {
		var node uint64
		var problem string
		if rank, node, problem = w.walk.read(w.env.Args[i].Of(frame)); problem != "" {
			c.AnswerBytes(&w.env, c.Accept(&w.env, in.Command), []byte(problem))
			return
		}
		const lineEnd = 2
		before, arg := w.env.Args[i-1], w.env.Args[i]
		from, to = int(before.Off+before.Len+lineEnd), int(arg.Off+arg.Len+lineEnd)
		var digits [20]byte
		var element [32]byte
		cursor = resp.AppendBulk(element[:0], strconv.AppendUint(digits[:0], node, 10))
	}
	if w.walk.nodes[rank] == noNode {
		w.refuse(c, in.Command, nil)
		return
	}
	n := w.nodes[w.walk.nodes[rank]]
	b := w.pipeTo(c, n)
	if !w.canTake(c, in.Command, b, n) {
		return
	}
	held := w.frameOf(in.Frame)
	seq := c.Accept(&w.env, in.Command)
	c.HoldAlone()
	j, token := w.joins.take()
	place := fanout.CursorFirst
	if in.Command.CursorLast {
		place = fanout.CursorLast
	}
	j.BeginCursor(w.walk.Walk, rank, place, c.Token, seq)
	j.Reads = in.Command.Reads()
	if at, ok := w.reserve(b, pipe.Request{Owner: token}, from+len(cursor)+len(frame)-to); ok {
		dst := append(w.Arena.Bytes(at)[:0], frame[:from]...)
		dst = append(dst, cursor...)
		dst = append(dst, frame[to:]...)
		invariant.Assert(len(dst) == int(at.Len), "worker: request with another cursor has another size than planned")
	}
	w.Arena.Release(held.Block)
}

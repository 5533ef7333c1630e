package golden

import (
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/fanout"
	"mithril/src/resp"
)

func TestFanout(t *testing.T) {
	playAll(t, "fanout", func(t *testing.T) map[string]Verb {
		f := &split{arena: newArena(t), table: command.ForEngine("redis", 7, 0)}
		return map[string]Verb{
			"plan": f.plan, "broadcast": f.broadcast, "sample": f.sample, "walk": f.walk,
			"reply": f.reply, "piece": f.piece, "lose": f.lose, "forget": f.forget,
		}
	})
}

// newArena is memory for one machine.
func newArena(t *testing.T) *buf.Arena {
	t.Helper()
	const receiveChunks = 8
	a, err := buf.NewArena(make(buf.HeapMemory, 8<<20), receiveChunks)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// split is one request in parts or for several nodes, and the join of the replies.
type split struct {
	arena   *buf.Arena
	table   *command.Table
	request fanout.Plan
	join    fanout.Join
}

// find reads a request that takes a route.
func (f *split) find(d *Directive, route command.Route) (c *command.Command, frame []byte, args []resp.Arg) {
	frame = resp.AppendCommand(nil, d.Rest()...)
	var scan resp.RequestScanner
	args, _, _ = scan.Scan(frame, &resp.Authenticated, nil)
	c, problem := f.table.Find(frame, args)
	if problem != command.OK || c.Route != route {
		d.Fail("the route of this request is not %s", route)
	}
	return c, frame, args
}

// plan splits a request by slot and begins to wait for the replies to its parts.
func (f *split) plan(d *Directive) {
	c, frame, args := f.find(d, command.RouteSplit)
	f.request.Split(frame, args, int(c.KeyStep))
	for k, part := range f.request.Parts {
		d.Say("part %d, slot %d: %s", k, part.Slot, ShowRequests(f.request.AppendFrame(nil, k, frame, args))[0])
	}
	f.join.Begin(&f.request, c.Response, 0, 0)
}

// broadcast begins to wait for the replies of primaries to a request, and of replicas.
func (f *split) broadcast(d *Directive) {
	primaries, replicas := d.Number("primaries", 3), d.Number("replicas", 0)
	c, _, _ := f.find(d, command.RouteBroadcast)
	f.join.BeginBroadcast(primaries+replicas, primaries, c.Response, 0, 0)
}

// sample begins to wait for what shards answer to DBSIZE, and then to RANDOMKEY.
func (f *split) sample(d *Directive) {
	shards := d.Number("shards", 2)
	f.join.BeginSample(shards, uint64(d.Number("draw", 0)), 0, 0)
}

// walk begins to wait for the reply of one shard in a walk.
func (f *split) walk(d *Directive) {
	w := fanout.Walk{Shards: d.Number("shards", 3), Tag: uint64(d.Number("tag", 0))}
	place := fanout.CursorFirst
	if d.Flag("last") {
		place = fanout.CursorLast
	}
	f.join.BeginCursor(w, d.Number("rank", 0), place, 0, 0)
}

// reply gives the reply to a part, and tells the joined one when it was the last.
func (f *split) reply(d *Directive) {
	f.take(d, func(k uint32, s buf.Slice) bool {
		_, done := f.join.Put(f.arena, k, s)
		return done
	})
}

// piece gives a piece of the reply to a part, which may be its last.
func (f *split) piece(d *Directive) {
	last := d.Flag("last")
	f.take(d, func(k uint32, s buf.Slice) bool {
		_, done := f.join.Extend(f.arena, k, s, last)
		return done
	})
}

func (f *split) take(d *Directive, give func(k uint32, s buf.Slice) (done bool)) {
	k, bytes := d.Int(), d.Word()
	s, ok := f.arena.Copy([]byte(bytes))
	if !ok {
		d.Fail("no memory for the reply")
	}
	done := give(uint32(k), s)
	f.arena.Release(s.Block)
	f.result(d, done)
}

// lose counts a part as answered whose reply could not be kept.
func (f *split) lose(d *Directive) { f.result(d, f.join.Lose(uint32(d.Int()))) }

// forget lets go of the replies: the client is gone.
func (f *split) forget(d *Directive) {
	f.join.Forget(f.arena)
	f.holds(d)
}

func (f *split) result(d *Directive, done bool) {
	if done {
		var out buf.Gather
		if f.join.Result(f.arena, &out) {
			var reply []byte
			for _, s := range out.Slices() {
				reply = append(reply, f.arena.Bytes(s)...)
			}
			d.Say("joined: %s", Show(reply))
		} else {
			d.Say("joined: nothing")
		}
		out.Drop(f.arena)
	}
	f.holds(d)
}

// holds tells whether replies are kept. How many blocks they take is the arena's business.
func (f *split) holds(d *Directive) {
	if f.join.Held() > 0 != (f.arena.Live() > 0) {
		d.Fail("the join holds %d bytes in %d blocks", f.join.Held(), f.arena.Live())
	}
	if f.arena.Live() > 0 {
		d.Say("replies are kept")
	}
}

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
		return map[string]Verb{"plan": f.plan, "reply": f.reply, "lose": f.lose, "forget": f.forget}
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

// split is one request in parts, and the join of their replies.
type split struct {
	arena   *buf.Arena
	table   *command.Table
	request fanout.Plan
	join    fanout.Join
}

// plan splits a request by slot and begins to wait for the replies to its parts.
func (f *split) plan(d *Directive) {
	frame := resp.AppendCommand(nil, d.Rest()...)
	var scan resp.RequestScanner
	args, _, _ := scan.Scan(frame, &resp.Authenticated, nil)
	c, problem := f.table.Find(frame, args)
	if problem != command.OK || c.Route != command.RouteSplit {
		d.Fail("this request is not split")
	}
	f.request.Split(frame, args, int(c.KeyStep))
	for k, part := range f.request.Parts {
		d.Say("part %d, slot %d: %s", k, part.Slot, ShowRequests(f.request.AppendFrame(nil, k, frame, args))[0])
	}
	f.join.Begin(&f.request, c.Response, 0, 0)
}

// reply gives the reply to a part, and tells the joined one when it was the last.
func (f *split) reply(d *Directive) {
	k, bytes := d.Int(), d.Word()
	s, ok := f.arena.Copy([]byte(bytes))
	if !ok {
		d.Fail("no memory for the reply")
	}
	_, done := f.join.Put(f.arena, uint32(k), s)
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
		if reply, ok := f.join.Result(f.arena); ok {
			d.Say("joined: %s", Show(f.arena.Bytes(reply)))
			f.arena.Release(reply.Block)
		} else {
			d.Say("joined: nothing")
		}
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

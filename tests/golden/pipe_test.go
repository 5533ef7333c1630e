package golden

import (
	"testing"
	"time"

	"mithril/src/buf"
	"mithril/src/pipe"
	"mithril/src/resp"
	"mithril/src/ring"
)

func TestPipe(t *testing.T) {
	playAll(t, "pipe", func(t *testing.T) map[string]Verb {
		p := &backend{arena: newArena(t)}
		return map[string]Verb{
			"new": p.new, "ready": p.ready, "connected": p.connected, "push": p.push, "reserve": p.reserve, "send": p.send, "node": p.node,
			"begin": p.begin, "extend": p.extend, "disown": p.disown, "take": p.take, "close": p.close, "state": p.state,
		}
	})
}

// backend is a pipe with a node at its other end that only the script moves.
type backend struct {
	pipe.Pipe
	arena *buf.Arena
	now   time.Duration // of the last push: one second after the one before
}

// new makes a pipe whose connection is being opened.
func (p *backend) new(d *Directive) {
	key := pipe.Key{Proto: resp.Proto(d.Number("proto", 2)), DB: uint32(d.Number("db", 0)), ReadOnly: d.Flag("readonly")}
	p.Init(key, d.Number("largefrom", 1<<20))
}

// ready makes a pipe that is connected and greeted.
func (p *backend) ready(d *Directive) {
	p.new(d)
	p.connected(d)
	var quiet Directive
	p.send(&quiet)
	quiet.args = []string{"*0\r\n"}
	p.node(&quiet)
	if p.State() != pipe.Ready {
		d.Fail("the pipe is %s", p.State())
	}
}

// connected says that the connection stands.
func (p *backend) connected(d *Directive) {
	if !p.Connected(p.arena, pipe.Credentials{User: d.Option("user", ""), Pass: d.Option("pass", "")}) {
		d.Fail("no memory for the greeting")
	}
}

// push queues a request: the number of its owner, and its words. With asking=yes it follows
// an ASK, and with load=body the script of this body.
func (p *backend) push(d *Directive) {
	before := prefix(d)
	owner := d.Int()
	frame, ok := p.arena.Copy(resp.AppendCommand(nil, d.Rest()...))
	p.now += time.Second
	request := p.request(owner, frame)
	if !ok || !p.Push(p.arena, int64(p.now), &request, before) {
		d.Fail("no memory for the request")
	}
}

// prefix is what goes to the node directly before a request.
func prefix(d *Directive) (before pipe.Prefix) {
	if body := d.Option("load", ""); body != "" {
		before = pipe.Prefix{Bytes: resp.AppendCommand(nil, "SCRIPT", "LOAD", body), Commands: 1}
	}
	if d.Flag("asking") {
		before.Bytes = append(before.Bytes, pipe.AskingPrefix.Bytes...)
		before.Commands += pipe.AskingPrefix.Commands
	}
	return before
}

// reserve queues a request whose frame is written in place.
func (p *backend) reserve(d *Directive) {
	owner := d.Int()
	frame := resp.AppendCommand(nil, d.Rest()...)
	p.now += time.Second
	at, ok := p.Reserve(p.arena, int64(p.now), p.request(owner, buf.Slice{}), len(frame))
	if !ok {
		d.Fail("no memory for the request")
	}
	copy(p.arena.Bytes(at), frame)
}

func (p *backend) request(owner int, frame buf.Slice) pipe.Request {
	return pipe.Request{Owner: ring.Token(owner), Seq: uint32(owner), Frame: frame}
}

// begin queues the beginning of a request, behind an ASKING or not: the number of its owner,
// and the bytes.
func (p *backend) begin(d *Directive) {
	before := prefix(d)
	owner := d.Int()
	frame, ok := p.arena.Copy([]byte(d.Word()))
	p.now += time.Second
	if !ok || !p.Begin(p.arena, int64(p.now), p.request(owner, frame), before) {
		d.Fail("no memory for the request")
	}
}

// extend queues the next part of it, or the last.
func (p *backend) extend(d *Directive) {
	last := d.Flag("last")
	part, ok := p.arena.Copy([]byte(d.Word()))
	if !ok {
		d.Fail("no memory for the request")
	}
	defer p.arena.Release(part.Block)
	p.now += time.Second
	if !p.Extend(p.arena, int64(p.now), part, last) {
		d.Fail("no memory for the request")
	}
}

// disown makes the reply to the newest request nobody's.
func (p *backend) disown(d *Directive) { p.Disown() }

// take decides about a large reply: whole, or parts.
func (p *backend) take(d *Directive) {
	switch how := d.Word(); how {
	case "whole":
		p.TakeWhole()
	case "parts":
		p.TakeParts()
	default:
		d.Fail("%q is neither whole nor parts", how)
	}
	p.replies(d)
}

// send hands to the node what may be sent.
func (p *backend) send(d *Directive) {
	if !p.MaySend() {
		return
	}
	var sent []byte
	for _, s := range p.Sendable().Slices() {
		sent = append(sent, p.arena.Bytes(s)...)
	}
	p.Flushed()
	p.Sendable().Drop(p.arena)
	d.SayAll("to the node: ", ShowRequests(sent))
}

// node gives the pipe bytes from the node, a word at a time, and tells what comes of each.
func (p *backend) node(d *Directive) {
	for _, bytes := range d.Rest() {
		s, ok := p.arena.Copy([]byte(bytes))
		if !ok {
			d.Fail("no memory for the reply")
		}
		p.Put(s)
		p.replies(d)
	}
}

func (p *backend) replies(d *Directive) {
	for {
		var reply pipe.Reply
		got, reason := p.Next(p.arena, &reply)
		switch got {
		case pipe.Waiting:
			return
		case pipe.Broken:
			d.Say("broken: %s", reason)
			return
		case pipe.Greeted:
			d.Say("greeted")
		case pipe.Large:
			d.Say("large, for %d", reply.Owner)
			return
		case pipe.Part:
			d.Say("part for %d: %s", reply.Owner, Show(p.arena.Bytes(reply.Bytes)))
		case pipe.LastPart:
			d.Say("last part for %d: %s", reply.Owner, Show(p.arena.Bytes(reply.Bytes)))
			p.arena.Release(reply.Frame.Block)
		case pipe.Got:
			d.Say("for %d: %s to %s", reply.Owner, Show(p.arena.Bytes(reply.Bytes)), ShowRequests(p.arena.Bytes(reply.Frame))[0])
			p.arena.Release(reply.Frame.Block)
		default:
			d.Fail("the pipe makes progress %d, which this verb does not know", got)
		}
	}
}

// close ends the pipe, takes back what was on it, and tells when that is not all it held.
func (p *backend) close(d *Directive) {
	p.Close(p.arena)
	for {
		r, sent, ok := p.Pop()
		if !ok {
			break
		}
		d.Say("%d comes back, sent: %v, %s", r.Owner, sent, ShowRequests(p.arena.Bytes(r.Frame))[0])
		p.arena.Release(r.Frame.Block)
	}
	if n := p.arena.Live(); n > 0 {
		d.Say("%d blocks are still referenced", n)
	}
}

// state tells where the pipe is in its life.
func (p *backend) state(d *Directive) {
	d.Say("%s, %d unanswered, takes requests: %v", p.State(), p.Len(), p.Takes())
	if at, ok := p.Oldest(); ok {
		d.Say("the oldest for %v", p.now-time.Duration(at))
	}
}

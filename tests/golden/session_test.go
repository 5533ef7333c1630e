package golden

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/stats"
)

func TestSession(t *testing.T) {
	playAll(t, "session", func(t *testing.T) map[string]Verb {
		c := &client{env: session.Env{Arena: newArena(t), Counters: &stats.Counters{}}}
		return map[string]Verb{
			"new": c.new, "client": c.request, "raw": c.raw, "flood": c.flood, "calm": c.calm, "reads": c.reads, "end": c.end,
			"answer": c.answer, "part": c.part, "bounce": c.bounce, "hold": c.holdNext, "room": c.room, "check": c.check, "drain": c.drain,
			"free": c.free,
		}
	})
}

// client is a session whose client and worker the script plays. It tells what comes out and
// what becomes of the session.
type client struct {
	session.Session
	env  session.Env
	deaf bool   // the client does not read
	next string // why the next request on offer is held, empty if it is accepted

	hold  session.Hold // as told last
	state string
}

// new makes a session that speaks for a server of some version.
func (c *client) new(d *Directive) {
	server, password := d.Option("server", "redis-7.0"), d.Option("password", "")
	i := slices.IndexFunc(command.Versions, func(v command.Version) bool { return v.String() == server })
	if i < 0 {
		d.Fail("there is no table for %s", server)
	}
	v := command.Versions[i]
	env := session.Env{
		Arena: c.env.Arena, Counters: c.env.Counters, Password: password,
		Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated,
		Output: session.OutputLimit{
			Hard: int64(d.Number("hard", 0)), Soft: int64(d.Number("soft", 0)), SoftFor: int64(d.Span("softfor", 0)),
		},
		StreamFrom: d.Number("streamfrom", 1<<20),
		Server:     session.Server{Name: v.Engine, Version: fmt.Sprintf("%d.%d.0", v.Major, v.Minor)},
	}
	env.UseTable(command.ForEngine(v.Engine, v.Major, v.Minor))
	*c = client{env: env}
	c.Init(&c.env, ring.MakeToken(ring.KindSession, 0, 0), 1, netip.MustParseAddrPort("127.0.0.1:50000"), 0)
	c.tell(d)
}

// request is a request from the client, as words.
func (c *client) request(d *Directive) { c.receive(d, resp.AppendCommand(nil, d.Rest()...)) }

// raw is bytes from the client, each word received by itself.
func (c *client) raw(d *Directive) {
	for _, word := range d.Rest() {
		c.receive(d, []byte(word))
	}
}

func (c *client) receive(d *Directive, b []byte) {
	s, ok := c.env.Arena.Copy(b)
	if !ok {
		d.Fail("no memory for the request")
	}
	c.Put(&c.env, s)
	c.serve(d)
}

// serve takes the requests on offer, and tells each with the number under which it is to be
// answered.
func (c *client) serve(d *Directive) {
	kinds := map[session.IntentKind]string{
		session.Forward: "forward", session.ForwardAny: "forward anywhere", session.Split: "split", session.Local: "local",
		session.Broadcast: "broadcast", session.Sample: "sample", session.Cursor: "cursor",
		session.Begin: "begin", session.BeginAny: "begin anywhere",
	}
	for {
		in := c.Next(&c.env)
		if in.Kind == session.Nothing {
			break
		}
		if in.Kind == session.Part {
			c.pass(d, in)
			continue
		}
		switch c.next {
		case "order":
			c.HoldForOrder()
		case "pipe":
			c.HoldForPipe()
		default:
			frame := ShowRequests(c.env.Arena.Bytes(in.Frame))[0]
			seq := c.Accept(&c.env, in.Command)
			if in.Kind == session.Forward || in.Kind == session.Begin {
				d.Say("%d: %s to slot %d: %s", seq, kinds[in.Kind], in.Slot, frame)
			} else {
				d.Say("%d: %s: %s", seq, kinds[in.Kind], frame)
			}
			if in.Kind == session.Broadcast || in.Kind == session.Sample || in.Kind == session.Cursor {
				c.HoldAlone()
			}
		}
		c.next = ""
	}
	c.tell(d)
}

// pass takes a part of a large request. The hold for a pipe comes behind it.
func (c *client) pass(d *Directive, in session.Intent) {
	if in.Last {
		d.Say("last part: %s", Show(c.env.Arena.Bytes(in.Frame)))
	} else {
		d.Say("part: %s", Show(c.env.Arena.Bytes(in.Frame)))
	}
	c.Took(&c.env)
	if c.next == "pipe" {
		c.HoldForPipe()
		c.next = ""
	}
}

// goOn is what a worker does when something has changed that may have held the session.
func (c *client) goOn(d *Directive) {
	if c.Holding() != session.HoldNone && c.Release(&c.env) {
		c.tell(d)
		c.serve(d)
	}
	c.tell(d)
}

// answer gives the reply to a request: its number, and the bytes.
func (c *client) answer(d *Directive) {
	seq := d.Int()
	s, ok := c.env.Arena.Copy([]byte(d.Word()))
	if !ok {
		d.Fail("no memory for the reply")
	}
	c.Answer(&c.env, uint32(seq), s)
	c.env.Arena.Release(s.Block)
	c.goOn(d)
}

// part gives a part of the reply to a request: its number, and the bytes.
func (c *client) part(d *Directive) {
	last := d.Flag("last")
	seq := d.Int()
	s, ok := c.env.Arena.Copy([]byte(d.Word()))
	if !ok {
		d.Fail("no memory for the reply")
	}
	defer c.env.Arena.Release(s.Block)
	c.AnswerPart(&c.env, uint32(seq), s, last)
	c.goOn(d)
}

// flood is many requests at once: how many, and the words of each.
func (c *client) flood(d *Directive) {
	n := d.Int()
	c.receive(&Directive{}, bytes.Repeat(resp.AppendCommand(nil, d.Rest()...), n))
	d.Say("%d outstanding, %s", c.Pending(), holdNames[c.Holding()])
}

// calm gives a reply to requests one after the other: the first number, the last, the bytes.
func (c *client) calm(d *Directive) {
	seq, last, reply := d.Int(), d.Int(), d.Word()
	for ; seq <= last; seq++ {
		c.answer(&Directive{args: []string{strconv.Itoa(seq), reply}})
	}
	d.Say("%d outstanding, %s", c.Pending(), holdNames[c.Holding()])
}

// bounce says that a request was redirected.
func (c *client) bounce(d *Directive) {
	if c.Bounce(uint32(d.Int())) {
		d.Say("later requests are in flight")
	}
}

// holdNext holds the next request on offer, for order or for a pipe.
func (c *client) holdNext(d *Directive) { c.next = d.Word() }

// room says that the pipe has room again.
func (c *client) room(d *Directive) {
	c.PipeHasRoom()
	c.serve(d)
}

// reads says whether the client reads its replies from now on.
func (c *client) reads(d *Directive) {
	c.deaf = d.Word() == "no"
	c.tell(d)
	c.goOn(d)
}

// end says that the client will send nothing more.
func (c *client) end(d *Directive) {
	c.End()
	c.serve(d)
}

// check looks at the output limit, at a time.
func (c *client) check(d *Directive) {
	c.CheckOutput(&c.env, int64(d.Duration()))
	c.tell(d)
}

// drain lets the session read no more.
func (c *client) drain(d *Directive) {
	c.Drain(&c.env)
	c.tell(d)
}

// free lets go of the session, and tells when that is not all it held.
func (c *client) free(d *Directive) {
	c.Free(&c.env)
	if n := c.env.Arena.Live(); n > 0 {
		d.Say("%d blocks are still referenced", n)
	}
}

var holdNames = map[session.Hold]string{
	session.HoldNone: "reads on", session.HoldWindow: "held: too many requests are outstanding",
	session.HoldBarrier: "held: nothing may be open meanwhile", session.HoldOrder: "held: must not overtake",
	session.HoldOutput: "held: the client does not read", session.HoldPipe: "held: the pipe has no room",
}

// tell sends what is to be sent, and says what has changed.
func (c *client) tell(d *Directive) {
	if !c.deaf && c.State() != session.Dead && c.Out().Bytes() > 0 {
		var out []byte
		for _, s := range c.Out().Slices() {
			out = append(out, c.env.Arena.Bytes(s)...)
		}
		c.Out().Sent(c.env.Arena, len(out))
		c.Sent(&c.env, len(out))
		d.SayAll("to the client: ", ShowReplies(out))
	}
	if hold := c.Holding(); hold != c.hold {
		c.hold = hold
		d.Say("%s", holdNames[hold])
	}
	state := c.State().String()
	if c.Why() != "" {
		state += ": " + c.Why()
	}
	if c.Done() {
		state += ", done"
	}
	if state != c.state {
		c.state = state
		d.Say("is %s", state)
	}
}

package session

import (
	"net/netip"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/stats"
)

// Env is what all sessions of one worker share. The worker owns it.
type Env struct {
	Arena    *buf.Arena
	Table    *command.Table
	Counters *stats.Counters

	Password    string // empty: none is required
	Limits      resp.RequestLimits
	FreshLimits resp.RequestLimits // while a login is due
	Output      OutputLimit
	Owed        int64 // bytes of replies that the clients have not got
	StreamFrom  int   // bytes of an unfinished request from which on it is passed on as it arrives
	Server      Server
	locals      []*local // by command.Command.ID; nil where the session has no answer of its own
	calls       []uint64 // requests accepted, by command.Command.ID

	begun Intent // of the session that Next is called for

	// Scratch, free between two calls of a session's methods.
	Args  []resp.Arg
	Keys  []command.KeyRef
	Reply []byte
}

const (
	// ScratchBytesMax is how much scratch of one kind is kept for long; a large request
	// needs more for a while.
	ScratchBytesMax = 64 << 10

	scratchArgsMax = ScratchBytesMax / 8 // an argument or a key takes 8 bytes
)

// Rest gives back the scratch that a large request has left behind. It is for now and
// then.
func (env *Env) Rest() {
	if cap(env.Args) > scratchArgsMax {
		env.Args = nil
	}
	if cap(env.Keys) > scratchArgsMax {
		env.Keys = nil
	}
	if cap(env.Reply) > ScratchBytesMax {
		env.Reply = nil
	}
}

// OutputLimit bounds the reply bytes that wait for one client.
type OutputLimit struct {
	Hard    int64 // at this many bytes the session is closed; 0: no limit
	Soft    int64 // at this many its requests are not read; 0: no limit
	SoftFor int64 // and it is closed when nothing has been sent for so long, ns
}

// Server is what HELLO tells of the server.
type Server struct {
	Name    string // "redis" or "valkey"
	Version string
}

// Session is one client. The zero Session is not usable; see Init.
type Session struct {
	Token ring.Token
	ID    uint64 // CLIENT ID: unique in the process, never reused
	Peer  netip.AddrPort
	Born  int64 // ns, on the ring's clock

	state   State
	hold    Hold
	proto   resp.Proto
	ended   bool // the client will send nothing more
	frame   int  // bytes of the view the request on offer occupies
	intake  intake
	collect bool // the unfinished request cannot be passed on before it is whole
	window  window
	bounced uint32  // entries that are bounced
	silence silence // of the requests to come

	in     buf.Inbox
	scan   resp.RequestScanner
	inline buf.Slice // an inline request written out as an array; holds one reference

	out     buf.Gather
	shelf   buf.Shelf // holds short parked replies
	unsent  int64     // reply bytes not yet sent: gathered, in flight and parked
	parts   int64     // bytes kept of split replies that are not whole yet
	partial int       // bytes given of the reply that comes in parts
	typical int       // bytes of a reply, by the latest ones
	credit  uint32    // requests that may be open, as far as experience goes
	stalled int64     // since when the soft output limit is exceeded without progress, 0 if not

	name, libName, libVer []byte
	marks                 marks
	rejected              uint64           // requests
	LastCommand           *command.Command // of the latest request read; nil without, or if there is no such command
	why                   string           // why the session is Dead
}

// Init makes s the session of a new connection.
func (s *Session) Init(env *Env, token ring.Token, id uint64, peer netip.AddrPort, now int64) {
	*s = Session{
		Token: token, ID: id, Peer: peer, Born: now, proto: resp.RESP2, inline: buf.Slice{Block: buf.NoBlock}, credit: creditMin,
	}
	if env.Password == "" {
		s.become(Plain)
	}
}

// State is where the session is in its life.
func (s *Session) State() State { return s.state }

// Why says why a Dead session was given up, for the log; empty for the usual reasons.
func (s *Session) Why() string { return s.why }

// Proto is the protocol the session has negotiated.
func (s *Session) Proto() resp.Proto { return s.proto }

// Name is the name given by CLIENT SETNAME or HELLO.
func (s *Session) Name() []byte { return s.name }

// Lib is what CLIENT SETINFO has told: library name and version.
func (s *Session) Lib() (name, version []byte) { return s.libName, s.libVer }

// Pending is how many requests are accepted and not answered to the client.
func (s *Session) Pending() int { return int(s.window.len()) }

// Answered is how many requests are answered to the client, modulo 2^32.
func (s *Session) Answered() uint32 { return s.window.head }

// NextSeq is the number that the next request will have.
func (s *Session) NextSeq() uint32 { return s.window.tail }

// Holding is why the session reads no further, HoldNone if it does.
func (s *Session) Holding() Hold { return s.hold }

// Unread is how many received bytes wait to be read as requests.
func (s *Session) Unread() int { return s.in.Bytes() }

// Done says that the session is to be closed: it is Dead, or it drains and everything
// it had to say has been sent.
func (s *Session) Done() bool {
	return s.state == Dead || s.state == Draining && s.window.empty() && s.unsent == 0
}

// Put hands over received bytes with their reference.
func (s *Session) Put(env *Env, data buf.Slice) {
	if s.state == Draining || s.state == Dead {
		env.Arena.Release(data.Block)
		return
	}
	s.in.Put(data)
}

// End notes that the client will send nothing more. What it has sent is still
// answered.
func (s *Session) End() { s.ended = true }

// Kill makes the session Dead: nothing more is read or sent. why is for the log.
func (s *Session) Kill(why string) {
	if s.state != Dead {
		s.why = why
		s.become(Dead)
	}
}

// drain makes the session read no more requests.
func (s *Session) drain(env *Env) {
	s.in.Drop(env.Arena)
	s.scan = resp.RequestScanner{}
	s.frame = 0
	s.intake, s.collect = intakeWhole, false
	s.hold = HoldNone
	if s.state != Dead {
		s.become(Draining)
	}
}

// Drain makes the session read no more requests; what it has asked as a whole is answered.
func (s *Session) Drain(env *Env) {
	if s.Passing() {
		s.abandon(env)
		return
	}
	s.drain(env)
}

// Rest gives back what a burst has left behind, so that an idle session is small. It is
// for now and then: a session that is as busy again has to allocate again.
func (s *Session) Rest() { s.window.rest() }

// Free gives back everything the session holds. Replies that are still to come must
// not be given to it any more.
func (s *Session) Free(env *Env) {
	env.Owed -= s.unsent + s.parts
	s.in.Drop(env.Arena)
	s.out.Drop(env.Arena)
	s.shelf.Drop(env.Arena)
	s.dropInline(env)
	for i := s.window.head; i != s.window.tail; i++ {
		if e := s.window.at(i); e.parked && !e.silent {
			env.Arena.Release(e.reply.Block)
		}
	}
	*s = Session{}
}

package session

import (
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/invariant"
	"mithril/src/resp"
	"mithril/src/slot"
)

// A large request is passed on while it arrives, so that it is never held whole:
//
//	Whole    requests are framed whole before they are offered
//	Begun    the beginning of a large one is on offer, up to and with its keys
//	Passing  it was accepted; what arrives of it is offered in parts, to its end
//
//	Whole ---> Begun ---> Passing ---> Whole
//	  ^          |
//	  +----------+  its keys are not in yet: it is collected
type intake uint8

const (
	intakeWhole intake = iota
	intakeBegun
	intakePassing
	intakes
)

var intakeAllowed = [intakes]uint8{
	intakeWhole:   1 << intakeBegun,
	intakeBegun:   1<<intakePassing | 1<<intakeWhole,
	intakePassing: 1 << intakeWhole,
}

func (s *Session) takeIn(next intake) {
	invariant.Assert(intakeAllowed[s.intake]&(1<<next) != 0, "session: step of a large request that the table does not have")
	s.intake = next
}

// isLarge says that the unfinished request on view is to be passed on as it arrives. A
// good part of it must have arrived: announcing a size costs nothing, and must not
// occupy a connection. And its end must be able to come.
func (s *Session) isLarge(env *Env) bool {
	const receivedShare = 16
	return !s.collect && !s.ended && s.state == Plain && s.scan.Announced() > env.StreamFrom && s.in.Bytes() >= env.StreamFrom/receivedShare
}

// begin notes the beginning of a large request, if its received arguments tell where it
// goes. If not, the request is collected.
func (s *Session) begin(env *Env, view buf.Slice) bool {
	bytes := env.Arena.Bytes(view)
	args, announced := s.scan.Received(bytes, env.Args)
	env.Args = args
	env.begun = Intent{Kind: Begin, Frame: view.Sub(0, uint32(s.scan.Settled()))}
	if len(args) == 0 || !env.begun.routeBegun(env, bytes, args, int(announced)) {
		s.collect = true
		return false
	}
	s.takeIn(intakeBegun)
	s.frame = int(env.begun.Frame.Len)
	return true
}

// offerBegun offers the beginning of a large request, if there is one.
func (s *Session) offerBegun(env *Env) Intent {
	if s.intake == intakeBegun {
		s.LastCommand = env.begun.Command
		return env.begun
	}
	return Intent{}
}

// routeBegun finds out where a request goes whose first arguments are args.
func (i *Intent) routeBegun(env *Env, frame []byte, args []resp.Arg, announced int) bool {
	c, problem := env.Table.FindBegun(frame, args, announced)
	if problem != command.OK {
		return false
	}
	i.Command = c
	switch {
	case c.Route == command.RouteKeyed && c.KeyIndex != 0 && int(c.KeyIndex) < len(args):
		i.Slot = slot.Of(args[c.KeyIndex].Of(frame))
	case c.Route == command.RouteAny:
		i.Kind = BeginAny
	default:
		return false
	}
	return true
}

// Passing says that a request has been accepted whose end has not arrived.
func (s *Session) Passing() bool { return s.intake == intakePassing }

// nextPart offers what has arrived of the request that is being passed on.
func (s *Session) nextPart(env *Env) Intent {
	for {
		view := s.in.View()
		if view.Len == 0 {
			if s.ended {
				s.abandon(env)
			}
			return Intent{}
		}
		args, n, status := s.scan.Scan(env.Arena.Bytes(view), &env.Limits, env.Args)
		env.Args = args
		switch status {
		case resp.Complete:
			s.frame = n
			s.takeIn(intakeWhole)
			s.spend()
			return Intent{Kind: Part, Frame: view.Sub(0, uint32(n)), Last: true}
		case resp.Invalid:
			s.refusePart(env)
			return Intent{}
		}
		if settled := s.scan.Settled(); settled > 0 {
			s.frame = settled
			return Intent{Kind: Part, Frame: view.Sub(0, uint32(settled))}
		}
		grown, enough := s.in.Grow(env.Arena, s.scan.Need())
		switch {
		case !enough:
			s.Kill("out of memory for a request")
			return Intent{}
		case grown:
			continue
		case s.ended:
			s.abandon(env)
		default:
			s.settle(env)
		}
		return Intent{}
	}
}

// Took drops the part on offer from the inbox.
func (s *Session) Took(env *Env) {
	s.in.Consume(env.Arena, s.frame)
	if s.intake == intakePassing {
		s.scan.Discard(s.frame)
	}
	s.frame = 0
}

// abandon ends a session whose last request will never be whole: it gets no reply.
func (s *Session) abandon(env *Env) {
	s.forget()
	s.drain(env)
}

// refusePart answers a request that breaks the protocol behind its beginning. It is the
// last one, and if it has no reply yet, this is it.
func (s *Session) refusePart(env *Env) {
	s.forget()
	s.refuse(env, s.scan.Violation())
}

// forget takes the request that is being passed on out of the window, of which it is the
// newest, unless it has been answered.
func (s *Session) forget() {
	if s.window.empty() {
		return
	}
	if e := s.window.at(s.window.tail - 1); !e.parked {
		s.unbounce(e)
		s.window.tail--
	}
}

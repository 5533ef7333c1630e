package session

import (
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/invariant"
	"mithril/src/resp"
)

// IntentKind says what the worker shall do with a request.
type IntentKind uint8

// What Next may ask for.
const (
	Nothing    IntentKind = iota // no request to be served now
	Forward                      // send the frame to the owner of Slot
	ForwardAny                   // send the frame to any primary
	Split                        // send a part to the owner of each key's slot and join the replies
	Broadcast                    // send the frame to every primary and join the replies
	Sample                       // answer one key of all
	Cursor                       // send the frame to the node that its cursor leads to
	Local                        // answer from what the process knows
	Begin                        // send the frame, the beginning of a large request, to the owner of Slot
	BeginAny                     // the same to any primary
	Part                         // send the frame behind the beginning; it ends with the Last one
)

// Intent is the request on offer. Frame holds no reference: it is valid, as are the
// arguments in Env.Args, until Accept.
type Intent struct {
	Kind    IntentKind
	Last    bool // of the Parts
	Slot    uint16
	Command *command.Command
	Frame   buf.Slice
}

// Next offers the next request that the worker has a part in; those that concern the
// session alone are answered on the way. The worker either calls Accept, or Took for a
// Part, or holds the session and asks again later.
func (s *Session) Next(env *Env) Intent {
	for {
		if s.state >= Draining || !s.mayRead(env) {
			s.settle(env)
			return Intent{}
		}
		if s.intake == intakePassing {
			return s.nextPart(env)
		}
		frame, args, ok := s.nextFrame(env)
		if !ok {
			return s.offerBegun(env)
		}
		if len(args) == 0 {
			s.consume(env)
			continue
		}
		intent, offered := s.dispatch(env, frame, args)
		if offered {
			env.Args = args
			return intent
		}
	}
}

// mayRead says whether another request may be read, and holds the session if not.
func (s *Session) mayRead(env *Env) bool {
	if s.hold != HoldNone && !s.Release(env) {
		return false
	}
	switch {
	case s.intake == intakePassing:
		// Its connection waits for the rest.
	case s.bounced > 0:
		s.hold = HoldOrder
	case !s.mayOpenMore():
		s.hold = HoldWindow
	case env.overSoft(s.held(), s.others(env)):
		s.hold = HoldOutput
	}
	return s.hold == HoldNone
}

// settle is called when received bytes are left for later.
func (s *Session) settle(env *Env) {
	if !s.in.Settle(env.Arena) {
		s.Kill("out of memory for a request")
	}
}

// nextFrame frames the next request. ok is false when there is none now, or only the
// beginning of one that is not to be collected; see intake.
func (s *Session) nextFrame(env *Env) (frame buf.Slice, args []resp.Arg, ok bool) {
	if s.inline.Block != buf.NoBlock {
		return s.rescanInline(env)
	}
	if s.intake == intakeBegun {
		s.takeIn(intakeWhole) // it was not accepted; look again
	}
	limits := &env.Limits
	if s.state == Fresh {
		limits = &env.FreshLimits
	}
	for {
		view := s.in.View()
		if view.Len == 0 {
			if s.ended {
				s.drain(env)
			}
			return frame, nil, false
		}
		args, n, status := s.scan.Scan(env.Arena.Bytes(view), limits, env.Args)
		env.Args = args
		switch status {
		case resp.Complete:
			s.frame = n
			s.collect = false
			return view.Sub(0, uint32(n)), args, true
		case resp.CompleteInline:
			s.frame = n
			s.collect = false
			return s.readInline(env, view.Sub(0, uint32(n)))
		case resp.Invalid:
			s.refuse(env, s.scan.Violation())
			return frame, nil, false
		}
		if s.isLarge(env) && s.begin(env, view) {
			return frame, nil, false
		}
		grown, enough := s.in.Grow(env.Arena, s.scan.Need())
		if !enough {
			s.Kill("out of memory for a request")
			return frame, nil, false
		}
		if grown {
			continue
		}
		if s.ended {
			// The rest of this request will never come.
			s.drain(env)
		} else {
			s.settle(env)
		}
		return frame, nil, false
	}
}

// readInline writes an inline request out as an array, which is what a node gets.
func (s *Session) readInline(env *Env, line buf.Slice) (frame buf.Slice, args []resp.Arg, ok bool) {
	array, argc, violation := resp.AppendInline(env.Reply[:0], env.Arena.Bytes(line))
	env.Reply = array
	if violation != 0 {
		s.refuse(env, violation)
		return frame, nil, false
	}
	if argc == 0 {
		return line, env.Args[:0], true
	}
	if s.inline, ok = env.Arena.Copy(array); !ok {
		s.Kill("out of memory for a request")
		return frame, nil, false
	}
	return s.rescanInline(env)
}

func (s *Session) rescanInline(env *Env) (frame buf.Slice, args []resp.Arg, ok bool) {
	var scan resp.RequestScanner
	args, n, status := scan.Scan(env.Arena.Bytes(s.inline), &resp.Authenticated, env.Args)
	invariant.Assert(status == resp.Complete && n == int(s.inline.Len), "session: inline request written out wrongly")
	env.Args = args
	return s.inline, args, true
}

func (s *Session) dropInline(env *Env) {
	if s.inline.Block != buf.NoBlock {
		env.Arena.Release(s.inline.Block)
		s.inline = buf.Slice{Block: buf.NoBlock}
	}
}

// consume drops the request on offer from the inbox.
func (s *Session) consume(env *Env) {
	s.dropInline(env)
	s.in.Consume(env.Arena, s.frame)
	if s.intake == intakeBegun {
		s.scan.Discard(s.frame)
		s.takeIn(intakePassing)
		s.extend()
	}
	s.frame = 0
}

// Accept takes the request on offer into the window and returns its number, to which
// Answer will be given. The frame stays valid only if it is retained before.
func (s *Session) Accept(env *Env, c *command.Command) uint32 {
	env.Counters.Commands++
	env.calls[c.ID]++
	s.consume(env)
	return s.admit()
}

// refuse answers a violation of the protocol, behind every earlier reply, and ends
// the session.
func (s *Session) refuse(env *Env, v resp.Violation) {
	env.Counters.ProtocolErrors++
	env.Reply = v.AppendError(env.Reply[:0])
	s.AnswerBytes(env, s.admit(), env.Reply)
	s.drain(env)
}

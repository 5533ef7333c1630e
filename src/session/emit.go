package session

import (
	"mithril/src/buf"
	"mithril/src/invariant"
)

// Answer gives the reply to request seq; the caller keeps its reference. Replies may
// come in any order; each request is answered once.
func (s *Session) Answer(env *Env, seq uint32, reply buf.Slice) {
	if s.state == Dead {
		return
	}
	e := s.window.at(seq)
	s.unbounce(e)
	s.learn(int(reply.Len))
	if e.silent {
		s.swallow(env, seq, env.Arena.Bytes(reply))
		return
	}
	if seq == s.window.head {
		s.window.head++
		s.owe(env, int64(reply.Len))
		s.write(env, reply)
		if s.window.parked > 0 {
			s.unpark(env)
		}
		return
	}
	if !s.park(env, e, reply) {
		s.Kill("out of memory for a reply")
	}
}

// IsNext says that the reply to request seq is the next to go out.
func (s *Session) IsNext(seq uint32) bool { return seq == s.window.head && !s.window.empty() }

// AnswerPart gives the next part of the reply to request seq, which IsNext; the caller
// keeps its reference. Nothing else of the session goes out before the last part.
func (s *Session) AnswerPart(env *Env, seq uint32, part buf.Slice, last bool) {
	if s.state == Dead {
		return
	}
	invariant.Assert(s.IsNext(seq), "session: part of a reply out of order")
	e := s.window.at(seq)
	s.partial += int(part.Len)
	if !e.silent {
		s.owe(env, int64(part.Len))
		if !s.out.Put(env.Arena, part) {
			s.Kill("out of memory for a reply")
			return
		}
		s.checkHard(env)
	}
	if !last {
		return
	}
	s.learn(s.partial)
	s.partial = 0
	s.unbounce(e)
	s.window.head++
	s.unpark(env)
}

// Begun is how many bytes have been given of the reply to request seq, if it comes in
// parts.
func (s *Session) Begun(seq uint32) int {
	if !s.IsNext(seq) {
		return 0
	}
	return s.partial
}

// AnswerBytes is Answer for a reply that does not lie in the arena.
func (s *Session) AnswerBytes(env *Env, seq uint32, reply []byte) {
	if s.state == Dead {
		return
	}
	e := s.window.at(seq)
	s.unbounce(e)
	if e.silent {
		s.swallow(env, seq, reply)
		return
	}
	if seq == s.window.head {
		s.window.head++
		s.owe(env, int64(len(reply)))
		s.writeBytes(env, reply)
		s.unpark(env)
		return
	}
	if kept, ok := s.shelf.Put(env.Arena, reply); ok {
		s.parkKept(env, e, kept)
	} else {
		s.Kill("out of memory for a reply")
	}
}

// TurnAway answers a client before it has asked anything, and ends the session.
func (s *Session) TurnAway(env *Env, reply []byte) {
	s.AnswerBytes(env, s.admit(), reply)
	s.drain(env)
}

// unbounce ends what Bounce began, because request e is being answered.
func (s *Session) unbounce(e *entry) {
	invariant.Assert(!e.parked, "session: request answered twice")
	if e.bounced {
		e.bounced = false
		s.bounced--
	}
}

// park keeps an early reply at its entry.
func (s *Session) park(env *Env, e *entry, reply buf.Slice) bool {
	kept, ok := s.shelf.Keep(env.Arena, reply)
	if ok {
		s.parkKept(env, e, kept)
	}
	return ok
}

// parkKept puts a reply with its reference at its entry.
func (s *Session) parkKept(env *Env, e *entry, kept buf.Slice) {
	e.reply, e.parked = kept, true
	s.window.parked++
	s.owe(env, int64(kept.Len))
	s.checkHard(env)
}

// unpark sends the parked replies whose turn has come.
func (s *Session) unpark(env *Env) {
	w := &s.window
	for w.parked > 0 && w.head != w.tail {
		e := w.at(w.head)
		if !e.parked {
			return
		}
		w.head++
		w.parked--
		if e.silent {
			continue
		}
		s.write(env, e.reply)
		env.Arena.Release(e.reply.Block)
	}
	s.shelf.Drop(env.Arena)
}

func (s *Session) write(env *Env, reply buf.Slice) {
	s.count(env, env.Arena.Bytes(reply))
	if !s.out.Put(env.Arena, reply) {
		s.Kill("out of memory for a reply")
	}
}

func (s *Session) writeBytes(env *Env, reply []byte) {
	s.count(env, reply)
	if _, ok := s.out.Append(env.Arena, reply); !ok {
		s.Kill("out of memory for a reply")
	}
}

func (s *Session) count(env *Env, reply []byte) {
	if reply[0] == '-' {
		env.Counters.ErrorReplies++
	}
	s.checkHard(env)
}

// checkHard gives the session up when it holds more than it may.
func (s *Session) checkHard(env *Env) {
	if env.overHard(s.held(), s.others(env)) {
		s.KillForOutput(env, "output limit reached")
	}
}

// KillForOutput is Kill for a client that does not take its replies, and counts it.
func (s *Session) KillForOutput(env *Env, why string) {
	if s.state != Dead {
		env.Counters.OutputClosed++
		s.Kill(why)
	}
}

// held is how much memory the replies take that the client has not got: the bytes to be
// sent, the entries that keep early ones, and the parts of replies that are not whole.
func (s *Session) held() int64 {
	return s.unsent + s.parts + int64(s.window.parked)*entryBytes
}

// owe notes that the bytes of replies for the client have grown by n.
func (s *Session) owe(env *Env, n int64) {
	s.unsent += n
	env.Owed += n
}

// Gather notes that the parts kept of replies that are not whole yet have grown by n
// bytes.
func (s *Session) Gather(env *Env, n int) {
	s.parts += int64(n)
	env.Owed += int64(n)
	s.checkHard(env)
}

// Parts is how many bytes Gather has noted and Gathered has not taken back.
func (s *Session) Parts() int64 { return s.parts }

// Gathered takes back n bytes of what Gather has noted: their reply is whole, or lost.
func (s *Session) Gathered(env *Env, n int) {
	s.parts -= int64(n)
	env.Owed -= int64(n)
	invariant.Assert(s.parts >= 0, "session: more parts joined than gathered")
}

// Out is what waits to be sent; the worker takes it when the socket is free and tells
// Sent.
func (s *Session) Out() *buf.Gather { return &s.out }

// Sent notes that n bytes have gone out.
func (s *Session) Sent(env *Env, n int) {
	s.unsent -= int64(n)
	env.Owed -= int64(n)
	s.stalled = 0
	invariant.Assert(s.unsent >= 0, "session: more sent than answered")
}

// CheckOutput closes the session when it has been over the soft output limit, or held by
// it, without progress for too long. The worker calls it about once a second.
func (s *Session) CheckOutput(env *Env, now int64) {
	if s.hold != HoldOutput && !env.overSoft(s.held(), s.others(env)) {
		s.stalled = 0
		return
	}
	if s.stalled == 0 {
		s.stalled = now
	} else if now-s.stalled > env.softFor(s.others(env)) {
		s.KillForOutput(env, "output limit reached: over the soft level without progress")
	}
}

// Bounce notes that request seq has been redirected: until it is answered, and those
// behind it, which may have to follow it, nothing of the session may overtake it.
// followed says that later requests are in flight already.
func (s *Session) Bounce(seq uint32) (followed bool) {
	e := s.window.at(seq)
	if !e.bounced {
		e.bounced = true
		s.bounced++
	}
	return !s.window.isLast(seq)
}

// Release ends the hold if its reason has passed, and says whether the session can
// go on reading.
func (s *Session) Release(env *Env) bool {
	passed := false
	switch s.hold {
	case HoldWindow:
		passed = s.window.open() <= s.mayOpen()/2
	case HoldBarrier, HoldOrder:
		passed = s.window.empty()
	case HoldOutput:
		passed = !env.overSoft(2*s.held(), s.others(env))
	}
	if passed {
		s.hold = HoldNone
	}
	return passed
}

// HoldForOrder notes that the request on offer has to wait until every earlier one is
// answered, because they may take another way than it would.
func (s *Session) HoldForOrder() { s.hold = HoldOrder }

// HoldAlone notes that the request just accepted has to be answered before the next one is
// read, because it goes to more than one node.
func (s *Session) HoldAlone() { s.hold = HoldBarrier }

// HoldForPipe notes that the request on offer has to wait until a pipe has room.
func (s *Session) HoldForPipe() { s.hold = HoldPipe }

// PipeHasRoom ends HoldPipe.
func (s *Session) PipeHasRoom() {
	if s.hold == HoldPipe {
		s.hold = HoldNone
	}
}

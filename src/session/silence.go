package session

// silence is how many of the next requests get no reply (CLIENT REPLY). A request is made silent as it is
// read, in the client's order, so that those under way keep their replies. What is answered to a silent
// one is taken like any other reply and given to nobody.
type silence uint64

const (
	silenceOff     silence = 0
	silenceNext    silence = 2       // CLIENT REPLY SKIP itself and the request behind it
	silenceForever silence = 1 << 63 // more than a connection ever brings
)

// clientReply answers CLIENT REPLY ON, OFF and SKIP.
func (s *Session) clientReply(_ *Env, c call, dst []byte) []byte {
	switch {
	case c.is(2, "on"):
		s.silence = silenceOff
	case c.is(2, "off"):
		s.silence = silenceForever
	case c.is(2, "skip"):
		s.silence = max(s.silence, silenceNext)
	default:
		return append(dst, errSyntax...)
	}
	return append(dst, replyOK...)
}

// speakAgain ends CLIENT REPLY OFF, but not CLIENT REPLY SKIP: a RESET behind that gets no reply itself.
func (s *Session) speakAgain() {
	if s.silence > silenceNext {
		s.silence = silenceOff
	}
}

// admit takes a request into the window and returns its number.
func (s *Session) admit() uint32 {
	silent := s.silence > 0
	if silent {
		s.silence--
	}
	return s.window.push(silent)
}

// extend makes the silence of a request last that is admitted before it has been read to its end.
func (s *Session) extend() {
	if s.silence > 0 {
		s.silence++
	}
}

// spend ends what extend has begun: the request has been read.
func (s *Session) spend() {
	if s.silence > 0 {
		s.silence--
	}
}

// IsSilent says that the reply to request seq does not go out.
func (s *Session) IsSilent(seq uint32) bool { return s.window.at(seq).silent }

// swallow takes the reply to a silent request, and sends those whose turn has come with it.
func (s *Session) swallow(env *Env, seq uint32, reply []byte) {
	s.count(env, reply)
	s.window.at(seq).parked = true
	s.window.parked++
	if seq == s.window.head {
		s.partial = 0
		s.unpark(env)
	}
}

package session

import (
	"math"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
)

const (
	errNotInteger = "-ERR value is not an integer or out of range\r\n"
	errNotInt32   = "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n"
	errSyntax     = "-ERR syntax error\r\n"
	replyOK       = "+OK\r\n"
)

// call is a request as the local commands see it.
type call struct {
	frame []byte
	args  []resp.Arg
}

func (c call) len() int         { return len(c.args) }
func (c call) arg(i int) []byte { return c.args[i].Of(c.frame) }

// is compares an argument with a word in lower case, ignoring case as servers do for
// options.
func (c call) is(i int, word string) bool { return resp.EqualFold(c.arg(i), word) }

// local is a command that concerns the session alone.
type local struct {
	answer  func(s *Session, env *Env, c call, dst []byte) []byte
	echoes  bool // with one argument the reply is that argument
	barrier bool // acts on the session after all earlier replies
	last    bool // nothing is read after it
}

// locals are the commands that concern the session alone, by their full names.
var locals = map[string]*local{
	"ping":            {answer: (*Session).ping, echoes: true},
	"echo":            {echoes: true},
	"quit":            {answer: (*Session).ok, last: true},
	"readonly":        {answer: (*Session).readOnly},
	"readwrite":       {answer: (*Session).readWrite},
	"asking":          {answer: (*Session).ok},
	"select":          {answer: (*Session).selectDB, barrier: true},
	"hello":           {answer: (*Session).hello, barrier: true},
	"auth":            {answer: (*Session).auth, barrier: true},
	"reset":           {answer: (*Session).reset, barrier: true},
	"client|id":       {answer: (*Session).clientID},
	"client|getname":  {answer: (*Session).clientGetName},
	"client|setname":  {answer: (*Session).clientSetName},
	"client|setinfo":  {answer: (*Session).clientSetInfo},
	"client|no-evict": {answer: (*Session).clientNoEvict},
	"client|no-touch": {answer: (*Session).clientNoTouch},
	"client|reply":    {answer: (*Session).clientReply},
}

// UseTable makes the sessions understand the commands of t.
func (env *Env) UseTable(t *command.Table) {
	calls := make([]uint64, t.Len())
	env.EachCommand(func(name string, n uint64) {
		if c := t.LookupFull([]byte(name)); c != nil {
			calls[c.ID] = n
		}
	})
	env.Table, env.calls = t, calls
	env.locals = make([]*local, t.Len())
	for id := range env.locals {
		env.locals[id] = locals[t.Row(uint16(id)).Name]
	}
}

func (s *Session) ok(_ *Env, _ call, dst []byte) []byte { return append(dst, replyOK...) }

// readOnly needs no more than an answer: which node a read goes to is for the proxy to say.
func (s *Session) readOnly(_ *Env, _ call, dst []byte) []byte {
	s.marks |= markReadOnly
	return append(dst, replyOK...)
}

func (s *Session) readWrite(_ *Env, _ call, dst []byte) []byte {
	s.marks &^= markReadOnly
	return append(dst, replyOK...)
}

func (s *Session) ping(_ *Env, c call, dst []byte) []byte {
	if c.len() > 2 {
		return append(dst, "-ERR wrong number of arguments for 'ping' command\r\n"...)
	}
	return append(dst, "+PONG\r\n"...)
}

// echo answers with the last argument as it stands in the frame: that is a reply already.
func (s *Session) echo(env *Env, c *command.Command, frame buf.Slice, args []resp.Arg) {
	const lineEnd = 2
	from := args[0].Off + args[0].Len + lineEnd
	reply := frame.Sub(from, frame.Len-from)
	env.Arena.Retain(reply.Block)
	s.Answer(env, s.Accept(env, c), reply)
	env.Arena.Release(reply.Block)
}

// selectDB answers for a cluster, which has one database.
func (s *Session) selectDB(env *Env, c call, dst []byte) []byte {
	switch n, ok := resp.ParseInt(c.arg(1)); {
	case !ok:
		return append(dst, errNotInteger...)
	case n < math.MinInt32 || n > math.MaxInt32:
		return append(dst, errNotInt32...)
	case n == 0:
		return append(dst, replyOK...)
	case env.Server.Name == "valkey":
		return append(dst, "-ERR DB index is out of range\r\n"...)
	}
	return append(dst, "-ERR SELECT is not allowed in cluster mode\r\n"...)
}

func (s *Session) clientID(_ *Env, _ call, dst []byte) []byte {
	return resp.AppendInt(dst, int64(s.ID))
}

func (s *Session) clientGetName(_ *Env, _ call, dst []byte) []byte {
	if len(s.name) == 0 {
		return resp.AppendNull(dst, s.proto)
	}
	return resp.AppendBulk(dst, s.name)
}

const errClientName = "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"

func (s *Session) clientSetName(env *Env, c call, dst []byte) []byte {
	if !s.setName(env, c.arg(2)) {
		return append(dst, errClientName...)
	}
	return append(dst, replyOK...)
}

func (s *Session) setName(env *Env, name []byte) bool {
	if !env.isPlainWord(name) {
		return false
	}
	s.name = append(s.name[:0], name...)
	return true
}

// clientSetInfo stores what a client library tells of itself (redis.io, CLIENT
// SETINFO).
func (s *Session) clientSetInfo(env *Env, c call, dst []byte) []byte {
	var field *[]byte
	switch {
	case c.is(2, "lib-name"):
		field = &s.libName
	case c.is(2, "lib-ver"):
		field = &s.libVer
	default:
		return appendErrorAbout(dst, "-ERR Unrecognized option '", c.arg(2), "'")
	}
	if !env.isPlainWord(c.arg(3)) {
		return appendErrorAbout(dst, "-ERR ", c.arg(2), " cannot contain spaces, newlines or special characters.")
	}
	*field = append((*field)[:0], c.arg(3)...)
	return append(dst, replyOK...)
}

// clientNoEvict needs no more than an answer: the proxy evicts no clients.
func (s *Session) clientNoEvict(_ *Env, c call, dst []byte) []byte {
	switch {
	case c.is(2, "on"):
		s.marks |= markNoEvict
	case c.is(2, "off"):
		s.marks &^= markNoEvict
	default:
		return append(dst, errSyntax...)
	}
	return append(dst, replyOK...)
}

// clientNoTouch refuses ON: the nodes would have to be told, on connections that other
// sessions use too.
func (s *Session) clientNoTouch(env *Env, c call, dst []byte) []byte {
	switch {
	case c.is(2, "off"):
		return append(dst, replyOK...)
	case c.is(2, "on"):
		return command.AppendUnsupported(dst, env.Table.LookupFull([]byte("client|no-touch")))
	}
	return append(dst, errSyntax...)
}

// appendErrorAbout appends an error that repeats an argument as servers do: as a C
// string, and with line ends made spaces, so that it cannot forge a second reply.
func appendErrorAbout(dst []byte, before string, arg []byte, after string) []byte {
	dst = append(dst, before...)
	for _, b := range arg {
		if b == 0 {
			break
		}
		if b == '\r' || b == '\n' {
			b = ' '
		}
		dst = append(dst, b)
	}
	dst = append(dst, after...)
	return append(dst, "\r\n"...)
}

// isPlainWord says that b has only characters from '!' to '~', as servers demand of
// names that CLIENT LIST prints. All but Redis 7.0 look no further than a NUL byte, as
// does what they print.
func (env *Env) isPlainWord(b []byte) bool {
	for _, c := range b {
		if c == 0 && env.Table.Version() != redis70 {
			return true
		}
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

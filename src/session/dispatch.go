package session

import (
	"slices"
	"strconv"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/slot"
)

const (
	errNoAuth    = "-NOAUTH Authentication required.\r\n"
	errInBlock   = "-ERR transactions are not supported by this proxy, the command was not executed\r\n"
	errExecAbort = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	errCrossSlot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
)

// dispatch decides what becomes of a request. offered is false when it has been dealt
// with here, or held back.
func (s *Session) dispatch(env *Env, frame buf.Slice, args []resp.Arg) (intent Intent, offered bool) {
	bytes := env.Arena.Bytes(frame)
	c, problem := env.Table.Find(bytes, args)
	s.LastCommand = c
	if problem == command.UnknownCommand && resp.IsCrossProtocol(args[0].Of(bytes)) {
		// Somebody makes a browser speak to us: not another word, logged in or not.
		s.Kill("an HTTP request on the port")
		return intent, false
	}
	if s.state == Fresh && env.Table.Version().Engine == "valkey" && !isOpenToAll(c) {
		s.reject(env, append(env.Reply[:0], errNoAuth...))
		return intent, false
	}
	if problem != command.OK {
		if problem == command.UnknownSubcommand {
			s.LastCommand = nil
		}
		env.Reply = command.AppendProblem(env.Reply[:0], problem, c, bytes, args)
		s.reject(env, env.Reply)
		return intent, false
	}
	if s.state == Fresh && !isOpenToAll(c) {
		s.reject(env, append(env.Reply[:0], errNoAuth...))
		return intent, false
	}
	if s.state == Refusing && !endsRefusing(c) {
		s.refuseInBlock(env, c)
		return intent, false
	}
	switch c.Route {
	case command.RouteKeyed:
		if c.KeyIndex != 0 {
			key := args[c.KeyIndex].Of(bytes)
			return Intent{Kind: Forward, Slot: slot.Of(key), Command: c, Frame: frame}, true
		}
		return s.dispatchKeys(env, c, frame, args)
	case command.RouteSplit:
		return s.dispatchSplit(env, c, frame, args)
	case command.RouteAny:
		return Intent{Kind: ForwardAny, Command: c, Frame: frame}, true
	case command.RouteLocal:
		return s.dispatchLocal(env, c, frame, args)
	case command.RouteSlotArg:
		return s.dispatchSlotArg(env, c, frame, args)
	case command.RouteBroadcast:
		return s.dispatchAlone(Intent{Kind: Broadcast, Command: c, Frame: frame})
	case command.RouteSample:
		return s.dispatchAlone(Intent{Kind: Sample, Command: c, Frame: frame})
	case command.RouteCursor:
		return s.dispatchAlone(Intent{Kind: Cursor, Command: c, Frame: frame})
	}
	env.Reply = command.AppendUnsupported(env.Reply[:0], c)
	s.reject(env, env.Reply)
	if c.Name == "multi" {
		s.become(Refusing)
	}
	return intent, false
}

// endsRefusing names the commands that a session inside a refused transaction may still
// use.
func endsRefusing(c *command.Command) bool { return c.Name == "reset" || c.Name == "quit" }

// refuseInBlock answers a request inside a transaction that was refused. Executing it
// would do a part of what the client wants done as a whole or not at all.
func (s *Session) refuseInBlock(env *Env, c *command.Command) {
	reply := errInBlock
	switch c.Name {
	case "exec":
		reply = errExecAbort
		s.become(Plain)
	case "discard":
		reply = replyOK
		s.become(Plain)
	}
	s.reject(env, append(env.Reply[:0], reply...))
}

// isOpenToAll says that a command, if there is one, needs no login. Valkey asks for the
// login before it looks at anything else, Redis when the request is otherwise right.
func isOpenToAll(c *command.Command) bool { return c != nil && c.Flags&command.FlagNoAuth != 0 }

// reject answers a request that was not accepted: it does not count as a command.
func (s *Session) reject(env *Env, reply []byte) {
	s.rejected++
	s.consume(env)
	s.AnswerBytes(env, s.admit(), reply)
}

// dispatchKeys routes a command whose keys the walker has to find. They must all lie
// in one slot. Without keys any primary will do, for a malformed request too: each
// says what is wrong with it.
func (s *Session) dispatchKeys(env *Env, c *command.Command, frame buf.Slice, args []resp.Arg) (Intent, bool) {
	bytes := env.Arena.Bytes(frame)
	if c.Blocks(bytes, args) {
		env.Reply = command.AppendBlockUnsupported(env.Reply[:0], c)
		s.reject(env, env.Reply)
		return Intent{}, false
	}
	keys := c.Keys(bytes, args, env.Keys[:0])
	env.Keys = keys
	intent := Intent{Kind: Forward, Command: c, Frame: frame}
	if len(keys) == 0 {
		intent.Kind = ForwardAny
		return intent, true
	}
	var same bool
	if intent.Slot, same = commonSlot(bytes, args, keys); !same {
		s.reject(env, append(env.Reply[:0], errCrossSlot...))
		return Intent{}, false
	}
	return intent, true
}

func commonSlot(frame []byte, args []resp.Arg, keys []command.KeyRef) (first uint16, same bool) {
	first = slot.Of(args[keys[0].Arg].Of(frame))
	for _, k := range keys[1:] {
		if slot.Of(args[k.Arg].Of(frame)) != first {
			return first, false
		}
	}
	return first, true
}

// dispatchSplit sends a request whole when its keys share a slot, else in parts.
func (s *Session) dispatchSplit(env *Env, c *command.Command, frame buf.Slice, args []resp.Arg) (Intent, bool) {
	bytes := env.Arena.Bytes(frame)
	step := int(c.KeyStep)
	if (len(args)-1)%step != 0 {
		env.Reply = command.AppendProblem(env.Reply[:0], command.WrongArity, c, bytes, args)
		s.reject(env, env.Reply)
		return Intent{}, false
	}
	first := slot.Of(args[1].Of(bytes))
	for i := 1 + step; i < len(args); i += step {
		if slot.Of(args[i].Of(bytes)) != first {
			return Intent{Kind: Split, Command: c, Frame: frame}, true
		}
	}
	return Intent{Kind: Forward, Slot: first, Command: c, Frame: frame}, true
}

// dispatchAlone offers a request that concerns the keys of more than one node when every
// earlier one is answered: it must see what they did wherever that was.
func (s *Session) dispatchAlone(in Intent) (Intent, bool) {
	if !s.window.empty() {
		s.hold = HoldBarrier
		return Intent{}, false
	}
	return in, true
}

// dispatchSlotArg routes a command that names a slot by number.
func (s *Session) dispatchSlotArg(env *Env, c *command.Command, frame buf.Slice, args []resp.Arg) (Intent, bool) {
	n, ok := resp.ParseInt(args[c.ArgIndex].Of(env.Arena.Bytes(frame)))
	switch {
	case !ok:
		s.reject(env, append(env.Reply[:0], errNotInteger...))
	case n < 0 || n >= slot.Count:
		s.reject(env, append(env.Reply[:0], "-ERR Invalid slot\r\n"...))
	default:
		return Intent{Kind: Forward, Slot: uint16(n), Command: c, Frame: frame}, true
	}
	return Intent{}, false
}

// LocalArgsMax is how many arguments a command may have that is answered from what the
// process knows. Its reply may have kilobytes for each and is made in one piece.
const LocalArgsMax = 1024

func appendTooManyArgs(dst []byte, c *command.Command) []byte {
	dst = append(dst, "-ERR too many arguments for '"...)
	dst = append(dst, c.Name...)
	dst = append(dst, "' command, this proxy takes at most "...)
	dst = strconv.AppendInt(dst, LocalArgsMax, 10)
	return append(dst, "\r\n"...)
}

// dispatchLocal answers what concerns the session alone and offers the rest.
func (s *Session) dispatchLocal(env *Env, c *command.Command, frame buf.Slice, args []resp.Arg) (Intent, bool) {
	l := env.locals[c.ID]
	if l == nil {
		if len(args) > LocalArgsMax {
			s.reject(env, appendTooManyArgs(env.Reply[:0], c))
			return Intent{}, false
		}
		if c.Name == "config|get" && namesServerParameters(env.Arena.Bytes(frame), args[2:]) {
			return Intent{Kind: ForwardAny, Command: c, Frame: frame}, true
		}
		return Intent{Kind: Local, Command: c, Frame: frame}, true
	}
	if l.barrier && !s.window.empty() {
		s.hold = HoldBarrier
		return Intent{}, false
	}
	if l.echoes && len(args) == 2 {
		s.echo(env, c, frame, args)
		return Intent{}, false
	}
	env.Reply = l.answer(s, env, call{frame: env.Arena.Bytes(frame), args: args}, env.Reply[:0])
	s.AnswerBytes(env, s.Accept(env, c), env.Reply)
	if l.last {
		s.drain(env)
	}
	return Intent{}, false
}

// serverParameters are parameters that the proxy has not itself and that tools ask a
// server for before they start: a node answers for them.
var serverParameters = []string{"save", "appendonly", "databases", "maxmemory", "maxmemory-policy"}

func namesServerParameters(frame []byte, names []resp.Arg) bool {
	for _, name := range names {
		if !slices.ContainsFunc(serverParameters, func(p string) bool { return resp.EqualFold(name.Of(frame), p) }) {
			return false
		}
	}
	return true
}

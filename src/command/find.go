package command

import (
	"bytes"

	"mithril/src/resp"
)

// Problem is what is wrong with a request as far as the table can tell.
type Problem uint8

// Problems. AppendProblem has the text of all but OK.
const (
	OK                Problem = iota
	UnknownCommand            // no such command, or a refused one
	UnknownSubcommand         // a container has no such subcommand, or a refused one
	WrongArity                // too few or too many arguments
)

// Find returns the command of a request, resolved to the subcommand, and checks its arity. The request has at least one argument. With
// UnknownCommand there is no command; with UnknownSubcommand it is the container.
func (t *Table) Find(frame []byte, args []resp.Arg) (*Command, Problem) {
	return t.FindBegun(frame, args, len(args))
}

// FindBegun is Find for a request of count arguments of which only the first have been received, at least one.
func (t *Table) FindBegun(frame []byte, args []resp.Arg, count int) (*Command, Problem) {
	c := t.Lookup(args[0].Of(frame))
	if c == nil {
		return nil, UnknownCommand
	}
	if len(c.subs) != 0 && len(args) > 1 {
		s := c.sub(args[1].Of(frame))
		if s == nil {
			return c, UnknownSubcommand
		}
		c = s
	}
	if !c.Accepts(count) {
		return c, WrongArity
	}
	return c, OK
}

// LookupFull returns the command or subcommand of a full name such as "client|list" in any case, or nil.
func (t *Table) LookupFull(name []byte) *Command {
	name, sub, isSub := bytes.Cut(name, []byte("|"))
	c := t.Lookup(name)
	if c != nil && isSub {
		return c.sub(sub)
	}
	return c
}

// echoMax is how many bytes of a name, and of all arguments together, a server repeats in an error.
const echoMax = 128

// AppendProblem appends the error line with which a server answers a request that Find found wrong: c and p are Find's results.
func AppendProblem(dst []byte, p Problem, c *Command, frame []byte, args []resp.Arg) []byte {
	start := len(dst)
	switch p {
	case UnknownCommand:
		dst = append(dst, "-ERR unknown command '"...)
		dst = appendEcho(dst, args[0].Of(frame), echoMax)
		dst = append(dst, "', with args beginning with: "...)
		for i, echoed := 1, 0; i < len(args) && echoed < echoMax; i++ {
			before := len(dst)
			dst = append(dst, '\'')
			dst = appendEcho(dst, args[i].Of(frame), echoMax-echoed)
			dst = append(dst, '\'', ' ')
			echoed += len(dst) - before
		}
	case UnknownSubcommand:
		dst = append(dst, "-ERR unknown subcommand '"...)
		dst = appendEcho(dst, args[1].Of(frame), echoMax)
		dst = append(dst, "'. Try "...)
		for _, b := range args[0].Of(frame) {
			lower, mask := foldByte(b)
			dst = append(dst, lower&^mask)
		}
		dst = append(dst, " HELP."...)
	case WrongArity:
		dst = append(dst, errorCode(c)...)
		dst = append(dst, "wrong number of arguments for '"...)
		dst = append(dst, c.Name...)
		dst = append(dst, "' command"...)
	default:
		panic("command: no error line for this problem")
	}
	blankLineEnds(dst[start:])
	return append(dst, '\r', '\n')
}

// errorCode begins the error line of a request that is refused before it runs. Refusing EXEC ends a transaction, whatever the reason is.
func errorCode(c *Command) string {
	if c.Name == "exec" {
		return "-EXECABORT Transaction discarded because of: "
	}
	return "-ERR "
}

// AppendUnsupported appends the error line for a command that the proxy does not carry (RouteLater).
func AppendUnsupported(dst []byte, c *Command) []byte {
	dst = append(dst, "-ERR '"...)
	dst = append(dst, c.Name...)
	return append(dst, "' is not supported by this proxy\r\n"...)
}

// AppendBlockUnsupported appends the error line for a request that would block its connection.
func AppendBlockUnsupported(dst []byte, c *Command) []byte {
	dst = append(dst, "-ERR '"...)
	dst = append(dst, c.Name...)
	return append(dst, "' with BLOCK is not supported by this proxy\r\n"...)
}

// appendEcho appends at most limit bytes of b, and nothing from a NUL byte on: servers print it as a C string.
func appendEcho(dst, b []byte, limit int) []byte {
	b = b[:min(len(b), limit)]
	if nul := bytes.IndexByte(b, 0); nul >= 0 {
		b = b[:nul]
	}
	return append(dst, b...)
}

// blankLineEnds turns line ends into spaces, so that echoed bytes cannot forge a second reply.
func blankLineEnds(b []byte) {
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
}

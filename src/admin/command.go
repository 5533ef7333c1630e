package admin

import (
	"strings"

	"mithril/src/command"
	"mithril/src/glob"
	"mithril/src/resp"
)

const errSyntax = "ERR syntax error"

// command answers COMMAND: the rows of everything that a client may call (ROUTE10).
func (s *Server) command(dst []byte, q *Query) []byte { return q.Table.AppendList(dst, q.Proto) }

func (s *Server) commandCount(dst []byte, q *Query) []byte { return q.Table.AppendCount(dst) }

// commandInfo answers COMMAND INFO [name ...].
func (s *Server) commandInfo(dst []byte, q *Query) []byte {
	return q.Table.AppendInfoReply(dst, q.rest(2), q.Proto)
}

// commandDocs answers COMMAND DOCS [name ...].
func (s *Server) commandDocs(dst []byte, q *Query) []byte {
	return q.Table.AppendDocsReply(dst, q.rest(2), q.Proto)
}

// commandGetKeys answers COMMAND GETKEYS command [arg ...].
func (s *Server) commandGetKeys(dst []byte, q *Query) []byte {
	return q.Table.AppendKeys(dst, q.Frame, q.Args[2:])
}

// commandGetKeysAndFlags answers COMMAND GETKEYSANDFLAGS command [arg ...].
func (s *Server) commandGetKeysAndFlags(dst []byte, q *Query) []byte {
	return q.Table.AppendKeysAndFlags(dst, q.Frame, q.Args[2:], q.Proto)
}

// listFilters say which commands COMMAND LIST FILTERBY keeps. Of a command that is no server's own nothing tells which module it is from.
var listFilters = map[string]func(c *command.Command, value []byte) bool{
	"module":  func(*command.Command, []byte) bool { return false },
	"aclcat":  func(c *command.Command, value []byte) bool { return c.Categories&command.CategoryNamed(value) != 0 },
	"pattern": func(c *command.Command, value []byte) bool { return glob.MatchFold(value, c.Name) },
}

// commandList answers COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern].
func (s *Server) commandList(dst []byte, q *Query) []byte {
	if len(q.Args) == 2 {
		return q.Table.AppendNames(dst, func(*command.Command) bool { return true })
	}
	if len(q.Args) == 5 && resp.EqualFold(q.Arg(2), "filterby") {
		if keeps := listFilters[strings.ToLower(string(q.Arg(3)))]; keeps != nil {
			return q.Table.AppendNames(dst, func(c *command.Command) bool { return keeps(c, q.Arg(4)) })
		}
	}
	return resp.AppendError(dst, errSyntax)
}

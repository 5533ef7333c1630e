package admin

import (
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/session"
	"mithril/src/stats"
)

// Query is a request that is answered from what the process knows.
type Query struct {
	Command *command.Command
	Frame   []byte
	Args    []resp.Arg // Args[0] is the name
	Proto   resp.Proto
	Client  *session.Session
	Table   *command.Table
	Now     int64          // ns, on the worker's clock
	Worker  int            // number of the worker that asks
	Own     stats.Snapshot // of that worker, newer than its board
}

// Arg is argument i.
func (q *Query) Arg(i int) []byte { return q.Args[i].Of(q.Frame) }

package admin

import (
	"net/netip"

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
	Local   netip.AddrPort // where the client has reached the proxy; not valid if it is gone
	Table   *command.Table
	Now     int64          // ns since the process started, on the workers' clock
	Worker  int            // number of the worker that asks
	Own     stats.Snapshot // of that worker, newer than its board
}

// Arg is argument i.
func (q *Query) Arg(i int) []byte { return q.Args[i].Of(q.Frame) }

// rest are the arguments from number i on.
func (q *Query) rest(i int) [][]byte {
	var list [][]byte
	for ; i < len(q.Args); i++ {
		list = append(list, q.Arg(i))
	}
	return list
}

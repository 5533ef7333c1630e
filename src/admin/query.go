package admin

import (
	"mithril/src/command"
	"mithril/src/resp"
)

// Query is a request that is answered from what the process knows.
type Query struct {
	Command *command.Command
	Frame   []byte
	Args    []resp.Arg // Args[0] is the name
	Proto   resp.Proto
	Self    Client // who asks
	Table   *command.Table
	Now     int64 // ns since the process started, on the workers' clock
	Workers int   // how many there are
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

package worker

import (
	"net/netip"

	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/session"
	"mithril/src/stats"
)

// Query is a command that is answered from what the process knows.
type Query struct {
	Command *command.Command
	Frame   []byte
	Args    []resp.Arg
	Proto   resp.Proto
	Client  *session.Session
	Local   netip.AddrPort
	Table   *command.Table
	Now     int64
	Own     stats.Snapshot // of the worker that asks, newer than its board
	Worker  int
}

// Arg is argument i.
func (q *Query) Arg(i int) []byte { return q.Args[i].Of(q.Frame) }

// Answerer appends the reply to a query.
type Answerer func(dst []byte, q *Query) []byte

// answerLocal answers a request that no node has a part in.
func (w *Worker) answerLocal(c *client, in session.Intent) bool {
	frame := w.Arena.Bytes(in.Frame)
	q := Query{
		Command: in.Command, Frame: frame, Args: w.env.Args, Proto: c.Proto(), Client: &c.Session,
		Table: w.env.Table, Now: w.now, Own: w.snapshot(), Worker: w.Number,
	}
	held := w.frameOf(in.Frame)
	seq := c.Accept(&w.env, in.Command)
	w.scratch = w.Answer(w.scratch[:0], &q)
	w.Arena.Release(held.Block)
	c.AnswerBytes(&w.env, seq, w.scratch)
	return true
}

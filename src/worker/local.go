package worker

import (
	"mithril/src/admin"
	"mithril/src/session"
)

// answerLocal answers a request that no node has a part in.
func (w *Worker) answerLocal(c *client, in session.Intent) bool {
	frame := w.frameOf(in.Frame)
	q := admin.Query{
		Command: in.Command, Frame: w.Arena.Bytes(frame), Args: w.env.Args, Proto: c.Proto(), Client: &c.Session, Local: w.Ring.Local(c.end.socket),
		Table: w.env.Table, Now: w.now, Own: w.snapshot(), Worker: w.Number,
	}
	seq := c.Accept(&w.env, in.Command)
	w.scratch = w.Admin.Answer(w.scratch[:0], &q)
	w.Arena.Release(frame.Block)
	c.AnswerBytes(&w.env, seq, w.scratch)
	return true
}

package worker

import (
	"mithril/src/admin"
	"mithril/src/session"
)

// answerLocal answers a request that no node has a part in.
func (w *Worker) answerLocal(c *client, in session.Intent) {
	if w.surveys == SurveysMax && admin.IsSurvey(in.Command) {
		w.waitToAsk(c)
		return
	}
	q := admin.Query{
		Command: in.Command, Frame: w.Arena.Bytes(in.Frame), Args: w.env.Args, Proto: c.Proto(), Table: w.env.Table, Now: w.now, Workers: w.workers(),
	}
	w.describe(c, &q.Self)
	reply, question := w.Admin.Answer(w.scratch[:0], &q)
	w.scratch = reply
	if question != nil {
		question.Visit(w.Number, w) // what asks is not counted yet
	}
	seq := c.Accept(&w.env, in.Command)
	if question != nil {
		w.ask(c, seq, question)
		return
	}
	c.AnswerBytes(&w.env, seq, reply)
}

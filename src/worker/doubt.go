package worker

import (
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/pipe"
	"mithril/src/redirect"
	"mithril/src/resp"
	"mithril/src/ring"
)

// A redirect that answers a script may be the script's own words, said after it has run: to
// send the request again would run it twice. So its node is asked for the first key. One that
// redirects this question too has refused the request, and says where to; one that answers
// it has run the script.

// kindDoubt is the token kind of these questions; the index is that of a waiting request.
const kindDoubt = kindProbe + 1

const errDoubt = "-ERR the script was answered by what reads like a redirect, the outcome of the command is unknown\r\n"

// doubt asks whether a redirect that answers a script is the node's.
func (w *Worker) doubt(b *backend, r *pipe.Reply) {
	frame, ok := w.questionFor(&r.Request)
	if !ok || !b.Takes() || b.Begun() {
		if ok {
			w.Arena.Release(frame.Block)
		}
		w.giveUp(r.Request, errDoubt)
		return
	}
	w.bounce(r.Owner, r.Seq)
	i := w.waiting.add(waitingRequest{Request: r.Request, node: b.node.index})
	question := pipe.Request{Owner: ring.MakeToken(kindDoubt, 1, i), Slot: r.Slot, Frame: frame}
	var before pipe.Prefix
	if r.Has(pipe.Asking) {
		question.Traits, before = pipe.Asking, pipe.AskingPrefix
	}
	w.push(b, &question, before)
}

// questionFor makes the question for the first key of a request. ok is false if it has none:
// then no node redirects it.
func (w *Worker) questionFor(r *pipe.Request) (question buf.Slice, ok bool) {
	var scan resp.RequestScanner
	frame := w.Arena.Bytes(r.Frame)
	args, _, status := scan.Scan(frame, &w.env.Limits, w.env.Args)
	w.env.Args = args
	if status != resp.Complete {
		return question, false
	}
	c, problem := w.env.Table.Find(frame, args)
	if problem != command.OK {
		return question, false
	}
	w.env.Keys = c.Keys(frame, args, w.env.Keys[:0])
	if len(w.env.Keys) == 0 {
		return question, false
	}
	return w.question(args[w.env.Keys[0].Arg].Of(frame))
}

// question makes the request that asks a node for a key.
func (w *Worker) question(key []byte) (buf.Slice, bool) {
	w.scratch = append(w.scratch[:0], "*2\r\n$6\r\nEXISTS\r\n"...)
	w.scratch = resp.AppendBulk(w.scratch, key)
	return w.Arena.Copy(w.scratch)
}

// believe follows the redirect that a question was answered with, for the request that it was
// asked for. Later requests of its session may have been redirected meanwhile, and executed:
// behind them it is not sent again.
func (w *Worker) believe(b *backend, r *pipe.Reply, kind redirect.Kind) {
	w.Arena.Release(r.Frame.Block)
	r.Request = w.waiting.take(r.Owner.Index()).Request
	if w.bounce(r.Owner, r.Seq) {
		w.Wish()
		w.failRedirect(r.Request)
		return
	}
	w.redirected(b, r, kind)
}

// disbelieve answers a script whose redirect was not the node's, or may not have been.
func (w *Worker) disbelieve(question ring.Token) {
	w.giveUp(w.waiting.take(question.Index()).Request, errDoubt)
}

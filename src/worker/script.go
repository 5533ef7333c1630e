package worker

import (
	"mithril/src/command"
	"mithril/src/pipe"
	"mithril/src/redirect"
	"mithril/src/resp"
	"mithril/src/script"
	"mithril/src/session"
)

// noteScript remembers the script that the request on offer brings, or makes all workers
// forget theirs.
func (w *Worker) noteScript(in session.Intent) {
	frame := w.Arena.Bytes(in.Frame)
	switch in.Command.Script {
	case command.ScriptBody:
		if body := w.env.Args[in.Command.ArgIndex].Of(frame); w.knownScripts().Remember(body) {
			w.Shared.Scripts.Remember(body)
		}
	case command.ScriptFlush:
		if isScriptFlush(frame, w.env.Args) {
			w.Shared.Scripts.Forget()
			w.Shared.Flushes.Add(1)
		}
	}
}

// isScriptFlush says that servers do what a SCRIPT FLUSH asks for: its only option is how.
func isScriptFlush(frame []byte, args []resp.Arg) bool {
	const option = 2
	return len(args) == option ||
		len(args) == option+1 && (resp.EqualFold(args[option].Of(frame), "sync") || resp.EqualFold(args[option].Of(frame), "async"))
}

// knownScripts is what the worker remembers, without what has been flushed by anyone.
func (w *Worker) knownScripts() *script.Memory {
	if n := w.Shared.Flushes.Load(); n != w.flushes {
		w.flushes = n
		w.scripts.Forget()
	}
	return &w.scripts
}

// reload sends a request again, behind the script that its node lacks, and says whether it
// did. It does so once, if the script is known, if the reply cannot be the script's own, and
// if no later request of the session is in flight, which would be overtaken.
func (w *Worker) reload(b *backend, r *pipe.Reply) bool {
	if !r.Has(pipe.BySHA) || r.Has(pipe.Loading|pipe.Passed) {
		return false
	}
	body, known := w.scriptOf(&r.Request)
	if !known || redirect.MayQuote(body) || redirect.MayQuote(w.Arena.Bytes(r.Frame)) || w.bounce(r.Owner, r.Seq) {
		return false
	}
	r.Traits |= pipe.Loading
	w.resend(waitingRequest{Request: r.Request, node: b.node.index})
	return true
}

// scriptOf returns the body of the script that a request names. It is valid until the next
// one is remembered or asked for.
func (w *Worker) scriptOf(r *pipe.Request) (body []byte, known bool) {
	var scan resp.RequestScanner
	frame := w.Arena.Bytes(r.Frame)
	args, _, status := scan.Scan(frame, &w.env.Limits, w.env.Args)
	w.env.Args = args
	const sha = 1
	if status != resp.Complete || len(args) <= sha {
		return nil, false
	}
	name := args[sha].Of(frame)
	if body, known = w.knownScripts().Body(name); !known {
		w.body, known = w.Shared.Scripts.AppendBody(w.body[:0], name)
		body = w.body
	}
	return body, known
}

// prefixOf is what goes before a request that is sent again. A script that has been
// forgotten meanwhile is left out.
func (w *Worker) prefixOf(r *pipe.Request) (before pipe.Prefix) {
	if r.Has(pipe.Asking) {
		before = pipe.AskingPrefix
	}
	if !r.Has(pipe.Loading) {
		return before
	}
	body, known := w.scriptOf(r)
	if !known {
		return before
	}
	w.scratch = append(w.scratch[:0], "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n"...)
	w.scratch = resp.AppendBulk(w.scratch, body)
	w.scratch = append(w.scratch, before.Bytes...)
	return pipe.Prefix{Bytes: w.scratch, Commands: before.Commands + 1}
}

// bypass gives a client connections of its own to nodes, as far as there may be more. A
// shared one may wait for the very script that is to be killed, and its node does not read
// on there before that has ended; and what follows a raw error there would be taken for
// somebody else's reply.
func (w *Worker) bypass(c *client, targets []owner) {
	for _, to := range targets {
		w.ownPipe(c, to.node)
	}
}

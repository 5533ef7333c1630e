package admin

import (
	"mithril/src/command"
	"mithril/src/stats"
)

// Survey is a request that every worker has a part in. Its reply is made of what all of them tell.
type Survey interface {
	// Visit notes what a worker tells. It is called once for each worker, on its thread, at the same time
	// as others.
	Visit(number int, w Worker)
	// AppendReply appends the reply. All workers have been visited.
	AppendReply(dst []byte) []byte
}

// Worker is what a survey may ask a worker for.
type Worker interface {
	// EachClient calls f for every client that is served. What f is given is changed after the call.
	EachClient(f func(c *Client))
	// EachCommand calls f for every command that has been called, with how often.
	EachCommand(f func(name string, calls uint64))
	// Snapshot is what the worker has counted.
	Snapshot() stats.Snapshot
}

// IsSurvey says that a command begins a survey, if it is well-formed.
func IsSurvey(c *command.Command) bool { return surveys[c.Name] != nil }

// surveys are the commands that begin a survey, by their full names. With one that is wrong they append a reply.
var surveys = map[string]func(s *Server, dst []byte, q *Query) (reply []byte, survey Survey){
	"client|list": (*Server).clientList,
	"info":        (*Server).info,
}

package admin

import (
	"mithril/src/command"
	"mithril/src/conf"
	"mithril/src/topology"
)

// Server answers queries. Every worker calls it, at the same time as others: it holds
// nothing that changes.
type Server struct {
	Conf  *conf.Config
	RunID string
	PID   int
	OS    string // as in "Linux 6.1.0-18-amd64 x86_64" (uname: system, release, machine)
	// Engine is the I/O engine that was chosen.
	Engine string
	// MaxClients is how many clients are served, which may be fewer than the setting.
	MaxClients int64
	// Map returns the current map, nil before the first.
	Map func() *topology.Snapshot

	// The functions below may be nil: what they tell is then not known.

	// CPU returns the processor time that the process has used, in seconds (getrusage).
	CPU func() (sys, user float64)
	// Memory returns how much memory the process takes, in bytes: that of the Go heap, and all that is resident.
	Memory func() (heap, resident uint64)
	// Clock returns the time of day, in microseconds since 1970.
	Clock func() int64
}

// answers are the commands that Server answers, by their full names.
var answers = map[string]func(s *Server, dst []byte, q *Query) []byte{
	"client|info":                   (*Server).clientInfo,
	"command":                       (*Server).command,
	"command|count":                 (*Server).commandCount,
	"command|info":                  (*Server).commandInfo,
	"command|docs":                  (*Server).commandDocs,
	"command|getkeys":               (*Server).commandGetKeys,
	"command|getkeysandflags":       (*Server).commandGetKeysAndFlags,
	"command|list":                  (*Server).commandList,
	"config|get":                    (*Server).configGet,
	"cluster|count-failure-reports": (*Server).clusterCountFailureReports,
	"cluster|info":                  (*Server).clusterInfo,
	"cluster|keyslot":               (*Server).clusterKeyslot,
	"cluster|links":                 (*Server).clusterLinks,
	"cluster|myid":                  (*Server).clusterMyID,
	"cluster|myshardid":             (*Server).clusterMyShardID,
	"cluster|nodes":                 (*Server).clusterNodes,
	"cluster|replicas":              (*Server).clusterReplicas,
	"cluster|shards":                (*Server).clusterShards,
	"cluster|slaves":                (*Server).clusterReplicas,
	"cluster|slots":                 (*Server).clusterSlots,
	"latency|doctor":                (*Server).latencyDoctor,
	"latency|graph":                 (*Server).latencyGraph,
	"latency|history":               (*Server).latencyHistory,
	"latency|latest":                (*Server).latencyLatest,
	"latency|reset":                 (*Server).latencyReset,
	"role":                          (*Server).role,
	"time":                          (*Server).time,
}

// Answer appends the reply to q, or begins a survey whose reply it is going to be. The arity of q has been checked.
func (s *Server) Answer(dst []byte, q *Query) (reply []byte, survey Survey) {
	if begin := surveys[q.Command.Name]; begin != nil {
		return begin(s, dst, q)
	}
	if answer := answers[q.Command.Name]; answer != nil {
		return answer(s, dst, q), nil
	}
	return command.AppendUnsupported(dst, q.Command), nil
}

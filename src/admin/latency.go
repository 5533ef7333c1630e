package admin

import (
	"mithril/src/resp"
	"mithril/src/topology"
)

// The proxy monitors no latencies. LATENCY is answered as on a server that has been up with
// latency-monitor-threshold 0, its default: there are no events.

func (s *Server) latencyLatest(dst []byte, _ *Query) []byte { return resp.AppendArray(dst, 0) }

func (s *Server) latencyHistory(dst []byte, _ *Query) []byte { return resp.AppendArray(dst, 0) }

// latencyReset answers with how many events have been forgotten.
func (s *Server) latencyReset(dst []byte, _ *Query) []byte { return resp.AppendInt(dst, 0) }

func (s *Server) latencyGraph(dst []byte, q *Query) []byte {
	return resp.AppendError(dst, "ERR No samples available for event '"+cString(q.Arg(2))+"'")
}

// latencyDoctor answers as a server does that has nothing to diagnose: each with its own name, and with its
// own page to read.
func (s *Server) latencyDoctor(dst []byte, q *Query) []byte {
	name, page := "Redis", "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency-monitor."
	switch v := q.Table.Version(); {
	case v.Engine == topology.EngineValkey:
		name, page = "Valkey", ""
	case v.Major == 7:
		page = "https://redis.io/topics/latency-monitor."
	}
	text := "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this " + name +
		" instance. You may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it."
	if page != "" {
		text += " If we weren't in a deep space mission I'd suggest to take a look at " + page
	}
	return resp.AppendVerbatim(dst, q.Proto, "txt", text+"\n")
}

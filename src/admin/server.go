package admin

import (
	"mithril/src/conf"
	"mithril/src/stats"
	"mithril/src/topology"
)

// Server answers queries. Every worker calls it, at the same time as others: it holds
// nothing that changes.
type Server struct {
	Conf    *conf.Config
	Started int64 // unix time of the start, seconds
	RunID   string
	// Map returns the current map, nil before the first.
	Map func() *topology.Snapshot
	// Boards are what the workers publish of themselves, by worker number.
	Boards []*stats.Board
}

// Answer appends the reply to q.
func (s *Server) Answer(dst []byte, q *Query) []byte { return dst }

package admin

// command answers COMMAND: the rows of everything that a client may call (ROUTE10).
func (s *Server) command(dst []byte, q *Query) []byte { return q.Table.AppendList(dst, q.Proto) }

func (s *Server) commandCount(dst []byte, q *Query) []byte { return q.Table.AppendCount(dst) }

// commandInfo answers COMMAND INFO [name ...].
func (s *Server) commandInfo(dst []byte, q *Query) []byte {
	return q.Table.AppendInfoReply(dst, q.rest(2), q.Proto)
}

// commandDocs answers COMMAND DOCS [name ...].
func (s *Server) commandDocs(dst []byte, q *Query) []byte {
	return q.Table.AppendDocsReply(dst, q.rest(2), q.Proto)
}

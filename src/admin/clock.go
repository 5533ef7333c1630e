package admin

import (
	"strconv"

	"mithril/src/resp"
)

// time answers TIME: the seconds since 1970 and the microseconds of the current one, as strings.
func (s *Server) time(dst []byte, _ *Query) []byte {
	const microsecondsPerSecond = 1_000_000
	var now int64
	if s.Clock != nil {
		now = s.Clock()
	}
	dst = resp.AppendArray(dst, 2)
	dst = resp.AppendBulkString(dst, strconv.FormatInt(now/microsecondsPerSecond, 10))
	return resp.AppendBulkString(dst, strconv.FormatInt(now%microsecondsPerSecond, 10))
}

package resp

// ReplyScanner frames the replies of one server. The zero value is ready.
type ReplyScanner struct {
	pos     int
	seen    int
	pending uint64
}

// Scan looks for one reply at the start of b.
func (s *ReplyScanner) Scan(b []byte) (n int, st Status) { return 0, NeedMore }

// Need returns the least number of bytes still missing after NeedMore: at least one, and exact (with the CRLF) while a string's
// body is awaited.
func (s *ReplyScanner) Need() int { return 1 }

package session

const (
	// OutstandingMax is how many requests of one session may be unanswered by the
	// nodes; then reading stops until half of them are answered.
	OutstandingMax = 64 << 10

	// creditMin is how many requests a new session may have open. Each reply allows one
	// more: who asks for a thousand large values before the first has come is noticed in
	// time.
	creditMin = 16

	// ExpectedBytesMax is how many bytes of replies a session may expect: its open
	// requests times the size of its latest replies.
	ExpectedBytesMax = 4 << 20
)

// mayOpenMore says that another request may be opened. One always may.
func (s *Session) mayOpenMore() bool {
	open := s.window.open()
	return open < s.credit && uint64(open)*uint64(s.typical) < ExpectedBytesMax
}

// mayOpen is how many requests may be open, at least one.
func (s *Session) mayOpen() uint32 {
	may := s.credit
	if s.typical > ExpectedBytesMax/OutstandingMax {
		may = min(may, max(1, uint32(ExpectedBytesMax/s.typical)))
	}
	return may
}

// learn notes the size of a reply. Larger ones count at once, smaller ones by and by.
func (s *Session) learn(size int) {
	if s.credit < OutstandingMax {
		s.credit++
	}
	if size > s.typical {
		s.typical = (s.typical + size + 1) / 2
	} else {
		s.typical -= (s.typical - size) >> 4
	}
}

// Heavy says that the session's replies are so large that they should not share a
// connection with those of others.
func (s *Session) Heavy(from int) bool { return s.typical > from }

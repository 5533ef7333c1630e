package resp

// Status is what a scanner says about the bytes it was shown.
type Status uint8

const (
	// NeedMore: the frame is not whole yet; Need tells the least that is missing.
	NeedMore Status = iota
	// Complete: a whole frame was found.
	Complete
	// CompleteInline: a whole inline request line was found. Its words are not listed as arguments because quotes and
	// escapes must be undone first: hand the line to AppendInline.
	CompleteInline
	// Invalid: the bytes break the protocol; the stream cannot be read any further.
	Invalid
)

// Arg is one argument of a request, or any other run of bytes in a frame: offset and length in bytes, relative to the frame's
// first byte.
type Arg struct{ Off, Len uint32 }

// Of returns the argument's bytes within its frame.
func (a Arg) Of(frame []byte) []byte {
	return frame[a.Off : a.Off+a.Len : a.Off+a.Len]
}

// Request limits of a Redis server (PROTO1).
const (
	argsMax                = 1<<31 - 1 // arguments of one request
	bulkBytesMax           = 512 << 20 // proto-max-bulk-len
	argsMaxUnauthenticated = 10
	bulkMaxUnauthenticated = 16 << 10
	lineBytesMax           = 64 << 10 // inline request, or header line, without its end in sight
	frameBytesMax          = 1 << 30  // client-query-buffer-limit
)

// RequestLimits bounds what a client may announce.
type RequestLimits struct {
	MaxArgs  uint32 // arguments of one request
	MaxBulk  uint32 // bytes of one argument
	MaxFrame uint32 // bytes of one request
}

var (
	// Authenticated holds the limits of a session that may issue commands.
	Authenticated = RequestLimits{MaxArgs: argsMax, MaxBulk: bulkBytesMax, MaxFrame: frameBytesMax}
	// Unauthenticated holds the limits of a session that must authenticate first.
	Unauthenticated = RequestLimits{MaxArgs: argsMaxUnauthenticated, MaxBulk: bulkMaxUnauthenticated, MaxFrame: frameBytesMax}
)

// RequestScanner frames the requests of one client. The zero value is ready.
type RequestScanner struct {
	pos       int
	seen      int
	remaining uint32
	violation Violation
}

// Scan looks for one request at the start of b.
func (s *RequestScanner) Scan(b []byte, lim *RequestLimits, args []Arg) (out []Arg, n int, st Status) {
	return args[:0], 0, NeedMore
}

// Need returns the least number of bytes still missing after NeedMore: at least one, and exact (with the CRLF) while an argument's
// body is awaited.
func (s *RequestScanner) Need() int { return 1 }

// Violation returns the rule broken after Invalid.
func (s *RequestScanner) Violation() Violation { return s.violation }

package resp

import "bytes"

// Status is what a scanner says about the bytes it was shown.
type Status uint8

const (
	// NeedMore: the frame is not whole yet; Need tells the least that is missing.
	NeedMore Status = iota
	// Complete: a whole frame was found.
	Complete
	// CompleteInline: a whole inline request line was found. Its words are not listed as arguments, because
	// quotes and escapes must be undone first: hand the line to AppendInline.
	CompleteInline
	// Invalid: the bytes break the protocol; the stream cannot be read any further.
	Invalid
)

// Arg is one argument of a request: offset and length in bytes, relative to the frame's first byte.
type Arg struct{ Off, Len uint32 }

// Of returns the argument's bytes within its frame.
func (a Arg) Of(frame []byte) []byte {
	return frame[a.Off : a.Off+a.Len : a.Off+a.Len]
}

// Limits of a Redis server's request reader (PROTO1).
const (
	argsMax                = 1<<31 - 1 // arguments of one request
	argsMaxUnauthenticated = 10
	bulkBytesMax           = 512 << 20 // proto-max-bulk-len
	bulkBytesMaxPreAuth    = 16 << 10
	lineBytesMax           = 64 << 10 // of a line without its end in sight; one byte more breaks the protocol
	frameBytesMax          = 1 << 30  // client-query-buffer-limit
	digitsMax              = 18       // decimal digits that fit an int64 whatever they are
)

// RequestLimits bounds what a client may announce.
type RequestLimits struct {
	MaxArgs  uint32 // arguments of one request
	MaxBulk  uint32 // bytes of one argument
	MaxFrame uint32 // bytes of one request as far as it is kept whole
	PreAuth  bool   // the session must authenticate first, and MaxArgs and MaxBulk are lower for that reason
}

// The server's own limits. Copy one to change it; both are read only.
var (
	Authenticated   = RequestLimits{MaxArgs: argsMax, MaxBulk: bulkBytesMax, MaxFrame: frameBytesMax}
	Unauthenticated = RequestLimits{
		MaxArgs: argsMaxUnauthenticated, MaxBulk: bulkBytesMaxPreAuth, MaxFrame: frameBytesMax, PreAuth: true,
	}
)

type requestState uint8

const (
	awaitFirst requestState = iota
	awaitLine
	awaitLength
	awaitBody
	broken
)

// RequestScanner frames the requests of one client. The zero value is ready.
type RequestScanner struct {
	pos       int       // awaitLength: start of the line; awaitBody: end of the argument, CRLF included
	have      int       // bytes shown at the last scan
	searched  int       // the end of an unfinished line is not before this offset
	remaining uint32    // arguments not whole yet
	violation Violation // set when broken
	state     requestState
	dropped   bool // some of the frame was discarded, so its arguments cannot be listed
}

// Scan looks for one request. b starts at the frame's first byte and holds everything received since, later
// frames included; after NeedMore the next call shows the same frame again with more bytes behind. args is
// scratch that is overwritten.
//
//	Complete        n is the frame's length in bytes, out its arguments, none when there is nothing to do
//	                ("*0", "*-1", an empty line)
//	CompleteInline  n is the line's length with its end
//	NeedMore        out and n mean nothing; see Need and Received
//	Invalid         see Violation; the scanner stays that way
//
// After Complete and CompleteInline the scanner is ready for the next frame.
func (s *RequestScanner) Scan(b []byte, lim *RequestLimits, args []Arg) (out []Arg, n int, st Status) {
	args = args[:0]
	var p int
	var left uint32
	if s.state == awaitFirst && len(b) >= 4 && b[0] == '*' && b[1]-'0' <= 9 && b[2] == '\r' && b[3] == '\n' &&
		uint32(b[1]-'0') <= lim.MaxArgs {
		p, left = 4, uint32(b[1]-'0')
	} else if p, left, st = s.resume(b, lim); st != Complete {
		return args, p, st
	}
	for ; left > 0; left-- {
		size, body := peelLength(b[p:])
		if body == 0 {
			if size, body, st = s.lengthLine(b, p, left); st != Complete {
				return args, 0, st
			}
		}
		body += p
		end := body + int(size) + len("\r\n")
		if size > uint64(lim.MaxBulk) || uint64(end) > uint64(lim.MaxFrame) {
			return args, 0, s.breach(tooLarge(size, lim))
		}
		if end > len(b) {
			s.wait(awaitBody, end, left, len(b))
			return args, 0, NeedMore
		}
		if b[end-2] != '\r' || b[end-1] != '\n' {
			return args, 0, s.breach(InvalidLineEnd)
		}
		args = append(args, Arg{Off: uint32(body), Len: uint32(size)})
		p = end
	}
	if s.state != awaitFirst {
		args = s.finish(b[:p], args[:0])
	}
	return args, p, Complete
}

// peelLength reads the line "$n" at the start of b when it is as plain as nearly all are: one or two digits,
// or some more without anything odd. It answers the length and the size of the line, 0 when lengthLine must
// look at it.
func peelLength(b []byte) (size uint64, line int) {
	if len(b) < len("$0\r\n\r\n") || b[0] != '$' {
		return 0, 0
	}
	first := uint64(b[1] - '0')
	if first <= 9 && b[2] == '\r' && b[3] == '\n' {
		return first, 4
	}
	if first-1 > 8 {
		return 0, 0
	}
	second := uint64(b[2] - '0')
	if second <= 9 && b[3] == '\r' && b[4] == '\n' {
		return first*10 + second, 5
	}
	return peelDigits(b)
}

// peelDigits is peelLength's loop for three and more digits, of which the first is known not to be a zero.
func peelDigits(b []byte) (size uint64, line int) {
	for i := 1; i < len(b)-1 && i <= digitsMax+1; i++ {
		digit := uint64(b[i] - '0')
		if digit > 9 {
			if b[i] == '\r' && b[i+1] == '\n' {
				return size, i + 2
			}
			break
		}
		size = size*10 + digit
	}
	return 0, 0
}

// resume goes on where the last scan stopped, which may be at the start of a frame. Complete means: left
// arguments follow from p on, perhaps none.
func (s *RequestScanner) resume(b []byte, lim *RequestLimits) (p int, left uint32, st Status) {
	switch s.state {
	case awaitFirst, awaitLine:
		return s.firstLine(b, lim)
	case broken:
		return 0, 0, Invalid
	case awaitBody:
		if len(b) < s.pos {
			s.have = len(b)
			return 0, 0, NeedMore
		}
		if b[s.pos-2] != '\r' || b[s.pos-1] != '\n' {
			return 0, 0, s.breach(InvalidLineEnd)
		}
		return s.pos, s.remaining - 1, Complete
	default:
		return s.pos, s.remaining, Complete
	}
}

// firstLine reads the line that opens a frame.
func (s *RequestScanner) firstLine(b []byte, lim *RequestLimits) (p int, left uint32, st Status) {
	if len(b) == 0 {
		return 0, 0, NeedMore
	}
	if b[0] != '*' {
		return s.inlineLine(b)
	}
	end, st := s.line(b, 0, TooBigCount)
	if st == NeedMore {
		s.wait(awaitLine, 0, 0, len(b))
	}
	if st != Complete {
		return 0, 0, st
	}
	count, ok := ParseInt(b[1:end])
	switch {
	case b[end+1] != '\n':
		return 0, 0, s.breach(InvalidLineEnd)
	case !ok || count > argsMax || count > int64(lim.MaxArgs) && !lim.PreAuth:
		return 0, 0, s.breach(InvalidCount)
	case count > int64(lim.MaxArgs):
		return 0, 0, s.breach(UnauthenticatedCount)
	}
	return end + len("\r\n"), uint32(max(count, 0)), Complete
}

// inlineLine looks for the end of an inline request. The servers read it as a C string: nothing past a zero
// byte is found, so such a line never ends and breaks the limit sooner or later.
func (s *RequestScanner) inlineLine(b []byte) (n int, left uint32, st Status) {
	from := s.searched
	fresh := b[from:min(len(b), lineBytesMax+1)]
	end := bytes.IndexByte(fresh, '\n')
	known := len(fresh)
	if end >= 0 {
		known = end
	}
	if zero := bytes.IndexByte(fresh[:known], 0); zero >= 0 {
		end, known = -1, zero
	}
	if end < 0 {
		if len(b) > lineBytesMax {
			return 0, 0, s.breach(TooBigInline)
		}
		s.searched = from + known
		s.wait(awaitLine, 0, 0, len(b))
		return 0, 0, NeedMore
	}
	*s = RequestScanner{}
	n = from + end + 1
	if n == 1 || n == 2 && b[0] == '\r' {
		return n, 0, Complete
	}
	return n, 0, CompleteInline
}

// lengthLine reads the line "$n" at p with all its oddities. It answers the length and the size of the line.
func (s *RequestScanner) lengthLine(b []byte, p int, left uint32) (size uint64, line int, st Status) {
	end, st := s.line(b, p, TooBigLength)
	if st == NeedMore {
		s.wait(awaitLength, p, left, len(b))
	}
	if st != Complete {
		return 0, 0, st
	}
	value, ok := int64(0), false
	if end > p {
		value, ok = ParseInt(b[p+1 : end])
	}
	switch {
	case b[p] != '$':
		return 0, 0, s.breach(ExpectedDollar | Violation(b[p])<<8)
	case b[end+1] != '\n':
		return 0, 0, s.breach(InvalidLineEnd)
	case !ok || value < 0:
		return 0, 0, s.breach(InvalidLength)
	}
	return uint64(value), end + len("\r\n") - p, Complete
}

// line finds the CR that ends the line starting at p and waits for the byte behind it.
func (s *RequestScanner) line(b []byte, p int, tooBig Violation) (end int, st Status) {
	from := max(p, s.searched)
	fresh := b[from:min(len(b), p+lineBytesMax+1)]
	i := bytes.IndexByte(fresh, '\r')
	switch {
	case i < 0 && len(b)-p > lineBytesMax:
		return 0, s.breach(tooBig)
	case i < 0:
		s.searched = from + len(fresh)
		return 0, NeedMore
	case from+i+1 >= len(b):
		s.searched = from + i
		return 0, NeedMore
	}
	return from + i, Complete
}

// tooLarge names the limit that an argument of size bytes exceeds.
func tooLarge(size uint64, lim *RequestLimits) Violation {
	switch {
	case size > bulkBytesMax || size > uint64(lim.MaxBulk) && !lim.PreAuth:
		return InvalidLength
	case size > uint64(lim.MaxBulk):
		return UnauthenticatedLength
	default:
		return TooBigRequest
	}
}

func (s *RequestScanner) wait(state requestState, pos int, left uint32, have int) {
	s.state, s.pos, s.remaining, s.have = state, pos, left, have
}

func (s *RequestScanner) breach(v Violation) Status {
	s.state, s.violation = broken, v
	return Invalid
}

// finish makes the scanner ready for the next frame and lists the arguments of a frame that came in pieces.
func (s *RequestScanner) finish(frame []byte, args []Arg) []Arg {
	if !s.dropped {
		args, _ = walk(frame, args)
	}
	*s = RequestScanner{}
	return args
}

package resp

import "mithril/src/invariant"

// Need returns the least number of bytes still missing after NeedMore: at least one, and exact (with the
// CRLF) while an argument's body is awaited. It says what the client announced: do not reserve memory by it.
func (s *RequestScanner) Need() int {
	if s.state == awaitBody {
		return s.pos - s.have
	}
	return 1
}

// Announced returns, after NeedMore, the least number of bytes the frame has, as far as its received part tells.
func (s *RequestScanner) Announced() int {
	if s.state == awaitBody {
		return s.pos
	}
	return s.have + 1
}

// Violation returns the rule broken after Invalid.
func (s *RequestScanner) Violation() Violation { return s.violation }

// Received lists, after NeedMore, the arguments of the unfinished frame that are whole, and how many the
// frame announces. b is what the scan was shown; args is scratch. Nothing may have been discarded.
func (s *RequestScanner) Received(b []byte, args []Arg) (out []Arg, announced uint32) {
	invariant.Assert(!s.dropped, "arguments are listed from a whole frame")
	if s.state != awaitLength && s.state != awaitBody {
		return args[:0], 0
	}
	count, p := trustedNumber(b)
	return walkFrom(b, p, count-s.remaining, args[:0]), count
}

// Settled returns, after NeedMore, how many of the frame's first bytes the scanner has done with: those may
// be passed on and discarded.
func (s *RequestScanner) Settled() int {
	if s.state == awaitBody {
		return min(s.have, s.pos-len("\r\n"))
	}
	return s.pos
}

// Discard tells that the first n bytes shown are gone, n at most Settled. The frame then starts after them
// for the next Scan, and its arguments are not listed any more.
func (s *RequestScanner) Discard(n int) {
	invariant.Assert(0 <= n && n <= s.Settled(), "only settled bytes are discarded")
	s.pos -= n
	s.have -= n
	s.searched = max(s.searched-n, 0)
	s.dropped = s.dropped || n > 0
}

// walk lists the arguments of a frame that a scan has found to be complete.
func walk(frame []byte, args []Arg) (out []Arg, n int) {
	if frame[0] != '*' || frame[1] == '-' {
		return args, len(frame)
	}
	count, p := trustedNumber(frame)
	return walkFrom(frame, p, count, args), len(frame)
}

// walkFrom lists count arguments from offset p on; all of them have been scanned before.
func walkFrom(b []byte, p int, count uint32, args []Arg) []Arg {
	for ; count > 0; count-- {
		size, line := trustedNumber(b[p:])
		args = append(args, Arg{Off: uint32(p + line), Len: size})
		p += line + int(size) + len("\r\n")
	}
	return args
}

// trustedNumber reads the number of a header line that was scanned before, and tells the line's size.
func trustedNumber(b []byte) (n uint32, line int) {
	i := 1
	for ; b[i] != '\r'; i++ {
		n = n*10 + uint32(b[i]-'0')
	}
	return n, i + len("\r\n")
}

// ParseInt reads a decimal as the servers do it: an optional minus, no plus, no leading zero, within 64 bits.
func ParseInt(text []byte) (v int64, ok bool) {
	digits := text
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > digitsMax+1 || digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	var u uint64 // 19 digits fit
	for _, c := range digits {
		if c-'0' > 9 {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u), true
	case !negative && u < 1<<63:
		return int64(u), true
	}
	return 0, false
}

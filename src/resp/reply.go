package resp

import (
	"bytes"

	"mithril/src/invariant"
)

// Bounds on what a node may announce. They are far beyond what a server can hold and keep the scanner's sums
// from overflowing.
const (
	replyStringBytesMax   = 1 << 40
	replyElementsMax      = 1 << 40 // of one aggregate
	replyPendingMax       = 1 << 56 // of all open aggregates together
	replyIntegerDigitsMax = 20
)

type replyState uint8

const (
	awaitReply replyState = iota
	awaitElement
	awaitString
	brokenReply
)

// ReplyScanner frames the replies of one node. The zero value is ready.
type ReplyScanner struct {
	pos      int    // awaitElement: start of its line; awaitString: end of the string, CRLF included
	have     int    // bytes shown at the last scan
	searched int    // the end of an unfinished text line is not before this offset
	pending  uint64 // elements still owed, the unfinished one included
	state    replyState
}

// Scan looks for one reply: a value of any RESP2 or RESP3 type with everything nested in it, and the
// attributes before it. b starts at the reply's first byte and holds everything received since, later replies
// included; after NeedMore the next call shows the same reply again with more bytes behind. On Complete n is
// its length in bytes and the scanner is ready for the next one. A push is a frame of its own: it is told by
// its first byte. After Invalid the scanner stays that way.
func (s *ReplyScanner) Scan(b []byte) (n int, st Status) {
	p, pending := 0, uint64(1)
	if s.state != awaitReply {
		if p, pending, st = s.resume(b); st != Complete {
			return 0, st
		}
	}
	for pending > 0 {
		rest := b[p:]
		if len(rest) < len("_\r\n") {
			return s.wait(awaitElement, p, pending, len(b))
		}
		size, line := 0, 0
		switch rest[0] {
		case '$', '=', '!':
			if size, line = stringHeader(rest); size >= 0 && line > 0 {
				end := p + line + size + len("\r\n")
				if end > len(b) {
					return s.wait(awaitString, end, pending, len(b))
				}
				if b[end-2] != '\r' || b[end-1] != '\n' {
					return s.fail()
				}
				line = end - p
			}
			pending--
		case '+', '-', ',', '(':
			line = s.textLine(b, p)
			pending--
		case ':':
			line = integerLine(rest)
			pending--
		case '*', '~', '>', '%', '|':
			var add uint64
			add, line = aggregateHeader(rest)
			if pending += add; pending > replyPendingMax {
				return s.fail()
			}
			pending--
		default:
			line = constantLine(rest)
			pending--
		}
		if line == 0 {
			return s.wait(awaitElement, p, pending+1, len(b))
		}
		if line < 0 {
			return s.fail()
		}
		p += line
	}
	if s.state != awaitReply {
		*s = ReplyScanner{}
	}
	return p, Complete
}

// resume goes on where the last scan stopped. Complete means: pending elements follow from p on, perhaps
// none.
func (s *ReplyScanner) resume(b []byte) (p int, pending uint64, st Status) {
	switch s.state {
	case brokenReply:
		return 0, 0, Invalid
	case awaitString:
		if len(b) < s.pos {
			s.have = len(b)
			return 0, 0, NeedMore
		}
		if b[s.pos-2] != '\r' || b[s.pos-1] != '\n' {
			_, st = s.fail()
			return 0, 0, st
		}
		return s.pos, s.pending - 1, Complete
	default:
		return s.pos, s.pending, Complete
	}
}

func (s *ReplyScanner) wait(state replyState, pos int, pending uint64, have int) (int, Status) {
	s.state, s.pos, s.pending, s.have = state, pos, pending, have
	return 0, NeedMore
}

func (s *ReplyScanner) fail() (int, Status) {
	s.state = brokenReply
	return 0, Invalid
}

// Need returns the least number of bytes still missing after NeedMore: at least one, and exact (with the
// CRLF) while a string's body is awaited. It says what the node announced: do not reserve memory by it.
func (s *ReplyScanner) Need() int {
	if s.state == awaitString {
		return s.pos - s.have
	}
	return 1
}

// Announced returns, after NeedMore, the least number of bytes the reply has, as far as its received part tells.
func (s *ReplyScanner) Announced() int {
	if s.state == awaitString {
		return s.pos
	}
	return s.have + 1
}

// Settled returns, after NeedMore, how many of the reply's first bytes the scanner has done with: those may
// be passed on and discarded.
func (s *ReplyScanner) Settled() int {
	if s.state == awaitString {
		return min(s.have, s.pos-len("\r\n"))
	}
	return s.pos
}

// Discard tells that the first n bytes shown are gone, n at most Settled. The reply then starts after them
// for the next Scan.
func (s *ReplyScanner) Discard(n int) {
	invariant.Assert(0 <= n && n <= s.Settled(), "only settled bytes are discarded")
	s.pos -= n
	s.have -= n
	s.searched = max(s.searched-n, 0)
}

// textLine returns the size of the line at p whose content is free text, 0 when its end is not in sight. A CR
// or LF alone is text.
func (s *ReplyScanner) textLine(b []byte, p int) int {
	if rest := b[p:]; len(rest) >= len("+OK\r\n") && string(rest[:5]) == "+OK\r\n" {
		return 5
	}
	for from := max(p+1, s.searched); ; {
		i := bytes.IndexByte(b[from:], '\r')
		switch {
		case i < 0:
			s.searched = len(b)
			return 0
		case from+i+1 >= len(b):
			s.searched = from + i
			return 0
		case b[from+i+1] == '\n':
			return from + i + 2 - p
		}
		from += i + 1
	}
}

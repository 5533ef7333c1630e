package resp

import (
	"bytes"
	"math/big"
	"regexp"
	"strconv"
)

// The twins here read the grammar off whole lines, with regular expressions and recursion: slow, and nothing
// like the scanners.

var decimalLine = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// twinInt reads a decimal within 64 bits.
func twinInt(text []byte) (int64, bool) {
	if !decimalLine.Match(text) {
		return 0, false
	}
	v, _ := new(big.Int).SetString(string(text), 10)
	return v.Int64(), v.IsInt64()
}

type twinRequestResult struct {
	args      []string
	n         int
	status    Status
	violation Violation
}

// twinLine cuts the line at the start of b at its first CR.
func twinLine(b []byte) (line, after []byte, tooBig, whole bool) {
	before, after, found := bytes.Cut(b, []byte("\r"))
	if len(before) > lineBytesMax || !found {
		return nil, nil, len(b) > lineBytesMax, false
	}
	return before, after, false, len(after) > 0
}

func twinLineRequest(b []byte) (r twinRequestResult) {
	cString, _, _ := bytes.Cut(b, []byte{0})
	line, _, found := bytes.Cut(cString, []byte("\n"))
	switch {
	case (!found || len(line) > lineBytesMax) && len(b) > lineBytesMax:
		return twinRequestResult{status: Invalid, violation: TooBigInline}
	case !found:
		return r
	case len(bytes.TrimSuffix(line, []byte("\r"))) == 0:
		return twinRequestResult{n: len(line) + 1, status: Complete}
	}
	return twinRequestResult{n: len(line) + 1, status: CompleteInline}
}

func twinRequest(b []byte, lim RequestLimits) (r twinRequestResult) {
	bad := func(v Violation) twinRequestResult { return twinRequestResult{status: Invalid, violation: v} }
	if len(b) == 0 {
		return r
	}
	if b[0] != '*' {
		return twinLineRequest(b)
	}
	line, after, tooBig, whole := twinLine(b)
	switch {
	case tooBig:
		return bad(TooBigCount)
	case !whole:
		return r
	case after[0] != '\n':
		return bad(InvalidLineEnd)
	}
	count, ok := twinInt(line[1:])
	if !ok || count > 1<<31-1 {
		return bad(InvalidCount)
	}
	if count > int64(lim.MaxArgs) {
		return bad(UnauthenticatedCount)
	}
	var twinArgs func(rest []byte, left int64) twinRequestResult
	twinArgs = func(rest []byte, left int64) (r twinRequestResult) {
		if left <= 0 {
			return twinRequestResult{n: len(b) - len(rest), status: Complete}
		}
		line, after, tooBig, whole := twinLine(rest)
		switch {
		case tooBig:
			return bad(TooBigLength)
		case !whole:
			return r
		case rest[0] != '$':
			return bad(ExpectedDollar | Violation(rest[0])<<8)
		case after[0] != '\n':
			return bad(InvalidLineEnd)
		}
		size, ok := twinInt(line[1:])
		if !ok || size < 0 || size > 512<<20 {
			return bad(InvalidLength)
		}
		if size > int64(lim.MaxBulk) {
			return bad(UnauthenticatedLength)
		}
		body := after[1:]
		if int64(len(b)-len(body))+size+2 > int64(lim.MaxFrame) {
			return bad(TooBigRequest)
		}
		if int64(len(body)) < size+2 {
			return r
		}
		if string(body[size:size+2]) != "\r\n" {
			return bad(InvalidLineEnd)
		}
		r = twinArgs(body[size+2:], left-1)
		r.args = append([]string{string(body[:size])}, r.args...)
		return r
	}
	return twinArgs(after[1:], count)
}

var (
	replyIntegerLine = regexp.MustCompile(`^[+-]?[0-9]{1,20}$`)
	replyHeaderLine  = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)
)

// twinReply answers the size of the reply at the start of b. It finds faults only in lines whose end it sees.
func twinReply(b []byte) (n int, st Status) {
	if len(b) < 3 {
		return 0, NeedMore
	}
	line, after, found := bytes.Cut(b, []byte("\r\n"))
	if !found {
		return 0, NeedMore
	}
	if len(line) == 0 {
		return 0, Invalid
	}
	n = len(line) + 2
	kind, text := line[0], line[1:]
	null := string(text) == "-1"
	number, err := strconv.ParseInt(string(text), 10, 64)
	header := replyHeaderLine.Match(text) && err == nil && number <= 1<<40
	valid := false
	children := int64(0)
	switch kind {
	case '+', '-', ',', '(':
		valid = true
	case ':':
		valid = replyIntegerLine.Match(text)
	case '_':
		valid = len(text) == 0
	case '#':
		valid = string(text) == "t" || string(text) == "f"
	case '$', '=', '!':
		if kind == '$' && null {
			return n, Complete
		}
		if !header {
			return 0, Invalid
		}
		if int64(len(after)) < number+2 {
			return 0, NeedMore
		}
		if string(after[number:number+2]) != "\r\n" {
			return 0, Invalid
		}
		return n + int(number) + 2, Complete
	case '*', '~', '>':
		valid, children = header || kind == '*' && null, number
	case '%':
		valid, children = header, 2*number
	case '|':
		valid, children = header, 2*number+1 // and the reply it belongs to
	}
	if !valid {
		return 0, Invalid
	}
	for ; children > 0; children-- {
		size, st := twinReply(b[n:])
		if st != Complete {
			return 0, st
		}
		n += size
	}
	return n, Complete
}

// twinInline splits an inline line byte by byte with a state per kind of place.
func twinInline(line []byte) (words []string, ok bool) {
	const (
		between = iota
		bare
		double
		single
		closed
	)
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	space := func(c byte) bool { return bytes.IndexByte([]byte(" \t\n\v\f\r"), c) >= 0 }
	escapes := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}
	hex := regexp.MustCompile(`^\\x[0-9a-fA-F]{2}`)
	state, word := between, ""
	for len(line) > 0 {
		c, size := line[0], 1
		switch {
		case state == between && space(c):
		case state == closed && !space(c):
			return nil, false
		case state == closed, state == bare && space(c) && c != '\v' && c != '\f':
			words, word, state = append(words, word), "", between
		case (state == between || state == bare) && c == '"':
			state = double
		case (state == between || state == bare) && c == '\'':
			state = single
		case state == between || state == bare:
			word, state = word+string([]byte{c}), bare
		case state == double && c == '"', state == single && c == '\'':
			state = closed
		case state == double && hex.Match(line):
			v, _ := strconv.ParseUint(string(line[2:4]), 16, 8)
			word, size = word+string([]byte{byte(v)}), 4
		case state == double && c == '\\' && len(line) > 1:
			e, known := escapes[line[1]]
			if !known {
				e = line[1]
			}
			word, size = word+string([]byte{e}), 2
		case state == single && bytes.HasPrefix(line, []byte(`\'`)):
			word, size = word+"'", 2
		default:
			word += string([]byte{c})
		}
		line = line[size:]
	}
	if state == double || state == single {
		return nil, false
	}
	if state != between {
		words = append(words, word)
	}
	return words, true
}

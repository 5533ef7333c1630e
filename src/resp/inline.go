package resp

import "strconv"

// AppendInline re-encodes an inline request line, with or without its line end, as a RESP array, so that it
// can be scanned and forwarded like any other request (scan it with the Authenticated limits: an inline
// request is not subject to others). argc is the number of words; 0 means that there is nothing to do, and
// nothing is appended then.
//
// The rules are those of redis-cli and Redis: words are separated by white space; within double quotes \xHH,
// \n, \r, \t, \b and \a stand for bytes and \ before anything else for that thing; within single quotes only
// \' does; a quoted part ends its word.
func AppendInline(dst, line []byte) (out []byte, argc int, v Violation) {
	base := len(dst)
	for i := skipSpace(line, 0); i < len(line); i = skipSpace(line, i) {
		start := len(dst)
		if dst, i, v = appendWord(dst, line, i); v != NoViolation {
			return dst[:base], 0, v
		}
		dst = append(insertHeader(dst, start, '$', len(dst)-start), '\r', '\n')
		argc++
	}
	if argc > 0 {
		dst = insertHeader(dst, base, '*', argc)
	}
	return dst, argc, NoViolation
}

// appendWord appends the word that starts at line[i] and returns the offset behind it.
func appendWord(dst, line []byte, i int) (out []byte, next int, v Violation) {
	for ; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\r', '\n':
			return dst, i, NoViolation
		case '"', '\'':
			if c == '"' {
				dst, i = appendDoubleQuoted(dst, line, i+1)
			} else {
				dst, i = appendSingleQuoted(dst, line, i+1)
			}
			if i >= len(line) || i+1 < len(line) && !isSpace(line[i+1]) {
				return dst, i, UnbalancedQuotes
			}
			return dst, i + 1, NoViolation
		default:
			dst = append(dst, c)
		}
	}
	return dst, i, NoViolation
}

// appendDoubleQuoted appends what stands before the closing quote and returns the quote's offset, len(line)
// when there is none.
func appendDoubleQuoted(dst, line []byte, i int) (out []byte, quote int) {
	for ; i < len(line) && line[i] != '"'; i++ {
		c := line[i]
		if c == '\\' && i+1 < len(line) {
			i++
			c = unescape(line[i])
			if line[i] == 'x' && i+2 < len(line) && hexValue(line[i+1]) < 16 && hexValue(line[i+2]) < 16 {
				c = hexValue(line[i+1])<<4 | hexValue(line[i+2])
				i += 2
			}
		}
		dst = append(dst, c)
	}
	return dst, i
}

// appendSingleQuoted is appendDoubleQuoted for single quotes.
func appendSingleQuoted(dst, line []byte, i int) (out []byte, quote int) {
	for ; i < len(line) && line[i] != '\''; i++ {
		if line[i] == '\\' && i+1 < len(line) && line[i+1] == '\'' {
			i++
		}
		dst = append(dst, line[i])
	}
	return dst, i
}

// insertHeader puts a header line in front of what dst holds from offset at on.
func insertHeader(dst []byte, at int, kind byte, n int) []byte {
	var buf [24]byte
	header := append(strconv.AppendInt(append(buf[:0], kind), int64(n), 10), '\r', '\n')
	dst = append(dst, header...)
	copy(dst[at+len(header):], dst[at:])
	copy(dst[at:], header)
	return dst
}

func skipSpace(line []byte, i int) int {
	for i < len(line) && isSpace(line[i]) {
		i++
	}
	return i
}

// isSpace is C's isspace in the C locale.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

// hexValue returns the value of a hexadecimal digit, 16 for anything else.
func hexValue(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

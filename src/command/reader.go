package command

import (
	"fmt"
	"strconv"
	"strings"
)

// reader walks over one RESP3 value after another of a whole reply. The first error sticks, and all that follows is zero.
type reader struct {
	text string
	pos  int
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %s", r.pos, fmt.Sprintf(format, args...))
	}
}

// line returns the type byte and the rest of the line at the position, and steps over it.
func (r *reader) line() (kind byte, rest string) {
	if r.err != nil {
		return 0, ""
	}
	end := strings.Index(r.text[r.pos:], "\r\n")
	if end < 1 {
		r.fail("want a RESP3 value, have %.20q", r.text[r.pos:])
		return 0, ""
	}
	kind, rest = r.text[r.pos], r.text[r.pos+1:r.pos+end]
	r.pos += end + 2
	return kind, rest
}

func (r *reader) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		r.fail("want a number, have %.20q", text)
		return 0
	}
	return n
}

// count reads the header of an array, set or map, and returns its number of elements or pairs.
func (r *reader) count(kinds string) int {
	kind, rest := r.line()
	if r.err == nil && strings.IndexByte(kinds, kind) < 0 {
		r.fail("want one of %q, have %q", kinds, kind)
	}
	n := r.number(rest)
	if n < 0 || n > len(r.text)-r.pos {
		r.fail("%d elements", n)
	}
	if r.err != nil {
		return 0
	}
	return n
}

// small reads an integer of 16 bits, as which every number of a row fits.
func (r *reader) small() int16 {
	kind, rest := r.line()
	if r.err == nil && kind != ':' {
		r.fail("want an integer, have %q", kind)
	}
	n := r.number(rest)
	if int(int16(n)) != n {
		r.fail("%d is beyond 16 bits", n)
	}
	return int16(n)
}

// string reads a status or bulk string.
func (r *reader) string() string {
	kind, rest := r.line()
	switch kind {
	case '+':
		return rest
	case '$':
		n := r.number(rest)
		if n < 0 || n > len(r.text)-r.pos-2 {
			r.fail("a string of %d bytes", n)
			return ""
		}
		s := r.text[r.pos : r.pos+n]
		r.pos += n + 2
		return s
	}
	r.fail("want a string, have %q", kind)
	return ""
}

// strings reads an array or set of strings.
func (r *reader) strings() []string {
	var list []string
	for range r.count("*~") {
		list = append(list, r.string())
	}
	return list
}

// skip steps over one value of any type, nulls too, and returns its text. A COMMAND reply nests as deep as its command's arguments; the
// stack does not grow with it.
func (r *reader) skip() string {
	start := r.pos
	for left := 1; left > 0 && r.err == nil; left-- {
		kind, rest := r.line()
		switch kind {
		case '*', '~', '%', '$':
			n := r.number(rest)
			if n == -1 && (kind == '*' || kind == '$') {
				continue
			}
			if n < 0 || n > len(r.text)-r.pos {
				r.fail("a size of %d", n)
				return ""
			}
			switch kind {
			case '$':
				r.pos = min(r.pos+n+len("\r\n"), len(r.text))
			case '%':
				left += 2 * n
			default:
				left += n
			}
		case '+', ':', ',', '#', '_':
		default:
			r.fail("want a RESP3 value, have %q", kind)
		}
	}
	if r.err != nil {
		return ""
	}
	return r.text[start:r.pos]
}

// end fails unless the whole text was read.
func (r *reader) end() {
	if r.pos != len(r.text) {
		r.fail("%d bytes behind the reply", len(r.text)-r.pos)
	}
}

package topology

import (
	"bytes"
	"fmt"
	"strconv"
)

// cursor walks one RESP2 or RESP3 reply without building a tree of it: a map of a large cluster is megabytes of small
// values, of which only the nodes' names are kept. It reads each byte once, never recurses, and answers an error that says
// where the reply is not what it should be. Callers stop at the first error.
type cursor struct {
	reply []byte
	pos   int
}

// noValue is the size of a null aggregate.
const noValue = -1

func (c *cursor) errorf(at int, format string, args ...any) error {
	return located{fmt.Errorf("byte %d: "+format, append([]any{at}, args...)...)}
}

// header reads one line and answers its type byte and the rest.
func (c *cursor) header() (kind byte, rest []byte, err error) {
	end := bytes.IndexByte(c.reply[c.pos:], '\n')
	if end < 2 || c.reply[c.pos+end-1] != '\r' {
		return 0, nil, c.errorf(c.pos, "the reply ends or breaks inside a line")
	}
	line := c.reply[c.pos : c.pos+end-1]
	c.pos += end + 1
	return line[0], line[1:], nil
}

// size reads a count that stands for at least that many of the bytes that follow.
func (c *cursor) size(at int, text []byte) (int, error) {
	if string(text) == "-1" {
		return noValue, nil
	}
	n, ok := decimal(text)
	if !ok {
		return 0, c.errorf(at, "bad length %q", clip(text))
	}
	if n > len(c.reply)-c.pos {
		return 0, c.errorf(at, "length %d is beyond the end of the reply", n)
	}
	return n, nil
}

// array reads the header of an array (or set, or push) and answers its number of elements.
func (c *cursor) array(what string) (int, error) {
	return c.aggregate(what, 1)
}

// pairs reads the header of a map, or of the array that stands for it in RESP2, and answers its number of pairs.
func (c *cursor) pairs(what string) (int, error) {
	return c.aggregate(what, 2)
}

func (c *cursor) aggregate(what string, unit int) (int, error) {
	at := c.pos
	kind, rest, err := c.header()
	if err != nil {
		return 0, err
	}
	isMap := kind == '%' && unit == 2
	if kind != '*' && kind != '~' && !isMap {
		return 0, c.errorf(at, "%s is %s, want an array", what, describe(kind, rest))
	}
	n, err := c.size(at, rest)
	if err != nil {
		return 0, err
	}
	if n == noValue {
		return 0, c.errorf(at, "%s is null, want an array", what)
	}
	if isMap {
		return n, nil
	}
	if n%unit != 0 {
		return 0, c.errorf(at, "%s has %d elements, want pairs", what, n)
	}
	return n / unit, nil
}

// text reads a string, or answers nil for a null. A verbatim string keeps its format mark (RESP3, "txt:").
func (c *cursor) text(what string) ([]byte, error) {
	at := c.pos
	kind, rest, err := c.header()
	switch {
	case err != nil:
		return nil, err
	case kind == '+':
		return rest, nil
	case kind == '_':
		return nil, nil
	case kind != '$' && kind != '=':
		return nil, c.errorf(at, "%s is %s, want a string", what, describe(kind, rest))
	}
	n, err := c.size(at, rest)
	if err != nil || n == noValue {
		return nil, err
	}
	end := c.pos + n
	if len(c.reply)-end < 2 || c.reply[end] != '\r' || c.reply[end+1] != '\n' {
		return nil, c.errorf(at, "%s does not end where its length says", what)
	}
	value := c.reply[c.pos:end:end]
	c.pos = end + 2
	return value, nil
}

// integer reads an integer from 0 to highest.
func (c *cursor) integer(what string, highest int) (int, error) {
	at := c.pos
	kind, rest, err := c.header()
	if err != nil {
		return 0, err
	}
	if kind != ':' {
		return 0, c.errorf(at, "%s is %s, want an integer", what, describe(kind, rest))
	}
	n, ok := decimal(rest)
	if !ok || n > highest {
		return 0, c.errorf(at, "%s is %q, want 0 to %d", what, clip(rest), highest)
	}
	return n, nil
}

// skip passes over one value of any type and nesting. Nesting costs a counter, not a stack frame.
func (c *cursor) skip() error {
	for pending := 1; pending > 0; pending-- {
		at := c.pos
		kind, rest, err := c.header()
		if err != nil {
			return err
		}
		switch kind {
		case '+', '-', ':', '_', ',', '#', '(':
			continue
		case '$', '=', '!', '*', '~', '>', '%', '|':
		default:
			return c.errorf(at, "unknown type byte %q", kind)
		}
		n, err := c.size(at, rest)
		if err != nil {
			return err
		}
		switch {
		case n == noValue:
		case kind == '*' || kind == '~' || kind == '>':
			pending += n
		case kind == '%':
			pending += 2 * n
		case kind == '|': // an attribute stands before the value that it describes
			pending += 2*n + 1
		case len(c.reply)-c.pos < n+2 || string(c.reply[c.pos+n:c.pos+n+2]) != "\r\n":
			return c.errorf(at, "a string does not end where its length says")
		default:
			c.pos += n + 2
		}
	}
	return nil
}

// end checks that nothing follows.
func (c *cursor) end() error {
	if c.pos != len(c.reply) {
		return c.errorf(c.pos, "%d bytes follow the reply", len(c.reply)-c.pos)
	}
	return nil
}

// decimal reads digits; ok is false for anything else and for numbers that no reply can hold.
func decimal(text []byte) (n int, ok bool) {
	const digitsMax = 15
	if len(text) == 0 || len(text) > digitsMax {
		return 0, false
	}
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		n = n*10 + int(digit-'0')
	}
	return n, true
}

var kindNames = map[byte]string{
	'+': "a string", '$': "a string", '=': "a string", ':': "an integer", '*': "an array", '~': "a set", '>': "a push",
	'%': "a map", '|': "an attribute", '_': "null", ',': "a double", '#': "a boolean", '(': "a big number",
}

// describe names what was found for an error text.
func describe(kind byte, rest []byte) string {
	switch name := kindNames[kind]; {
	case kind == '-' || kind == '!':
		return fmt.Sprintf("the error %q", clip(rest))
	case name == "":
		return "of the unknown type " + strconv.QuoteRune(rune(kind))
	default:
		return name
	}
}

// clip keeps error texts short whatever a node sends.
func clip(text []byte) []byte {
	const bytesMax = 128
	return text[:min(len(text), bytesMax)]
}

// located is an error that says at which byte it is.
type located struct{ error }

// locate adds the place to an error that does not have one.
func locate(c *cursor, at int, err error) error {
	if _, ok := err.(located); ok {
		return err
	}
	return c.errorf(at, "%w", err)
}

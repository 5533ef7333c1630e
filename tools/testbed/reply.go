package testbed

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Error is an error reply without its leading '-'. Compare it as text:
// Error("ERR unknown command ...").
type Error string

// Error returns the reply's text.
func (e Error) Error() string { return string(e) }

// Map is a RESP3 map: keys and values in turn, in wire order.
type Map []any

// Get returns the value of a string key, nil if the key is missing.
func (m Map) Get(key string) any {
	for i := 0; i+1 < len(m); i += 2 {
		if m[i] == key {
			return m[i+1]
		}
	}
	return nil
}

// Set is a RESP3 set in wire order.
type Set []any

// Push is a RESP3 push frame; the first element names its kind.
type Push []any

// BigNumber is a RESP3 big number as written.
type BigNumber string

// Verbatim is a RESP3 verbatim string.
type Verbatim struct {
	Format string // three characters, as txt
	Text   string
}

const (
	replyDepthMax = 64      // aggregates inside each other
	replyBytesMax = 1 << 30 // one string
	replyItemsMax = 1 << 24 // one aggregate
)

// replyReader reads frames and can keep their exact bytes.
type replyReader struct {
	r         *bufio.Reader
	recording bool
	recorded  []byte
}

func (p *replyReader) read(depth int) (any, error) {
	if depth > replyDepthMax {
		return nil, fmt.Errorf("reply nested deeper than %d", replyDepthMax)
	}
	line, err := p.line()
	if err != nil {
		return nil, err
	}
	if line == "" {
		return nil, fmt.Errorf("empty line where a reply type was expected")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return Error(text), nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '_':
		return nil, nil
	case '#':
		if text != "t" && text != "f" {
			return nil, fmt.Errorf("boolean %q is neither t nor f", text)
		}
		return text == "t", nil
	case ',':
		if text == "-nan" { // as Redis 7.0 writes some
			text = "nan"
		}
		return strconv.ParseFloat(text, 64)
	case '(':
		return BigNumber(text), nil
	case '$', '!', '=':
		return p.bulk(kind, text)
	case '*', '~', '>', '%', '|':
		return p.aggregate(kind, text, depth)
	}
	return nil, fmt.Errorf("unknown reply type %q in line %q", kind, line)
}

func (p *replyReader) bulk(kind byte, length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < -1 || n > replyBytesMax {
		return nil, fmt.Errorf("string length %q is not in -1..%d", length, replyBytesMax)
	}
	if n == -1 {
		return nil, nil
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(p.r, body); err != nil {
		return nil, err
	}
	p.record(body)
	if body[n] != '\r' || body[n+1] != '\n' {
		return nil, fmt.Errorf("string of length %d ends in %q, not in CR LF", n, body[n:])
	}
	text := string(body[:n])
	switch kind {
	case '!':
		return Error(text), nil
	case '=':
		format, rest, ok := strings.Cut(text, ":")
		if !ok || len(format) != 3 {
			return nil, fmt.Errorf("verbatim string %q does not start with a format and a colon", text)
		}
		return Verbatim{Format: format, Text: rest}, nil
	}
	return text, nil
}

func (p *replyReader) aggregate(kind byte, count string, depth int) (any, error) {
	n, err := strconv.Atoi(count)
	if err != nil || n < -1 || n > replyItemsMax {
		return nil, fmt.Errorf("aggregate count %q is not in -1..%d", count, replyItemsMax)
	}
	if n == -1 {
		return nil, nil
	}
	if kind == '%' || kind == '|' {
		n *= 2
	}
	items := []any{}
	for range n {
		item, err := p.read(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	switch kind {
	case '%':
		return Map(items), nil
	case '~':
		return Set(items), nil
	case '>':
		return Push(items), nil
	case '|':
		return p.read(depth + 1) // the attribute's reply follows it
	}
	return items, nil
}

// line reads up to CR LF and returns the line without it.
func (p *replyReader) line() (string, error) {
	line, err := p.r.ReadString('\n')
	p.record([]byte(line))
	if err != nil {
		if err == io.EOF && line != "" {
			err = io.ErrUnexpectedEOF
		}
		return "", err
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return "", fmt.Errorf("line %q ends in LF without CR", line)
	}
	return text, nil
}

func (p *replyReader) record(b []byte) {
	if p.recording {
		p.recorded = append(p.recorded, b...)
	}
}

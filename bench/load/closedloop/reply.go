package closedloop

import (
	"bytes"
	"fmt"
	"strconv"
)

// lineBytesMax bounds a header or a simple reply; an error's text counts too.
const lineBytesMax = 64 << 10

// scanner finds the ends of replies in a stream that is cut anywhere. Between two calls it stands before a line,
// in one, or in the body of a bulk string.
type scanner struct {
	line  []byte // the start of a line whose end has not arrived
	body  int    // bytes of a bulk string, its line end included, that have not arrived
	items int    // elements of the current array that have not begun
	kind  byte   // first byte of the current reply, 0 before it
	null  bool   // the current reply is, or has among its elements, a null
}

// next consumes bytes up to the end of a reply. It returns the rest, and whether a reply is complete; its kind
// and null are then valid until the next call.
func (s *scanner) next(data []byte) (rest []byte, complete bool, err error) {
	if s.kind != 0 && s.items == 0 && s.body == 0 && len(s.line) == 0 {
		s.kind, s.null = 0, false
	}
	for len(data) > 0 {
		if s.body > 0 {
			n := min(s.body, len(data))
			s.body -= n
			data = data[n:]
			if s.body > 0 {
				break
			}
		} else {
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				if len(s.line)+len(data) > lineBytesMax {
					return nil, false, fmt.Errorf("a line of the reply is longer than %d bytes", lineBytesMax)
				}
				s.line = append(s.line, data...)
				return nil, false, nil
			}
			line := data[:end+1]
			if len(s.line) > 0 {
				s.line = append(s.line, line...)
				line = s.line
			}
			data = data[end+1:]
			err := s.header(line)
			s.line = s.line[:0]
			if err != nil {
				return nil, false, err
			}
			if s.body > 0 {
				continue
			}
		}
		if s.items == 0 {
			return data, true, nil
		}
	}
	return nil, false, nil
}

// header takes a whole line: a simple reply, or the head of a bulk string or an array.
func (s *scanner) header(line []byte) error {
	if s.kind == 0 {
		s.kind = line[0]
	} else {
		s.items--
	}
	text := bytes.TrimSuffix(line, []byte("\r\n"))
	if len(text) == 0 || len(text) == len(line) {
		return fmt.Errorf("the reply has a line %q", line)
	}
	switch line[0] {
	case '+', ':':
		return nil
	case '-':
		return fmt.Errorf("error reply %q", text)
	case '$', '*':
		number, err := strconv.Atoi(string(text[1:]))
		if err != nil || number < -1 || number > valueBytesMax {
			return fmt.Errorf("the reply has a header %q", text)
		}
		switch {
		case number < 0:
			s.null = true
		case line[0] == '$':
			s.body = number + len("\r\n")
		default:
			s.items += number
		}
		return nil
	}
	return fmt.Errorf("the reply has a line %q, want one of + - : $ *", text)
}

package resp

import "bytes"

// ArrayHeader reads the header of an array, set, push or map. count is the number of elements that follow,
// where a map's pair counts as two; -1 is the null array. ok is false for any other reply.
func ArrayHeader(reply []byte) (count, headerLen int, ok bool) {
	if len(reply) < len("*0\r\n") {
		return 0, 0, false
	}
	switch reply[0] {
	case '*', '~', '>', '%':
	default:
		return 0, 0, false
	}
	n, line := headerNumber(reply)
	if line <= 0 || n > replyElementsMax || n < 0 && reply[0] != '*' {
		return 0, 0, false
	}
	if reply[0] == '%' {
		n *= 2
	}
	return int(n), line, true
}

// IsNull tells whether a complete reply is a null of any kind.
func IsNull(reply []byte) bool {
	switch string(reply) {
	case "_\r\n", "$-1\r\n", "*-1\r\n":
		return true
	}
	return false
}

// NextElement returns the length in bytes of the reply at the start of b, nested ones and leading attributes
// included; 0 when b does not start with a whole, well-formed reply.
func NextElement(b []byte) (n int) {
	var s ReplyScanner
	n, _ = s.Scan(b)
	return n
}

// SkipAttributes returns the length in bytes of the attributes before a complete reply's value, mostly 0. The
// byte there tells the type.
func SkipAttributes(reply []byte) (n int) {
	for n < len(reply) && reply[n] == '|' {
		pairs, line := headerNumber(reply[n:])
		if line <= 0 {
			return n
		}
		n += line
		for i := int64(0); i < 2*pairs; i++ {
			size := NextElement(reply[n:])
			if size == 0 {
				return n
			}
			n += size
		}
	}
	return n
}

// Integer reads an integer reply. ok is false for any other reply and beyond 64 bits.
func Integer(reply []byte) (v int64, ok bool) {
	if len(reply) < len(":0\r\n") || reply[0] != ':' || integerLine(reply) != len(reply) {
		return 0, false
	}
	digits := reply[1 : len(reply)-len("\r\n")]
	if digits[0] == '+' {
		digits = digits[1:]
	}
	return ParseInt(digits)
}

// Text returns the content of a complete reply that is a string of any kind, a status, an error, a number or
// a boolean: of a verbatim string what follows its format. ok is false for nulls and aggregates.
func Text(reply []byte) (text []byte, ok bool) {
	if len(reply) < len("_\r\n") {
		return nil, false
	}
	switch reply[0] {
	case '$', '=', '!':
		size, line := stringHeader(reply)
		if size < 0 || line <= 0 || line+size+len("\r\n") != len(reply) {
			return nil, false
		}
		text = reply[line : line+size]
		if reply[0] == '=' && size >= len("txt:") {
			text = text[len("txt:"):]
		}
		return text, true
	case '+', '-', ',', '(', ':', '#':
		return reply[1 : len(reply)-len("\r\n")], true
	}
	return nil, false
}

// Complaint returns the text of a complete error reply as far as it may be shown to anybody: up to the first
// quotation mark, and not without end. What a server quotes is what it was sent, a password for instance.
func Complaint(reply []byte) []byte {
	const bytesMax = 128
	text := reply[1 : len(reply)-len("\r\n")]
	if quote := bytes.IndexAny(text, "'\"`"); quote >= 0 {
		text = text[:quote]
	}
	return bytes.TrimRight(text[:min(len(text), bytesMax)], " ")
}

// EqualFold tells whether name equals lower, which is in lower case, without regard to ASCII case.
func EqualFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

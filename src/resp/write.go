package resp

import "strconv"

// Proto is the protocol version of a connection.
type Proto uint8

const (
	RESP2 Proto = 2 // the default of a new connection
	RESP3 Proto = 3 // after HELLO 3
)

func appendHeader(dst []byte, kind byte, n int64) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, '\r', '\n')
}

// AppendArray appends the header of an array of n elements.
func AppendArray(dst []byte, n int) []byte { return appendHeader(dst, '*', int64(n)) }

// AppendMap appends the header of a map of n pairs; in RESP2 it is an array of 2n elements.
func AppendMap(dst []byte, p Proto, n int) []byte {
	if p == RESP3 {
		return appendHeader(dst, '%', int64(n))
	}
	return appendHeader(dst, '*', 2*int64(n))
}

// AppendSet appends the header of a set of n elements; in RESP2 it is an array.
func AppendSet(dst []byte, p Proto, n int) []byte {
	if p == RESP3 {
		return appendHeader(dst, '~', int64(n))
	}
	return appendHeader(dst, '*', int64(n))
}

// AppendCollection appends the header of an array, set, push or map, told by its first byte, of elements as
// ArrayHeader counts them.
func AppendCollection(dst []byte, kind byte, elements int) []byte {
	if kind == '%' {
		elements /= 2
	}
	return appendHeader(dst, kind, int64(elements))
}

// AppendPush appends the header of a push of n elements; in RESP2 it is an array.
func AppendPush(dst []byte, p Proto, n int) []byte {
	if p == RESP3 {
		return appendHeader(dst, '>', int64(n))
	}
	return appendHeader(dst, '*', int64(n))
}

// AppendBulkHeader appends the header of a string of n bytes; the bytes and a CRLF must follow.
func AppendBulkHeader(dst []byte, n int) []byte { return appendHeader(dst, '$', int64(n)) }

// AppendBulk appends a string of any bytes.
func AppendBulk(dst, b []byte) []byte {
	dst = append(appendHeader(dst, '$', int64(len(b))), b...)
	return append(dst, '\r', '\n')
}

// AppendBulkString is AppendBulk for a Go string.
func AppendBulkString(dst []byte, s string) []byte {
	dst = append(appendHeader(dst, '$', int64(len(s))), s...)
	return append(dst, '\r', '\n')
}

// AppendSimple appends a status line such as OK. A line end within s becomes spaces, as a server does it.
func AppendSimple(dst []byte, s string) []byte { return appendLine(dst, '+', s) }

// AppendError appends an error line; s starts with the error code, as in "ERR syntax error". A line end
// within s becomes spaces, as a server does it, so that echoed client bytes cannot forge a second reply.
func AppendError(dst []byte, s string) []byte { return appendLine(dst, '-', s) }

func appendLine(dst []byte, kind byte, s string) []byte {
	dst = append(dst, kind)
	start := len(dst)
	dst = append(dst, s...)
	for i := start; i < len(dst); i++ {
		if dst[i] == '\r' || dst[i] == '\n' {
			dst[i] = ' '
		}
	}
	return append(dst, '\r', '\n')
}

// AppendInt appends an integer.
func AppendInt(dst []byte, v int64) []byte { return appendHeader(dst, ':', v) }

// AppendBool appends a boolean; in RESP2 it is the integer 1 or 0.
func AppendBool(dst []byte, p Proto, v bool) []byte {
	switch {
	case p == RESP3 && v:
		return append(dst, "#t\r\n"...)
	case p == RESP3:
		return append(dst, "#f\r\n"...)
	case v:
		return append(dst, ":1\r\n"...)
	default:
		return append(dst, ":0\r\n"...)
	}
}

// AppendBigNumber appends an integer of any size given in decimal; in RESP2 it is a string.
func AppendBigNumber(dst []byte, p Proto, digits string) []byte {
	if p == RESP3 {
		return appendLine(dst, '(', digits)
	}
	return AppendBulkString(dst, digits)
}

// AppendVerbatimHeader appends what stands in front of a text of n bytes as AppendVerbatim appends it; the text and a CRLF
// must follow.
func AppendVerbatimHeader(dst []byte, p Proto, format string, n int) []byte {
	if p != RESP3 {
		return AppendBulkHeader(dst, n)
	}
	dst = appendHeader(dst, '=', int64(len(format)+1+n))
	return append(append(dst, format...), ':')
}

// AppendVerbatim appends text with its format, three letters such as "txt"; in RESP2 it is a string without
// the format.
func AppendVerbatim(dst []byte, p Proto, format, text string) []byte {
	dst = append(AppendVerbatimHeader(dst, p, format, len(text)), text...)
	return append(dst, '\r', '\n')
}

// AppendNull appends the null that stands for a missing value.
func AppendNull(dst []byte, p Proto) []byte {
	if p == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendNullArray appends the null that stands for a missing array.
func AppendNullArray(dst []byte, p Proto) []byte {
	if p == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "*-1\r\n"...)
}

// AppendCommand appends a request.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = AppendArray(dst, len(args))
	for _, a := range args {
		dst = AppendBulkString(dst, a)
	}
	return dst
}

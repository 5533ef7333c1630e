package sim

import (
	"bytes"
	"fmt"
	"strconv"
)

// The simulator's own reading of the protocol, by the slowest and plainest way, so that
// the program's scanners are checked against something that shares nothing with them.

// request reads one request, an array of strings. n is 0 while it is not whole; problem
// is set when it is not a request at all.
func parseRequest(b []byte) (args [][]byte, n int, problem string) {
	count, at, problem := parseHeader(b, '*')
	if at == 0 || problem != "" {
		return nil, 0, problem
	}
	for range count {
		size, line, problem := parseHeader(b[at:], '$')
		if line == 0 || problem != "" {
			return nil, 0, problem
		}
		at += line
		if len(b) < at+size+2 {
			return nil, 0, ""
		}
		if b[at+size] != '\r' || b[at+size+1] != '\n' {
			return nil, 0, fmt.Sprintf("no line end behind an argument of %d bytes", size)
		}
		args = append(args, b[at:at+size])
		at += size + 2
	}
	return args, at, ""
}

func parseHeader(b []byte, kind byte) (count, n int, problem string) {
	if len(b) == 0 {
		return 0, 0, ""
	}
	if b[0] != kind {
		return 0, 0, fmt.Sprintf("expected %q, got %s", kind, clip(b))
	}
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return 0, 0, ""
	}
	count, err := strconv.Atoi(string(b[1:end]))
	if err != nil || count < 0 {
		return 0, 0, fmt.Sprintf("bad length in %s", clip(b))
	}
	return count, end + 2, ""
}

// parseReply measures one reply. n is 0 while it is not whole.
func parseReply(b []byte) (n int, problem string) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return 0, ""
	}
	number, err := strconv.Atoi(string(b[1:end]))
	n = end + 2
	switch b[0] {
	case '+', '-':
		return n, ""
	case ':', '_':
		if b[0] == ':' && err != nil || b[0] == '_' && end != 1 {
			return 0, fmt.Sprintf("malformed reply %s", clip(b))
		}
		return n, ""
	case '$', '=':
		if err != nil || number < -1 {
			return 0, fmt.Sprintf("malformed reply %s", clip(b))
		}
		if number < 0 {
			return n, ""
		}
		if len(b) < n+number+2 {
			return 0, ""
		}
		if string(b[n+number:n+number+2]) != "\r\n" {
			return 0, fmt.Sprintf("no line end behind the string %s", clip(b))
		}
		return n + number + 2, ""
	case '*', '%':
		if err != nil || number < 0 {
			return 0, fmt.Sprintf("malformed reply %s", clip(b))
		}
		if b[0] == '%' {
			number *= 2
		}
		for range number {
			if n == len(b) {
				return 0, ""
			}
			size, problem := parseReply(b[n:])
			if size == 0 {
				return 0, problem
			}
			n += size
		}
		return n, ""
	}
	return 0, fmt.Sprintf("reply of no type: %s", clip(b))
}

// elements are the frames inside an array reply.
func elements(reply []byte) [][]byte {
	at := bytes.Index(reply, []byte("\r\n")) + 2
	var list [][]byte
	for at < len(reply) {
		n, _ := parseReply(reply[at:])
		list = append(list, reply[at:at+n])
		at += n
	}
	return list
}

func wireOf(args ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b = append(b, bulk(a)...)
	}
	return b
}

func bulk(s string) []byte { return []byte("$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n") }

func number(n int64) []byte { return fmt.Appendf(nil, ":%d\r\n", n) }

func null(proto int) []byte {
	if proto == 3 {
		return []byte("_\r\n")
	}
	return []byte("$-1\r\n")
}

// slotOf is CRC16/XMODEM of the hash tag, bit by bit.
func slotOf(key string) uint16 {
	if open := bytes.IndexByte([]byte(key), '{'); open >= 0 {
		if length := bytes.IndexByte([]byte(key[open+1:]), '}'); length > 0 {
			key = key[open+1 : open+1+length]
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % slotCount
}

const slotCount = 16384

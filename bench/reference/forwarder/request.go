package forwarder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
)

const (
	argsMax      = 1 << 20   // arguments of a request
	argsUsual    = 16        // room for spans that a new request starts with
	bulkBytesMax = 512 << 20 // one bulk string (RESP specification)
	pooledBytes  = 1 << 20   // a request with a larger buffer is left to the collector
)

// errProtocol marks bytes that are not RESP2.
var errProtocol = errors.New("protocol error")

// span is a part of a buffer, from start to before end.
type span struct{ start, end int }

// request is one command on its way: first the client reader's, then its backend's, and the client writer's
// from the moment that done delivers.
type request struct {
	frame []byte        // the command as it goes to the node
	args  []span        // arguments in frame
	reply []byte        // one complete reply
	done  chan struct{} // one token once reply is complete

	// Of an MGET over several slots: its parts by first key, and for each key the part that asks for it.
	parts  []*request
	owners []*request

	// Of a part: the slot and number of its keys, and where in reply the next value starts.
	slot   uint16
	count  int
	cursor int
}

var requests = sync.Pool{New: func() any {
	return &request{args: make([]span, 0, argsUsual), done: make(chan struct{}, 1)}
}}

func newRequest() *request { return requests.Get().(*request) }

// release gives the request and its parts back to the pool.
func (r *request) release() {
	for _, part := range r.parts {
		part.release()
	}
	if cap(r.frame) > pooledBytes || cap(r.reply) > pooledBytes {
		return
	}
	r.frame, r.reply = r.frame[:0], r.reply[:0]
	r.args, r.parts, r.owners = r.args[:0], r.parts[:0], r.owners[:0]
	r.count, r.cursor = 0, 0
	requests.Put(r)
}

func (r *request) arg(i int) []byte { return r.frame[r.args[i].start:r.args[i].end] }

// finish hands the complete reply to whoever waits for it.
func (r *request) finish() { r.done <- struct{}{} }

// answer finishes the request with a reply that no node gave.
func (r *request) answer(reply string) {
	r.reply = append(r.reply[:0], reply...)
	r.finish()
}

// read reads one command, an array of bulk strings, into an empty request.
func (r *request) read(from *bufio.Reader) error {
	count, err := r.readHeader(from, '*', argsMax)
	if err != nil {
		return err
	}
	for range count {
		size, err := r.readHeader(from, '$', bulkBytesMax)
		if err != nil {
			return err
		}
		start := len(r.frame)
		if r.frame, err = appendBytes(r.frame, from, size+len("\r\n")); err != nil {
			return err
		}
		r.args = append(r.args, span{start, start + size})
	}
	return nil
}

// readHeader reads a line such as "*3" or "$16" into the frame and returns its number.
func (r *request) readHeader(from *bufio.Reader, kind byte, max int) (int, error) {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	r.frame = append(r.frame, line...)
	number, err := parseHeader(line)
	if err != nil {
		return 0, err
	}
	if line[0] != kind || number < 0 || number > max {
		return 0, fmt.Errorf("%w: got %q, want %q and a number up to %d", errProtocol, line, kind, max)
	}
	return number, nil
}

// parseHeader returns the number of a header line; -1 stands for a null.
func parseHeader(line []byte) (int, error) {
	digits := bytes.TrimSuffix(line, []byte("\r\n"))
	if len(digits) < 2 || len(digits)+len("\r\n") != len(line) {
		return 0, fmt.Errorf("%w: header %q", errProtocol, line)
	}
	number := 0
	for _, digit := range digits[1:] {
		if digit < '0' || digit > '9' || number > bulkBytesMax {
			if string(digits[1:]) == "-1" {
				return -1, nil
			}
			return 0, fmt.Errorf("%w: header %q", errProtocol, line)
		}
		number = number*10 + int(digit-'0')
	}
	return number, nil
}

// appendBytes appends the next n bytes. The buffer grows with what arrives, not with what was announced.
func appendBytes(to []byte, from *bufio.Reader, n int) ([]byte, error) {
	for n > 0 {
		step := min(n, pooledBytes)
		start := len(to)
		to = slices.Grow(to, step)[:start+step]
		if _, err := io.ReadFull(from, to[start:]); err != nil {
			return to[:start], err
		}
		n -= step
	}
	return to, nil
}

// appendReply appends one whole RESP2 reply, nested arrays included.
func appendReply(to []byte, from *bufio.Reader) ([]byte, error) {
	for left := 1; left > 0; left-- {
		line, err := from.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return to, err
		}
		to = append(to, line...)
		switch line[0] {
		case '+', '-', ':':
			if err != nil {
				to, err = appendLine(to, from)
			}
		case '$', '*':
			var number int
			if number, err = parseHeader(line); err != nil || number < 0 {
				break
			}
			if line[0] == '*' {
				left += number
				break
			}
			to, err = appendBytes(to, from, number+len("\r\n"))
		default:
			err = fmt.Errorf("%w: reply %q", errProtocol, line)
		}
		if err != nil {
			return to, err
		}
	}
	return to, nil
}

// appendLine appends the rest of a line that is longer than the reader's buffer.
func appendLine(to []byte, from *bufio.Reader) ([]byte, error) {
	for {
		line, err := from.ReadSlice('\n')
		to = append(to, line...)
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return to, err
		}
	}
}

func appendHeader(to []byte, kind byte, number int) []byte {
	to = append(to, kind)
	to = strconv.AppendInt(to, int64(number), 10)
	return append(to, '\r', '\n')
}

func appendBulk(to, value []byte) []byte {
	to = appendHeader(to, '$', len(value))
	to = append(to, value...)
	return append(to, '\r', '\n')
}

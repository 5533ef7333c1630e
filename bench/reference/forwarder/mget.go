package forwarder

import (
	"bytes"
	"fmt"

	"mithril/src/slot"
)

// split makes one part per slot of an MGET whose keys lie in several, and none if they share one.
func (r *request) split() {
	for i := 1; i < len(r.args); i++ {
		part := r.partOf(slot.Of(r.arg(i)))
		part.count++
		r.owners = append(r.owners, part)
	}
	if len(r.parts) == 1 {
		r.parts[0].release()
		r.parts, r.owners = r.parts[:0], r.owners[:0]
		return
	}
	for i, part := range r.owners {
		if len(part.frame) == 0 {
			part.frame = appendHeader(part.frame, '*', 1+part.count)
			part.frame = appendBulk(part.frame, []byte("MGET"))
		}
		part.frame = appendBulk(part.frame, r.arg(1+i))
	}
}

func (r *request) partOf(s uint16) *request {
	for _, part := range r.parts {
		if part.slot == s {
			return part
		}
	}
	part := newRequest()
	part.slot = s
	r.parts = append(r.parts, part)
	return part
}

// join makes the reply of a split MGET out of its parts' replies: the values in the order of the keys, or the
// first part's error.
func (r *request) join() {
	for _, part := range r.parts {
		if part.reply[0] == '-' {
			r.reply = append(r.reply, part.reply...)
			return
		}
		part.cursor = bytes.IndexByte(part.reply, '\n') + 1
	}
	r.reply = appendHeader(r.reply, '*', len(r.owners))
	for _, part := range r.owners {
		value, err := part.nextValue()
		if err != nil {
			r.reply = fmt.Appendf(r.reply[:0], "-ERR MGET: %v\r\n", err)
			return
		}
		r.reply = append(r.reply, value...)
	}
}

// nextValue cuts the next bulk string, header included, off a part's reply.
func (r *request) nextValue() ([]byte, error) {
	rest := r.reply[r.cursor:]
	end := bytes.IndexByte(rest, '\n') + 1
	size, err := parseHeader(rest[:end])
	if err != nil {
		return nil, err
	}
	if size >= 0 {
		end += size + len("\r\n")
	}
	if end > len(rest) {
		return nil, fmt.Errorf("%w: a value of %d bytes ends behind its reply", errProtocol, size)
	}
	r.cursor += end
	return rest[:end], nil
}

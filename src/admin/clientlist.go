package admin

import (
	"cmp"
	"slices"

	"mithril/src/resp"
)

// clientList is the survey of CLIENT LIST: each worker writes the lines of its own clients.
type clientList struct {
	filter filter
	in     releases
	proto  resp.Proto
	parts  []clientLines // by worker
}

// clientLines are lines one behind the other.
type clientLines struct {
	text []byte
	ids  []uint64
	ends []int // of each line in text
}

// clientList begins CLIENT LIST [option ...] (OBS2).
func (s *Server) clientList(dst []byte, q *Query) ([]byte, Survey) {
	in := releaseOf(q.Table)
	read := redisFilter
	if in == onValkey91 {
		read = valkeyFilter
	}
	f, problem := read(q)
	if problem != "" {
		return resp.AppendError(dst, problem), nil
	}
	return dst, &clientList{filter: f, in: in, proto: q.Proto, parts: make([]clientLines, q.Workers)}
}

// lineBytes is room for a line as most are.
const lineBytes = 512

// Visit writes the lines of a worker's clients.
func (l *clientList) Visit(number int, w Worker) {
	part := &l.parts[number]
	w.EachClient(func(c *Client) {
		if !l.filter.passes(c) {
			return
		}
		if cap(part.text)-len(part.text) < lineBytes {
			part.text = slices.Grow(part.text, len(part.text)+lineBytes) // twice as much: there may be thousands
		}
		part.text = appendClient(part.text, l.in, c)
		part.ids = append(part.ids, c.ID)
		part.ends = append(part.ends, len(part.text))
	})
}

// line is the line of one client.
type line struct {
	id   uint64
	text []byte
}

// AppendReply puts the lines of all workers in the order in which their clients came, or in which they were asked for.
func (l *clientList) AppendReply(dst []byte) []byte {
	lines := l.inOrder()
	size := 0
	for i := range lines {
		size += len(lines[i].text)
	}
	dst = slices.Grow(dst, size+lineBytes)
	dst = resp.AppendVerbatimHeader(dst, l.proto, "txt", size)
	for i := range lines {
		dst = append(dst, lines[i].text...)
	}
	return append(dst, "\r\n"...)
}

func (l *clientList) inOrder() []line {
	var lines []line
	for i := range l.parts {
		part, from := &l.parts[i], 0
		for k, to := range part.ends {
			lines = append(lines, line{part.ids[k], part.text[from:to]})
			from = to
		}
	}
	byID := func(a line, id uint64) int { return cmp.Compare(a.id, id) }
	slices.SortFunc(lines, func(a, b line) int { return byID(a, b.id) })
	if l.filter.order == nil {
		return lines
	}
	var asked []line
	for _, id := range l.filter.order {
		if at, found := slices.BinarySearchFunc(lines, id, byID); found {
			asked = append(asked, lines[at])
		}
	}
	return asked
}

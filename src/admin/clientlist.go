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

// Visit writes the lines of a worker's clients.
func (l *clientList) Visit(number int, w Worker) {
	part := &l.parts[number]
	w.EachClient(func(c *Client) {
		if l.filter.passes(c) {
			part.text = appendClient(part.text, l.in, c)
			part.ids = append(part.ids, c.ID)
			part.ends = append(part.ends, len(part.text))
		}
	})
}

// line is the line of one client.
type line struct {
	id   uint64
	text []byte
}

// AppendReply puts the lines of all workers in the order in which their clients came, or in which they were asked for.
func (l *clientList) AppendReply(dst []byte) []byte {
	var lines []line
	for _, part := range l.parts {
		from := 0
		for i, to := range part.ends {
			lines = append(lines, line{part.ids[i], part.text[from:to]})
			from = to
		}
	}
	byID := func(a line, id uint64) int { return cmp.Compare(a.id, id) }
	slices.SortFunc(lines, func(a, b line) int { return byID(a, b.id) })
	var text []byte
	if l.filter.order == nil {
		for _, next := range lines {
			text = append(text, next.text...)
		}
	}
	for _, id := range l.filter.order {
		if at, found := slices.BinarySearchFunc(lines, id, byID); found {
			text = append(text, lines[at].text...)
		}
	}
	return resp.AppendVerbatim(dst, l.proto, "txt", string(text))
}

package sim

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// listClients adds a CLIENT LIST, in which every worker has a part.
func (s *script) listClients() {
	q := &request{op: opLocal, wire: wireOf("CLIENT", "LIST")}
	name, there := s.name, []*client(nil)
	q.write = func(int) []byte {
		for _, c := range *s.crowd {
			if c.got > 0 && c.staysOpen() {
				there = append(there, c)
			}
		}
		return q.wire
	}
	q.local = func(reply []byte) string { return s.listed(reply, name, there) }
	s.add(q)
}

// staysOpen says that the client is connected, and stays so until it closes itself.
func (c *client) staysOpen() bool {
	return !c.done && c.ending == endClose && !c.config.closesSessions()
}

// listed says what is wrong with a list of clients, if anything: it has the one who asks, with
// his name, and those who were there when he asked and still are.
func (s *script) listed(reply []byte, name string, there []*client) string {
	if reply[0] != '$' && reply[0] != '=' {
		return "expected a list"
	}
	_, text, _ := bytes.Cut(reply, []byte("\r\n"))
	text = bytes.TrimPrefix(text, []byte("txt:"))
	last := -1
	lines := map[string]string{} // by address, never ranged over
	for line := range strings.Lines(strings.TrimSuffix(string(text), "\r\n")) {
		fields := strings.Fields(line)
		id, err := strconv.Atoi(strings.TrimPrefix(fields[0], "id="))
		if err != nil || id <= last {
			return fmt.Sprintf("client %q follows client %d", fields[0], last)
		}
		last = id
		lines[strings.TrimPrefix(fields[1], "addr=")] = line
	}
	own := lines[clientAddr(s.session).String()]
	if !strings.Contains(own, " name="+name+" ") || !strings.Contains(own, " cmd=client|list ") {
		return fmt.Sprintf("the one who asks, called %q, has the line %q", name, own)
	}
	for _, c := range there {
		if c.staysOpen() && lines[clientAddr(c.number).String()] == "" {
			return fmt.Sprintf("session %d is missing", c.number)
		}
	}
	s.world.trace("listed", int64(s.session), int64(len(lines)), nil)
	return ""
}

package admin

import (
	"bytes"
	"net/netip"
	"strconv"

	"mithril/src/command"
	"mithril/src/resp"
)

// Client is what the CLIENT commands tell of a client. The bytes it refers to are valid during the call that it is given to.
type Client struct {
	ID                    uint64
	Addr, Local           netip.AddrPort // of the client, and where it has reached the proxy; not valid if they are gone
	Socket                int
	Name, LibName, LibVer []byte
	Flags                 []byte // letters
	Command               *command.Command
	Proto                 resp.Proto
	Worker                int
	Age, Idle             int64 // s
	Unread                int   // bytes received and not yet read as requests
	Waiting               int64 // bytes of replies that it has not got
	Pieces                int   // in which they lie
	Memory                int64 // bytes, of all that it takes
	Receiving, Sending    bool
	BytesIn, BytesOut     uint64
	Commands              uint64 // answered, but for those that were not accepted
}

// releases is a set of server releases whose lines differ.
type releases uint8

const (
	onRedis70 releases = 1 << iota
	onRedis80
	onValkey91

	everywhere = onRedis70 | onRedis80 | onValkey91
)

// releaseOf is the release that a command table stands for.
func releaseOf(t *command.Table) releases {
	switch v := t.Version(); {
	case v.Engine == "valkey":
		return onValkey91
	case v.Major == 7:
		return onRedis70
	}
	return onRedis80
}

// clientFields are the fields of a client's line in their order. Where the proxy has no such thing (transactions, subscriptions,
// a reply buffer of a fixed size, ...) the value is a server's for a client that does not use it.
var clientFields = []struct {
	name   string
	in     releases
	append func(dst []byte, c *Client) []byte
}{
	{"id", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendUint(dst, c.ID, 10) }},
	{"addr", everywhere, func(dst []byte, c *Client) []byte { return appendAddr(dst, c.Addr) }},
	{"laddr", everywhere, func(dst []byte, c *Client) []byte { return appendAddr(dst, c.Local) }},
	{"fd", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, int64(c.Socket), 10) }},
	{"name", everywhere, func(dst []byte, c *Client) []byte { return append(dst, cBytes(c.Name)...) }},
	{"age", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, c.Age, 10) }},
	{"idle", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, c.Idle, 10) }},
	{"flags", everywhere, func(dst []byte, c *Client) []byte { return append(dst, c.Flags...) }},
	{"capa", onValkey91, always("")},
	{"db", everywhere, always("0")},
	{"sub", everywhere, always("0")},
	{"psub", everywhere, always("0")},
	{"ssub", everywhere, always("0")},
	{"multi", everywhere, always("-1")},
	{"watch", onRedis80 | onValkey91, always("0")},
	{"qbuf", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, int64(c.Unread), 10) }},
	{"qbuf-free", everywhere, always("0")},
	{"argv-mem", everywhere, always("0")},
	{"multi-mem", everywhere, always("0")},
	{"rbs", everywhere, always("0")},
	{"rbp", everywhere, always("0")},
	{"obl", everywhere, always("0")},
	{"oll", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, int64(c.Pieces), 10) }},
	{"omem", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, c.Waiting, 10) }},
	{"tot-mem", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, c.Memory, 10) }},
	{"events", everywhere, appendEvents},
	{"cmd", everywhere, appendCommandName},
	{"user", everywhere, always(defaultUser)},
	{"redir", everywhere, always("-1")},
	{"resp", everywhere, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, int64(c.Proto), 10) }},
	{"lib-name", onRedis80 | onValkey91, func(dst []byte, c *Client) []byte { return append(dst, cBytes(c.LibName)...) }},
	{"lib-ver", onRedis80 | onValkey91, func(dst []byte, c *Client) []byte { return append(dst, cBytes(c.LibVer)...) }},
	{"io-thread", onRedis80, func(dst []byte, c *Client) []byte { return strconv.AppendInt(dst, int64(c.Worker), 10) }},
	{"tot-net-in", onValkey91, func(dst []byte, c *Client) []byte { return strconv.AppendUint(dst, c.BytesIn, 10) }},
	{"tot-net-out", onValkey91, func(dst []byte, c *Client) []byte { return strconv.AppendUint(dst, c.BytesOut, 10) }},
	{"tot-cmds", onValkey91, func(dst []byte, c *Client) []byte { return strconv.AppendUint(dst, c.Commands, 10) }},
}

// defaultUser is the one user there is.
const defaultUser = "default"

// appendClient appends the line of a client as servers of a release write it, with its end.
func appendClient(dst []byte, in releases, c *Client) []byte {
	for i := range clientFields {
		if f := &clientFields[i]; f.in&in != 0 {
			dst = append(append(dst, f.name...), '=')
			dst = append(f.append(dst, c), ' ')
		}
	}
	dst[len(dst)-1] = '\n'
	return dst
}

func always(value string) func([]byte, *Client) []byte {
	return func(dst []byte, _ *Client) []byte { return append(dst, value...) }
}

// appendAddr appends an address, or what servers write for one that they do not know.
func appendAddr(dst []byte, a netip.AddrPort) []byte {
	if !a.IsValid() {
		return append(dst, "?:0"...)
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).AppendTo(dst)
}

func appendEvents(dst []byte, c *Client) []byte {
	if c.Receiving {
		dst = append(dst, 'r')
	}
	if c.Sending {
		dst = append(dst, 'w')
	}
	return dst
}

func appendCommandName(dst []byte, c *Client) []byte {
	if c.Command == nil {
		return append(dst, "NULL"...)
	}
	return append(dst, c.Command.Name...)
}

// cBytes is a text as servers print it: up to a NUL byte.
func cBytes(text []byte) []byte {
	text, _, _ = bytes.Cut(text, []byte{0})
	return text
}

// clientInfo answers CLIENT INFO (OBS2): the line of the client that asks.
func (s *Server) clientInfo(dst []byte, q *Query) []byte {
	line := appendClient(nil, releaseOf(q.Table), &q.Self)
	return resp.AppendVerbatim(dst, q.Proto, "txt", string(line))
}

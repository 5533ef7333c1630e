package pipe

import (
	"mithril/src/buf"
	"mithril/src/resp"
)

// Credentials is how a pipe logs in at a node.
type Credentials struct {
	User string // empty: the default user
	Pass string // empty: no AUTH
}

// clientName is what a node's CLIENT LIST shows for the proxy's connections.
const clientName = "mithril"

// AppendGreeting writes the commands a fresh connection with this key starts with
// and counts them.
func (k Key) AppendGreeting(dst []byte, c Credentials) (out []byte, commands uint8) {
	hello := []string{"HELLO", "2"}
	if k.Proto == resp.RESP3 {
		hello[1] = "3"
	}
	if c.Pass != "" {
		user := c.User
		if user == "" {
			user = "default"
		}
		hello = append(hello, "AUTH", user, c.Pass)
	}
	dst = resp.AppendCommand(dst, append(hello, "SETNAME", clientName)...)
	commands = 1
	if k.DB != 0 {
		dst = resp.AppendCommand(dst, "SELECT", string(appendDecimal(nil, k.DB)))
		commands++
	}
	if k.ReadOnly {
		dst = resp.AppendCommand(dst, "READONLY")
		commands++
	}
	return dst, commands
}

func appendDecimal(dst []byte, v uint32) []byte {
	if v >= 10 {
		dst = appendDecimal(dst, v/10)
	}
	return append(dst, byte('0'+v%10))
}

// Connected notes that the connection stands, and queues the greeting. It fails
// when the arena is exhausted.
func (p *Pipe) Connected(a *buf.Arena, c Credentials) bool {
	p.become(Greeting)
	bytes, commands := p.Key.AppendGreeting(nil, c)
	p.greeting = commands
	_, ok := p.hello.Append(a, bytes)
	return ok
}

// Close ends the pipe, whatever it was doing. The requests still in it are taken out
// with Pop afterwards.
func (p *Pipe) Close(a *buf.Arena) {
	p.become(Closed)
	p.out.Drop(a)
	p.hello.Drop(a)
	p.in.Drop(a)
}

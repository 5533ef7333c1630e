package testbed

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// DefaultTimeout bounds one write or one reply of a Conn until SetTimeout.
const DefaultTimeout = 5 * time.Second

// Conn is a small RESP2 and RESP3 client for tests and tools. It favours
// plain values over speed and is for one goroutine at a time; a writer and a
// reader may be two.
type Conn struct {
	conn    net.Conn
	out     []byte
	in      replyReader
	pushes  []Push
	timeout time.Duration
}

// Dial connects to host:port within DefaultTimeout.
func Dial(addr string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), DefaultTimeout)
	defer cancel()
	return DialContext(ctx, addr)
}

// DialContext is Dial with a context for the connection's setup.
func DialContext(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return NewConn(conn), nil
}

// NewConn speaks RESP over an open connection, for example a TLS one.
func NewConn(conn net.Conn) *Conn {
	return &Conn{conn: conn, in: replyReader{r: bufio.NewReaderSize(conn, 64<<10)}, timeout: DefaultTimeout}
}

// NetConn is the connection below, for half-closes, resets and addresses.
func (c *Conn) NetConn() net.Conn { return c.conn }

// SetTimeout bounds each later write and each later reply. Raise it before
// commands that block.
func (c *Conn) SetTimeout(d time.Duration) { c.timeout = d }

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Do sends one command and returns its reply; see Receive for the types. An
// error reply comes back as an error of type Error, all else that fails as
// another error. Push frames that arrive first are kept for Pushes, so a
// command whose only answer is a push (SUBSCRIBE in RESP3) needs Send and
// Receive.
func (c *Conn) Do(args ...any) (any, error) {
	c.Send(args...)
	if err := c.Flush(); err != nil {
		return nil, err
	}
	reply, err := c.receiveReply()
	if err != nil {
		return nil, err
	}
	if e, ok := reply.(Error); ok {
		return nil, e
	}
	return reply, nil
}

// Pipeline sends all commands before it reads the first reply. Error replies
// are among the replies, as values of type Error.
func (c *Conn) Pipeline(commands ...[]any) ([]any, error) {
	for _, command := range commands {
		c.Send(command...)
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	replies := make([]any, 0, len(commands))
	for range commands {
		reply, err := c.receiveReply()
		if err != nil {
			return replies, fmt.Errorf("reply %d of %d: %w", len(replies)+1, len(commands), err)
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// DoRaw writes request as it is and returns the exact bytes of the next n
// frames, pushes counted. On an error it returns what it had.
func (c *Conn) DoRaw(request []byte, n int) ([]byte, error) {
	c.out = append(c.out, request...)
	if err := c.Flush(); err != nil {
		return nil, err
	}
	c.in.recording, c.in.recorded = true, nil
	defer func() { c.in.recording = false }()
	for range n {
		if _, err := c.Receive(); err != nil {
			return c.in.recorded, err
		}
	}
	return c.in.recorded, nil
}

// Send buffers one command until Flush. Arguments are string, []byte, or
// anything that fmt prints as meant, such as numbers.
func (c *Conn) Send(args ...any) { c.out = AppendCommand(c.out, args...) }

// Flush writes what Send buffered.
func (c *Conn) Flush() error {
	out := c.out
	c.out = nil
	return c.Write(out)
}

// Write sends bytes as they are, within the timeout.
func (c *Conn) Write(b []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(b)
	return err
}

// Receive reads the next frame, a reply or a Push. The types are
//
//	string        simple and bulk strings
//	int64         integers
//	nil           RESP3 null, RESP2 null bulk and null array
//	[]any         arrays
//	Error         simple and bulk errors
//	Map, Set      RESP3 aggregates, in wire order
//	Push          out-of-band frames
//	bool, float64 RESP3 booleans and doubles
//	BigNumber     RESP3 big numbers, as digits
//	Verbatim      RESP3 verbatim strings
//
// RESP3 attributes are read and dropped.
func (c *Conn) Receive() (any, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return nil, err
	}
	return c.in.read(0)
}

// Pushes returns the push frames that Do and Pipeline met and forgets them.
func (c *Conn) Pushes() []Push {
	pushes := c.pushes
	c.pushes = nil
	return pushes
}

// receiveReply reads until a frame that is not a push.
func (c *Conn) receiveReply() (any, error) {
	for {
		frame, err := c.Receive()
		if err != nil {
			return nil, err
		}
		push, ok := frame.(Push)
		if !ok {
			return frame, nil
		}
		c.pushes = append(c.pushes, push)
	}
}

// AppendCommand appends a command as a RESP array of bulk strings.
func AppendCommand(out []byte, args ...any) []byte {
	out = append(out, '*')
	out = strconv.AppendInt(out, int64(len(args)), 10)
	out = append(out, "\r\n"...)
	for _, arg := range args {
		var text []byte
		switch arg := arg.(type) {
		case string:
			text = []byte(arg)
		case []byte:
			text = arg
		default:
			text = fmt.Append(nil, arg)
		}
		out = append(out, '$')
		out = strconv.AppendInt(out, int64(len(text)), 10)
		out = append(out, "\r\n"...)
		out = append(out, text...)
		out = append(out, "\r\n"...)
	}
	return out
}

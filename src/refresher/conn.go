package refresher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"mithril/src/resp"
)

// Limits of one conversation with a node.
const (
	// replyBytesMax bounds all replies of one conversation. A map of 16,384 single-slot ranges with two replicas and long
	// host names takes about 7 MB.
	replyBytesMax = 64 << 20
	readBytesMin  = 16 << 10 // free space that a read is given
)

// kind sorts failures for the log: what the operator can do differs.
type kind uint8

// Kinds, from the one that tells least to the one that tells most.
const (
	unreachable kind = iota // no connection, or no answer in time
	refused                 // an error reply: credentials, rights, no cluster
	malformed               // an answer that is not what it should be
)

var kindNames = [...]string{unreachable: "unreachable", refused: "refused", malformed: "malformed"}

func (k kind) String() string { return kindNames[k] }

// failure is why a node, or a bootstrap name, gave no map.
type failure struct {
	kind kind
	addr string
	err  error
}

func (f *failure) Error() string { return f.addr + ": " + f.err.Error() }

// converse connects to a node, authenticates, sends all commands at once and answers the reply to each one, as it came. The
// context bounds everything together.
func (r *Refresher) converse(ctx context.Context, addr string, commands ...[]string) ([][]byte, *failure) {
	conn, err := r.options.Dial(ctx, addr)
	if err != nil {
		return nil, &failure{unreachable, addr, err}
	}
	defer conn.Close()
	// A deadline in the past makes reads and writes return at once, so that a cancelled conversation never lingers.
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	login := r.login()
	if login != nil {
		commands = append([][]string{login}, commands...)
	}
	var request []byte
	for _, command := range commands {
		request = resp.AppendCommand(request, command...)
	}
	if _, err := conn.Write(request); err != nil {
		return nil, &failure{unreachable, addr, r.told(ctx, err)}
	}
	replies, fail := r.readReplies(ctx, conn, addr, len(commands))
	if fail != nil || login == nil {
		return replies, fail
	}
	if replies[0][0] == '-' {
		return nil, &failure{refused, addr, fmt.Errorf("AUTH answers %q", resp.Complaint(replies[0]))}
	}
	return replies[1:], nil
}

// login answers the AUTH command for the credentials, nil when there are none.
func (r *Refresher) login() []string {
	switch {
	case r.options.Pass == "":
		return nil
	case r.options.User == "":
		return []string{"AUTH", r.options.Pass}
	}
	return []string{"AUTH", r.options.User, r.options.Pass}
}

// readReplies reads n replies. They stay valid: a reply that outgrows the buffer moves to a larger one with all before it.
func (r *Refresher) readReplies(ctx context.Context, conn net.Conn, addr string, n int) ([][]byte, *failure) {
	var replies [][]byte
	var scanner resp.ReplyScanner
	buffer, start := make([]byte, 0, readBytesMin), 0
	for len(replies) < n {
		size, status := scanner.Scan(buffer[start:])
		switch status {
		case resp.Complete:
			replies = append(replies, buffer[start:start+size:start+size])
			start += size
			continue
		case resp.Invalid:
			return nil, &failure{malformed, addr, fmt.Errorf("the reply to request %d is not RESP", len(replies)+1)}
		}
		if len(buffer) >= replyBytesMax {
			return nil, &failure{malformed, addr, fmt.Errorf("the replies are larger than %d MB", replyBytesMax>>20)}
		}
		if cap(buffer)-len(buffer) < readBytesMin {
			buffer = append(make([]byte, 0, min(2*cap(buffer), replyBytesMax+readBytesMin)), buffer...)
		}
		got, err := conn.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+got]
		if err != nil && got == 0 {
			return nil, &failure{unreachable, addr, r.told(ctx, err)}
		}
	}
	return replies, nil
}

// told says in words what an I/O error means.
func (r *Refresher) told(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v", r.options.Timeout)
	case errors.Is(err, io.EOF):
		return errors.New("the node closed the connection before it had answered")
	}
	return err
}

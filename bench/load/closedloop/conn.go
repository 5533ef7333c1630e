package closedloop

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// conn is one connection: a batch on its way, and what is missing of its replies.
type conn struct {
	fd          int
	mix         []Op
	nextSend    int // position in mix of the next request
	nextReply   int // position in mix of the next reply
	out         []byte
	sent        int // bytes of out that the socket took
	outstanding int // replies that are missing
	sentAt      time.Time
	replies     scanner
	watching    bool // for room to write
}

// dial connects a non-blocking socket without delay of small segments.
func dial(addr string) (int, error) {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socket: %w", err)
	}
	to := &unix.SockaddrInet4{Port: tcp.Port}
	copy(to.Addr[:], tcp.IP.To4())
	err = unix.Connect(fd, to)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return fd, nil
}

// fill makes the next batch.
func (c *conn) fill(f *formatter, pipeline int) {
	c.out, c.sent = c.out[:0], 0
	for range pipeline {
		c.out = f.append(c.out, c.mix[c.nextSend])
		c.nextSend = (c.nextSend + 1) % len(c.mix)
	}
	c.outstanding = pipeline
}

// flush writes what the socket takes and reports whether that was everything.
func (c *conn) flush() (bool, error) {
	for c.sent < len(c.out) {
		n, err := unix.Write(c.fd, c.out[c.sent:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return false, nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("write: %w", err)
		}
		c.sent += n
	}
	return true, nil
}

// receive reads once and returns the number of replies that it completed, and how many of them had a null. The
// poller tells again if the socket has more.
func (c *conn) receive(buffer []byte) (replies, nulls int, err error) {
	n, err := unix.Read(c.fd, buffer)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return 0, 0, nil
	case err != nil:
		return 0, 0, fmt.Errorf("read: %w", err)
	case n == 0:
		return 0, 0, fmt.Errorf("the server closed the connection with %d replies outstanding", c.outstanding)
	}
	for data := buffer[:n]; len(data) > 0; {
		var complete bool
		data, complete, err = c.replies.next(data)
		if err != nil {
			return 0, 0, err
		}
		if !complete {
			break
		}
		op := c.mix[c.nextReply]
		if c.outstanding == 0 || c.replies.kind != ops[op].reply {
			return 0, 0, fmt.Errorf("a reply of kind %q came with %d outstanding, want %q of %s", c.replies.kind, c.outstanding, ops[op].reply, op)
		}
		c.nextReply = (c.nextReply + 1) % len(c.mix)
		c.outstanding--
		replies++
		if c.replies.null {
			nulls++
		}
	}
	return replies, nulls, nil
}

package forwarder

import (
	"bufio"
	"net"
)

const (
	backendBufferBytes = 64 << 10
	queueRequests      = 4096 // waiting for a backend's writer
	inFlightRequests   = 4096 // written and not answered
)

const lostReply = "-ERR the connection to the node was lost\r\n"

// backend is the one connection to a primary.
type backend struct {
	conn     net.Conn
	queue    chan *request // from client readers to the writer
	inFlight chan *request // from the writer to the reader, in the order written
}

func newBackend(conn net.Conn) *backend {
	b := &backend{conn: conn, queue: make(chan *request, queueRequests), inFlight: make(chan *request, inFlightRequests)}
	go b.write()
	go b.read()
	return b
}

// write sends what is queued and flushes when the queue is empty, or before it waits for room in flight: the
// replies that make room may be those to requests that are still in the buffer. A request is in flight only after
// its frame was copied, since from then on it may be answered and released at any moment. A failed connection
// keeps failing writes; its requests are answered by read all the same.
func (b *backend) write() {
	out := bufio.NewWriterSize(b.conn, backendBufferBytes)
	for r := range b.queue {
		out.Write(r.frame)
		select {
		case b.inFlight <- r:
		default:
			out.Flush()
			b.inFlight <- r
		}
		if len(b.queue) == 0 {
			out.Flush()
		}
	}
	close(b.inFlight)
	b.conn.Close()
}

// read gives each reply to the request that has waited longest. After the connection is lost, every request gets
// an error.
func (b *backend) read() {
	in := bufio.NewReaderSize(b.conn, backendBufferBytes)
	var lost error
	for r := range b.inFlight {
		if lost == nil {
			r.reply, lost = appendReply(r.reply, in)
		}
		if lost != nil {
			b.conn.Close()
			r.answer(lostReply)
			continue
		}
		r.finish()
	}
}

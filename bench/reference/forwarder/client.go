package forwarder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
)

const (
	clientBufferBytes = 16 << 10
	clientRequests    = 1024 // read and not yet answered, per client
)

// serveClient is a client's reader. It ends when the client is done or breaks the protocol; what was read before
// is still answered.
func (f *Forwarder) serveClient(conn net.Conn) {
	in := bufio.NewReaderSize(conn, clientBufferBytes)
	order := make(chan *request, clientRequests)
	go writeClient(conn, order)
	defer close(order)
	for {
		r := newRequest()
		err := r.read(in)
		if err != nil {
			if errors.Is(err, errProtocol) {
				r.answer(fmt.Sprintf("-ERR %v\r\n", err))
				order <- r
			}
			return
		}
		f.dispatch(r)
		order <- r
	}
}

// writeClient sends the replies in order. It flushes before it waits: for a reply that is not there yet, or for
// the next request. After a failed write it still waits for every reply, since a request may be released only
// when no backend holds it.
func writeClient(conn net.Conn, order <-chan *request) {
	out := bufio.NewWriterSize(conn, clientBufferBytes)
	for r := range order {
		if len(r.parts) == 0 {
			awaitReply(r, out)
		} else {
			for _, part := range r.parts {
				awaitReply(part, out)
			}
			r.join()
		}
		out.Write(r.reply)
		r.release()
		if len(order) == 0 {
			if err := out.Flush(); err != nil {
				conn.Close() // ends the reader too
			}
		}
	}
	out.Flush()
	conn.Close()
}

func awaitReply(r *request, out *bufio.Writer) {
	select {
	case <-r.done:
	default:
		out.Flush()
		<-r.done
	}
}

// dispatch sends a request on its way to the nodes, or answers it at once.
func (f *Forwarder) dispatch(r *request) {
	switch {
	case len(r.args) == 0:
		r.finish()
	case len(r.args) == 1:
		f.primaries[0].queue <- r
	case bytes.EqualFold(r.arg(0), []byte("MGET")):
		r.split()
		for _, part := range r.parts {
			f.slots[part.slot].queue <- part
		}
		if len(r.parts) == 0 {
			f.backendOf(r.arg(1)).queue <- r
		}
	default:
		f.backendOf(r.arg(1)).queue <- r
	}
}

package harness

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"mithril/tools/testbed"
)

const readTimeout = 10 * time.Second // for the other side to read what has been written

// AwaitRead waits until the other process has read everything that was written to a
// loopback connection, so that what is written next arrives by itself.
func AwaitRead(conn net.Conn) error {
	return poll(readTimeout, "the other side to read", func() error {
		unread, err := unreadBytes(conn)
		if err == nil && unread > 0 {
			err = fmt.Errorf("%d bytes are unread", unread)
		}
		return err
	})
}

// Relay stands between the proxy and one node. While Bytewise is set, the proxy gets the
// node's replies byte by byte, each in a receive of its own.
type Relay struct {
	Addr     string
	Bytewise atomic.Bool

	target   string
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

// StartRelays puts a relay in front of every node of a cluster and returns them with the
// proxy's arguments that make it use them.
func StartRelays(tb TB, c *testbed.Cluster) (relays []*Relay, args []string) {
	tb.Helper()
	for _, addr := range c.Addrs() {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			tb.Fatalf("%v", err)
		}
		r := &Relay{Addr: listener.Addr().String(), target: addr, listener: listener}
		relays = append(relays, r)
		args = append(args, "--address-map", addr+"="+r.Addr)
		go r.serve()
		tb.Cleanup(r.close)
	}
	return relays, append(args, "--bootstrap", relays[0].Addr)
}

func (r *Relay) serve() {
	for {
		front, err := r.listener.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp4", r.target)
		if err != nil {
			front.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, front, back)
		r.mu.Unlock()
		go func() {
			io.Copy(back, front)
			back.Close()
		}()
		go func() {
			io.Copy(bytewiseWriter{r, front}, back)
			front.Close()
		}()
	}
}

func (r *Relay) close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
}

// bytewiseWriter writes to the proxy. It is no net.Conn, lest io.Copy goes around Write.
type bytewiseWriter struct {
	relay *Relay
	conn  net.Conn
}

func (w bytewiseWriter) Write(b []byte) (int, error) {
	if !w.relay.Bytewise.Load() {
		return w.conn.Write(b)
	}
	return WriteBytewise(w.conn, b)
}

// WriteBytewise writes bytes so that each arrives in a receive of its own.
func WriteBytewise(conn net.Conn, b []byte) (int, error) {
	for i := range b {
		if _, err := conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
		if err := AwaitRead(conn); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

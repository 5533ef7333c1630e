package forwarder

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// TestBackendFlushesBeforeItWaits has a queue that is never empty and room for one request in flight.
func TestBackendFlushesBeforeItWaits(t *testing.T) {
	const count = 20
	near, far := net.Pipe()
	defer far.Close()
	b := &backend{conn: near, queue: make(chan *request, count), inFlight: make(chan *request, 1)}
	var sent []*request
	for range count {
		r := &request{frame: []byte("*1\r\n$4\r\nTIME\r\n"), done: make(chan struct{}, 1)}
		sent = append(sent, r)
		b.queue <- r
	}
	go func() {
		in := bufio.NewReader(far)
		for i := range count {
			if err := new(request).read(in); err != nil {
				return
			}
			fmt.Fprintf(far, ":%d\r\n", i)
		}
	}()
	go b.write()
	go b.read()
	defer close(b.queue)
	for i, r := range sent {
		select {
		case <-r.done:
		case <-time.After(5 * time.Second):
			t.Fatalf("request %d is not answered", i)
		}
		if want := fmt.Sprintf(":%d\r\n", i); string(r.reply) != want {
			t.Errorf("request %d is answered %q, want %q", i, r.reply, want)
		}
	}
}

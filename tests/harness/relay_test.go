package harness

import (
	"io"
	"net"
	"testing"
	"time"
)

func TestAwaitReadWaitsForTheReader(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := client.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() { read <- AwaitRead(client) }()
	select {
	case err := <-read:
		t.Fatalf("AwaitRead returned (%v) before anything was read", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := io.ReadFull(server, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
}

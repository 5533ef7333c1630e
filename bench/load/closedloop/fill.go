package closedloop

import (
	"bufio"
	"errors"
	"fmt"
	"net"
)

const (
	fillBatch       = 64
	fillBufferBytes = 64 << 10
)

// Fill sets every key of the key space to a value of that size, over one connection.
func Fill(addr string, keys, valueBytes int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, fillBufferBytes)
	format := newFormatter(&Config{Keys: keys, ValueBytes: valueBytes}, 0)
	var out []byte
	for first := 0; first < keys; first += fillBatch {
		past := min(first+fillBatch, keys)
		out = out[:0]
		for number := first; number < past; number++ {
			out = format.appendSet(out, number)
		}
		if err := exchange(conn, in, out, past-first); err != nil {
			return fmt.Errorf("fill keys %d to %d: %w", first, past-1, err)
		}
	}
	return nil
}

// exchange writes SETs and reads as many replies.
func exchange(conn net.Conn, in *bufio.Reader, out []byte, replies int) error {
	if _, err := conn.Write(out); err != nil {
		return err
	}
	for range replies {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if line != "+OK\r\n" {
			return errors.New("SET answered " + line)
		}
	}
	return nil
}

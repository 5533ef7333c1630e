package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// cut is how a stream is cut into pieces.
type cut uint8

const (
	whole    cut = iota
	bytewise     // byte by byte for a while, then in pieces
	pieces       // of random length
	chunks       // of 16 KiB
	cuts         // how many there are
)

func (c cut) String() string { return [...]string{"whole", "bytewise", "pieces", "chunks"}[c] }

const (
	chunkBytes   = 16 << 10
	bytewiseMost = 512 // bytes
	pieceLog     = 16  // pieces are shorter than 1<<pieceLog
	pauseClient  = 16  // of so many pieces of a client one is followed by a pause
	pauseRelay   = 200 // and of a relay, behind which all clients wait
	pause        = 50 * time.Microsecond
	narrowBytes  = 128 << 10 // of a narrow client's receive buffer; less stalls on the loopback's segments
	lateness     = 2 * time.Millisecond
)

// manner is how a client writes and reads.
type manner struct {
	write, read cut
	narrow      bool // it has little room for replies, and reads large ones late
}

func (m manner) String() string {
	text := fmt.Sprintf("written %v, read %v", m.write, m.read)
	if m.narrow {
		text += ", narrow"
	}
	return text
}

func drawManner(r *rand.Rand) manner {
	return manner{write: cut(r.IntN(int(cuts))), read: cut(r.IntN(int(cuts))), narrow: r.IntN(4) == 0}
}

// cutter draws the length of the next piece.
type cutter struct {
	*rand.Rand
	cut      cut
	pauseOne int // of so many pieces one is followed by a pause
	done     int // bytes
}

func (c *cutter) next(most int) int {
	n := most
	switch {
	case c.cut == bytewise && c.done < bytewiseMost:
		n = 1
	case c.cut == bytewise || c.cut == pieces:
		n = 1 + c.IntN(1<<c.IntN(pieceLog))
	case c.cut == chunks:
		n = chunkBytes
	}
	n = min(n, most)
	c.done += n
	return n
}

// rests says that the client lets the others run before it goes on.
func (c *cutter) rests() bool { return c.cut != whole && c.IntN(c.pauseOne) == 0 }

// write sends bytes in pieces.
func (c *cutter) write(conn net.Conn, b []byte) error {
	for len(b) > 0 {
		n := c.next(len(b))
		if _, err := conn.Write(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; c.rests() {
			time.Sleep(pause)
		}
	}
	return nil
}

// reader is the receiving side of a connection, read in pieces. What a testbed.Conn does
// to the sending side it ignores: that is another goroutine's.
type reader struct {
	net.Conn
	cutter
}

func (r *reader) Read(b []byte) (int, error) {
	if r.rests() {
		time.Sleep(pause)
	}
	return r.Conn.Read(b[:r.next(len(b))])
}

func (r *reader) Write(b []byte) (int, error) { return len(b), nil }

func (r *reader) SetWriteDeadline(time.Time) error { return nil }

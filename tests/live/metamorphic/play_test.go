package metamorphic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const playTimeout = 20 * time.Second // for a write or a reply

// play plays a history to a proxy and returns the replies, in their order.
func play(addr string, h *history, m manner, random *rand.Rand) (replies [][]byte, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if m.narrow {
		if err := conn.(*net.TCPConn).SetReadBuffer(narrowBytes); err != nil {
			return nil, err
		}
	}
	p := player{
		history: h,
		conn:    conn.(*net.TCPConn),
		out:     newCutter(random, m.write),
		in:      testbed.NewConn(&reader{conn, newCutter(random, m.read)}),
	}
	p.in.SetTimeout(playTimeout)
	for i, burst := range h.bursts {
		wrote := make(chan error, 1)
		go func() { wrote <- p.write(burst, i == len(h.bursts)-1) }()
		if m.narrow && h.large {
			time.Sleep(lateness)
		}
		for _, r := range burst {
			if r.silent {
				continue
			}
			reply, err := p.in.DoRaw(nil, 1)
			if err != nil {
				return replies, fmt.Errorf("after %s of the reply to %s: %w", harness.Clip(reply), r.text, err)
			}
			if r.hello {
				reply = connectionNumber.ReplaceAll(reply, []byte("id :0"))
			}
			replies = append(replies, slices.Clone(reply))
		}
		if err := <-wrote; err != nil {
			return replies, err
		}
	}
	if h.end == endLate {
		if err := p.conn.CloseWrite(); err != nil {
			return replies, err
		}
	}
	if frame, err := p.in.Receive(); !errors.Is(err, io.EOF) {
		return replies, fmt.Errorf("instead of the end: %v, %w", frame, err)
	}
	return replies, nil
}

// newCutter is one side of a client. Both have numbers of their own: they are two
// goroutines.
func newCutter(random *rand.Rand, c cut) cutter {
	return cutter{Rand: rand.New(rand.NewPCG(random.Uint64(), 0)), cut: c, pauseOne: pauseClient}
}

// connectionNumber is the field of HELLO's reply that no two connections share.
var connectionNumber = regexp.MustCompile(`id\r\n:\d+`)

// player is one client at work.
type player struct {
	history *history
	conn    *net.TCPConn
	out     cutter
	in      *testbed.Conn
}

// write sends a burst. The last bytes of a client that breaks the protocol go in one
// piece: what came after the proxy's close would reset the connection.
func (p *player) write(burst []request, last bool) error {
	var text []byte
	for _, r := range burst {
		text = append(text, r.bytes...)
	}
	tail := 0
	if last && p.history.end == endViolation {
		tail = len(burst[len(burst)-1].bytes)
	}
	if err := p.conn.SetWriteDeadline(time.Now().Add(playTimeout)); err != nil {
		return err
	}
	if err := p.out.write(p.conn, text[:len(text)-tail]); err != nil {
		return err
	}
	if tail > 0 {
		if _, err := p.conn.Write(text[len(text)-tail:]); err != nil {
			return err
		}
	}
	if last && p.history.end == endSoon {
		return p.conn.CloseWrite()
	}
	return nil
}

// difference says where replies are not those that are wanted, "" if they are.
func difference(h *history, got, want [][]byte) string {
	i := 0
	for _, burst := range h.bursts {
		for _, r := range burst {
			switch {
			case r.silent:
				continue
			case i >= len(got) || i >= len(want):
				return fmt.Sprintf("%d replies, want %d", len(got), len(want))
			case !bytes.Equal(got[i], want[i]):
				at := 0
				for at < min(len(got[i]), len(want[i])) && got[i][at] == want[i][at] {
					at++
				}
				return fmt.Sprintf("reply %d, to %s, differs at byte %d\n got %s\nwant %s", i, r.text, at, harness.Clip(got[i]), harness.Clip(want[i]))
			}
			i++
		}
	}
	return ""
}

package closedloop

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

const (
	receiveBytes     = 64 << 10
	eventsMax        = 256
	waitMs           = 100             // so often does an idle loop look at the phase
	drainTimeout     = 5 * time.Second // for the replies that are outstanding at the end
	latencyMaxUs     = 60_000_000
	latencyPrecision = 3 // significant decimal digits
)

// phase is what all loops of a run are doing. It only ever goes up.
type phase int32

const (
	warming  phase = iota // load without counting
	counting              // the window
	draining              // no new batches
)

// loop serves some of the connections on one thread.
type loop struct {
	config  *Config
	phase   *atomic.Int32
	epoll   int
	conns   []*conn
	format  *formatter
	buffer  []byte
	latency *hdrhistogram.Histogram // of the window, in µs
	nulls   int64                   // of the window

	commands atomic.Int64 // answered since the start; read by others
}

// newLoop connects the connections. On an error it leaves nothing open.
func newLoop(config *Config, current *atomic.Int32, conns int, seed uint64) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l := &loop{
		config: config, phase: current, epoll: epoll, format: newFormatter(config, seed), buffer: make([]byte, receiveBytes),
		latency: hdrhistogram.New(1, latencyMaxUs, latencyPrecision),
	}
	for i := range conns {
		fd, err := dial(config.Addr)
		if err == nil {
			l.conns = append(l.conns, &conn{fd: fd, mix: config.Mix})
			err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})
		}
		if err != nil {
			l.close()
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return l, nil
}

func (l *loop) close() {
	for _, c := range l.conns {
		unix.Close(c.fd)
	}
	unix.Close(l.epoll)
}

// run drives the connections until the phase is draining and nothing is outstanding.
func (l *loop) run() error {
	for i, c := range l.conns {
		if err := l.send(i, c); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	var drainUntil time.Time
	events := make([]unix.EpollEvent, eventsMax)
	for {
		if l.currentPhase() == draining {
			busy := l.busy()
			if busy == 0 {
				return nil
			}
			if drainUntil.IsZero() {
				drainUntil = time.Now().Add(drainTimeout)
			} else if time.Now().After(drainUntil) {
				return fmt.Errorf("%d connections still wait for replies %v after the end", busy, drainTimeout)
			}
		}
		n, err := unix.EpollWait(l.epoll, events, waitMs)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if err := l.step(int(event.Fd), event.Events); err != nil {
				return fmt.Errorf("connection %d: %w", event.Fd, err)
			}
		}
	}
}

func (l *loop) currentPhase() phase { return phase(l.phase.Load()) }

func (l *loop) busy() (count int) {
	for _, c := range l.conns {
		if c.outstanding > 0 {
			count++
		}
	}
	return count
}

// step goes on with one connection after the poller told that it can read or write.
func (l *loop) step(index int, ready uint32) error {
	c := l.conns[index]
	if ready&unix.EPOLLOUT != 0 {
		if err := l.flush(index, c); err != nil {
			return err
		}
	}
	if ready&^unix.EPOLLOUT == 0 {
		return nil
	}
	replies, nulls, err := c.receive(l.buffer)
	if err != nil {
		return err
	}
	if replies == 0 {
		return nil
	}
	l.commands.Store(l.commands.Load() + int64(replies))
	current := l.currentPhase()
	if current == counting {
		l.nulls += int64(nulls)
		us := min(time.Since(c.sentAt).Microseconds(), latencyMaxUs)
		if err := l.latency.RecordValues(us, int64(replies)); err != nil {
			return err
		}
	}
	if c.outstanding == 0 && current != draining {
		return l.send(index, c)
	}
	return nil
}

// send makes the next batch and writes it.
func (l *loop) send(index int, c *conn) error {
	c.fill(l.format, l.config.Pipeline)
	c.sentAt = time.Now()
	return l.flush(index, c)
}

// flush writes, and asks the poller to tell when there is room if the socket is full.
func (l *loop) flush(index int, c *conn) error {
	all, err := c.flush()
	if err != nil || all == !c.watching {
		return err
	}
	c.watching = !all
	events := uint32(unix.EPOLLIN)
	if c.watching {
		events |= unix.EPOLLOUT
	}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &unix.EpollEvent{Events: events, Fd: int32(index)})
}

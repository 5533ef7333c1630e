package sys

import "mithril/src/ring"

// Options are what both engines are told when they are made.
type Options struct {
	// KeepaliveSecs is how many seconds a connection made by OpConnect is idle
	// before keepalive probes are sent; 0 sends none.
	KeepaliveSecs int

	// ConnectTimeoutMs is how many milliseconds OpConnect waits for the peer before
	// it ends with ErrTimedOut; 0 leaves it to the system (about two minutes). The
	// system looks at the limit when it repeats its first packet, so that it is
	// kept to about a second.
	ConnectTimeoutMs int

	// The lengths of the queues to and from the kernel, powers of two; 0 takes the
	// default. Tests make them short.
	submissions, completions uint32

	// noMinWait makes the ring do without minimum waits, as before Linux 6.12.
	noMinWait bool

	// noMessage makes rings wake each other by eventfd, as where MSG_RING does not work.
	noMessage bool
}

// Counters are what an engine has counted since it was made.
type Counters struct {
	Waits     uint64 // system calls that waited or, with io_uring, only submitted
	NoBuffers uint64 // receive operations ended because every chunk was in use
	Stale     uint64 // completions for a socket that is closed already
	Overflows uint64 // turns that found completions set aside because the queue was full
}

// Engine is a ring over the kernel.
type Engine interface {
	ring.Ring
	// Counters are the engine's counts so far.
	Counters() Counters
	// Close ends the engine and everything armed in it. Sockets stay open, except
	// those still connecting. Nobody may wake the engine any more: its descriptors can be
	// those of something else by then.
	Close()
}

package sim

// flow carries bytes one way. Written bytes arrive after a delay, in order; the writer
// has to stop when the reader does not read.
type flow struct {
	world    *World
	latency  int64 // most, ns
	room     int   // bytes it takes before its reader has read any
	buffered int   // written and not read yet
	arrived  []byte
	lastAt   int64 // when the newest bytes arrive
	ending   bool  // the writer is done
	ended    bool  // and the reader can see it
	broken   bool
	readable func() // told to the reader: bytes, the end or a break have arrived
	writable func() // told to the writer: there is room again, or none ever
}

// write takes as many bytes of p as there is room for.
func (f *flow) write(p []byte) int {
	n := min(len(p), f.room-f.buffered)
	if n <= 0 || f.broken || f.ending {
		return 0
	}
	segment := append([]byte(nil), p[:n]...)
	f.buffered += n
	f.arrive(func() { f.arrived = append(f.arrived, segment...) })
	return n
}

// finish tells the reader that nothing more comes.
func (f *flow) finish() {
	if f.ending || f.broken {
		return
	}
	f.ending = true
	f.arrive(func() { f.ended = true })
}

func (f *flow) arrive(change func()) {
	f.lastAt = max(f.lastAt, f.world.now+f.world.between(0, f.latency))
	f.world.after(f.lastAt-f.world.now, func() {
		if f.broken {
			return
		}
		change()
		f.readable()
	})
}

// read takes up to n bytes that have arrived.
func (f *flow) read(n int) []byte {
	n = min(n, len(f.arrived))
	p := f.arrived[:n]
	f.arrived = f.arrived[n:]
	f.buffered -= n
	if n > 0 {
		f.writable()
	}
	return p
}

// over says that the reader has everything it will ever get.
func (f *flow) over() bool { return len(f.arrived) == 0 && (f.ended || f.broken) }

// left says that its writer will send nothing more.
func (f *flow) left() bool { return f.ended || f.broken }

// snap breaks the flow: what has not arrived is lost, and what has as well if lose.
func (f *flow) snap(lose bool) {
	if f.broken {
		return
	}
	f.broken = true
	if lose {
		f.arrived = nil
	}
	f.buffered = len(f.arrived)
	f.readable()
	f.writable()
}

// end is one side of a connection.
type end struct{ in, out *flow }

// newWire makes a connection and returns its two sides.
func newWire(w *World, latency int64, room int) (a, b *end) {
	nothing := func() {}
	there := &flow{world: w, latency: latency, room: room, readable: nothing, writable: nothing}
	back := &flow{world: w, latency: latency, room: room, readable: nothing, writable: nothing}
	return &end{in: back, out: there}, &end{in: there, out: back}
}

// watch says whom to tell about this side's connection.
func (e *end) watch(readable, writable func()) {
	e.in.readable, e.out.writable = readable, writable
}

// reset breaks the connection both ways.
func (e *end) reset() {
	lose := e.in.world.chance(0.5)
	e.in.snap(lose)
	e.out.snap(lose)
}

// close ends this side: the other one still gets what was written, and cannot write any
// more.
func (e *end) close() {
	e.out.finish()
	e.in.snap(true)
}

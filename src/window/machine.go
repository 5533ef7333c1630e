package window

import "mithril/src/invariant"

// Windows are those that are tried, in ns. With the first the wait does not gather.
var Windows = [...]int64{0, 50_000, 125_000, 250_000, 500_000}

// Longest is the longest of them.
const Longest int64 = 500_000

const (
	millisecond = int64(1_000_000)
	second      = 1000 * millisecond

	classes = 12 // of the last one are loads of 2048 times Config.Clients and more

	lowClasses = 2 // those of less than four times Config.Clients

	// lullMax is how long there may be few commands before the load counts as gone, in ns:
	// a machine does other things for some milliseconds.
	lullMax = 200 * millisecond

	// The number of active clients is averaged over so many samples.
	clientsOver = 8

	restMin = 8 * second // after a probe, under load
	restMax = 512 * second

	// A load has changed when its rate has for changedFor samples been off by the factor
	// changedBy from that of the last probe. Then the rest is shorter by the factor
	// changedRest, but not shorter than restMin: loads may take turns for ever.
	changedBy   = 4.0
	changedFor  = 10
	changedRest = 8

	late = 0.99 // the percentile of latency that counts
)

// Config is what a machine goes by.
type Config struct {
	Phase    int64 // how long a window is in force in a probe, and the time between two samples, ns
	Clients  int   // how many must be active for a window to be tried
	Commands int   // how many a phase must have
}

// Normal is for production. With fewer than 5000 commands in a second there is little to
// gain, and nothing to measure it by.
var Normal = Config{Phase: 20 * millisecond, Clients: 8, Commands: 100}

// Sample is what a worker has seen since the one before.
type Sample struct {
	Took     int64 // ns since the sample before
	Clients  int   // that have sent something
	Commands int   // that nodes have answered
	CPU      int64 // ns of CPU time that the worker's thread has used
}

// State is what the machine does; doc.go draws it.
type State uint8

// The states.
const (
	Quiet State = iota
	Settled
	Probing
	states
)

var stateNames = [states]string{Quiet: "quiet", Settled: "settled", Probing: "probing"}

// String is the state's name.
func (s State) String() string { return stateNames[s] }

// allowed lists for each state those that may follow.
var allowed = [states]uint8{
	Quiet:   1<<Settled | 1<<Probing,
	Settled: 1<<Quiet | 1<<Probing,
	Probing: 1<<Quiet | 1<<Settled,
}

// class is what is known of the loads of one class.
type class struct {
	decided bool
	window  int     // the one to be in force
	rate    float64 // commands per ns in the last probe
	rest    int64   // how long the last probe is to be relied on, ns under load of the class
	rested  int64   // how long it has been
	probe   probe
}

// Machine finds the window of one worker. It starts quiet.
type Machine struct {
	config  Config
	state   State
	lull    int64     // how long there have been few commands, ns
	clients float64   // active, averaged
	class   int       // unless quiet
	changed int       // samples in a row that show another load than the last probe's
	latency histogram // of the current phase of a probe
	counts  Counts
	classes [classes]class
}

// Counts are how often what happened.
type Counts struct {
	Probes  uint64 // that came to an end
	Keeps   uint64 // of them, those that found a window above 0
	Reverts uint64 // of them, those that ended one
}

// New makes a machine.
func New(c Config) *Machine { return &Machine{config: c} }

// State is what the machine does.
func (m *Machine) State() State { return m.state }

// Counts are how often what happened so far.
func (m *Machine) Counts() Counts { return m.counts }

// Window is the window in force, in ns.
func (m *Machine) Window() int64 {
	switch m.state {
	case Settled:
		return Windows[m.classes[m.class].window]
	case Probing:
		return Windows[m.classes[m.class].probe.current()]
	}
	return 0
}

// Answered notes that nodes have answered n commands, each ns after it was sent.
func (m *Machine) Answered(ns int64, n uint32) {
	if m.state == Probing {
		m.latency.add(ns, n)
	}
}

// Tick takes a sample and returns the window in force until the next one, in ns. Samples
// are due every Config.Phase; one that comes late by as much again tells of a pause.
func (m *Machine) Tick(s Sample) int64 {
	m.clients += (float64(s.Clients) - m.clients) / clientsOver
	few := s.Clients < m.config.Clients || s.Commands < m.config.Commands
	if few && m.isTrying() {
		few = s.Commands == 0 // the window itself may be why they are few
	}
	if few || s.Took >= 2*m.config.Phase {
		m.pause(s.Took)
		return m.Window()
	}
	m.lull = 0
	if m.state == Quiet {
		m.clients = float64(s.Clients)
	}
	if m.state == Quiet || !covers(m.class, m.clients/float64(m.config.Clients)) {
		m.enter(classOf(m.clients / float64(m.config.Clients)))
		return m.Window()
	}
	c := &m.classes[m.class]
	rate := float64(s.Commands) / float64(s.Took)
	switch m.state {
	case Probing:
		seen := measure{cpu: float64(max(s.CPU, 1)) / float64(s.Commands), rate: rate, late: m.latency.quantile(late)}
		m.latency = histogram{}
		if c.probe.note(seen) {
			m.decide(c)
		}
	case Settled:
		if rate > c.rate*changedBy || rate*changedBy < c.rate {
			m.changed++
		} else {
			m.changed = 0
		}
		c.rested += s.Took
		m.settle()
	}
	return m.Window()
}

// isTrying says that a probe has a window in force that gathers.
func (m *Machine) isTrying() bool { return m.state == Probing && m.Window() > 0 }

// pause takes a sample with little load: a phase of a probe is run again, and the load is
// gone when it goes on.
func (m *Machine) pause(took int64) {
	m.latency = histogram{}
	m.lull += took
	if m.lull >= lullMax {
		m.interrupt()
		m.become(Quiet)
	}
}

// enter begins to act on loads of class k.
func (m *Machine) enter(k int) {
	m.interrupt()
	m.class, m.changed = k, 0
	m.settle()
}

// settle puts the class's window in force, or probes if that is due.
func (m *Machine) settle() {
	c := &m.classes[m.class]
	rest := c.rest
	if m.changed >= changedFor {
		rest = max(rest/changedRest, restMin)
	}
	if c.decided && c.rested < rest {
		m.become(Settled)
		return
	}
	m.latency = histogram{}
	m.become(Probing)
}

// decide ends a probe.
func (m *Machine) decide(c *class) {
	m.counts.Probes++
	before := c.window
	rateMin := 0.0
	if m.class < lowClasses {
		rateMin = rateMinLow
	}
	c.window = c.probe.winner(rateMin)
	if c.window > 0 {
		m.counts.Keeps++
	} else if before > 0 {
		m.counts.Reverts++
	}
	if c.decided && c.window == before {
		c.rest = min(2*c.rest, restMax)
	} else {
		c.rest = restMin
	}
	c.rate = c.probe.rate()
	c.decided, c.rested, m.changed = true, 0, 0
	c.probe = probe{}
	m.become(Settled)
}

// interrupt gives up the round of a probe.
func (m *Machine) interrupt() {
	if m.state == Probing {
		m.classes[m.class].probe.interrupt()
	}
}

func (m *Machine) become(next State) {
	if m.state == next {
		return
	}
	invariant.Assert(allowed[m.state]&(1<<next) != 0, "window: transition that the table does not have")
	m.state = next
}

// classOf is the class of a load by how many times Config.Clients are active: class k
// begins at 2 to the power of k.
func classOf(times float64) int {
	k := 0
	for k < classes-1 && times >= float64(int(2)<<k) {
		k++
	}
	return k
}

// covers says that a load may count as one of class k: it extends a quarter beyond both
// ends, lest a load at an end belongs to two in turn.
func covers(k int, times float64) bool {
	begin := float64(int(1) << k)
	return (k == 0 || times >= 0.75*begin) && (k == classes-1 || times < 1.25*2*begin)
}

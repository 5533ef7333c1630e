package stats

// Counters are what one worker counts, cumulative since start or CONFIG RESETSTAT.
// Only the worker that owns them writes them.
type Counters struct {
	Connections    uint64 // accepted
	Rejected       uint64 // refused for maxclients or protected mode
	Closed         uint64 // sessions ended
	OutputClosed   uint64 // of them, those that the output limits ended
	ReadersExited  uint64 // sessions whose receiving side has ended
	WritersExited  uint64 // sessions whose sending side has ended
	Commands       uint64 // accepted: known, well-formed, permitted
	ErrorReplies   uint64 // error replies written to clients
	ProtocolErrors uint64
	Redirections   uint64 // MOVED and ASK absorbed
	Moved          uint64
	Ask            uint64
	RedirectWaits  uint64 // waits before a further redirect was followed
	RedirectFailed uint64 // redirects that ended in an error for the client
	NetInput       uint64 // bytes received from clients
	NetOutput      uint64 // bytes sent to clients
	StaleEvents    uint64 // events for something already gone
	WindowProbes   uint64 // experiments with the batch window
	WindowKeeps    uint64 // of them, those that found a window above 0
	WindowReverts  uint64 // of them, those that ended one
	Turns          uint64 // rounds of the worker's loop
	BackendSends   uint64 // sends to nodes
	ClientSends    uint64 // sends to clients
	BackendReplies uint64 // replies received from nodes
	HandedOver     uint64 // replies asked for through other workers
	HandedBack     uint64 // replies passed on to other workers
	BackendDials   uint64
	BackendLost    uint64 // connections to nodes that failed
}

// Add adds the counts of d.
func (c *Counters) Add(d *Counters) {
	c.Connections += d.Connections
	c.Rejected += d.Rejected
	c.Closed += d.Closed
	c.OutputClosed += d.OutputClosed
	c.ReadersExited += d.ReadersExited
	c.WritersExited += d.WritersExited
	c.Commands += d.Commands
	c.ErrorReplies += d.ErrorReplies
	c.ProtocolErrors += d.ProtocolErrors
	c.Redirections += d.Redirections
	c.Moved += d.Moved
	c.Ask += d.Ask
	c.RedirectWaits += d.RedirectWaits
	c.RedirectFailed += d.RedirectFailed
	c.NetInput += d.NetInput
	c.NetOutput += d.NetOutput
	c.StaleEvents += d.StaleEvents
	c.WindowProbes += d.WindowProbes
	c.WindowKeeps += d.WindowKeeps
	c.WindowReverts += d.WindowReverts
	c.Turns += d.Turns
	c.BackendSends += d.BackendSends
	c.ClientSends += d.ClientSends
	c.BackendReplies += d.BackendReplies
	c.HandedOver += d.HandedOver
	c.HandedBack += d.HandedBack
	c.BackendDials += d.BackendDials
	c.BackendLost += d.BackendLost
}

// Snapshot is what a worker shows of itself at one moment.
type Snapshot struct {
	Counters Counters
	Clients  int    // connected
	Backends int    // connections to nodes
	Private  int    // of them, those that are not shared
	Window   int64  // batch window in force, ns
	Blocks   uint64 // bytes of the blocks in use
	Rate     uint64 // commands in the last second
}

// Add adds what another worker shows.
func (s *Snapshot) Add(d *Snapshot) {
	s.Counters.Add(&d.Counters)
	s.Clients += d.Clients
	s.Backends += d.Backends
	s.Private += d.Private
	s.Window = max(s.Window, d.Window)
	s.Blocks += d.Blocks
	s.Rate += d.Rate
}

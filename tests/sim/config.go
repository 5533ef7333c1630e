package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"mithril/src/worker"
)

// Config is everything that a seed decides before the run begins. A field at zero
// switches its fault off.
type Config struct {
	Seed     uint64
	Workers  int  // 0: one
	Shared   bool // connections to nodes: backend-sharding yes
	Post     worker.PostLimits
	Place    worker.Placement // WhereAccepted: all workers listen, else the first alone
	Sessions int
	Requests int // of one session, at most
	Weights  [opKinds]int

	Chunks      int   // receive chunks of each arena
	Room        int   // bytes that a connection holds in each direction
	Latency     int64 // most, ns, one way
	Lanes       int   // connections per node and protocol
	Depth       int   // requests that a session has outstanding, at most
	ValueBytes  int   // of a value, at most
	Bulky       bool  // most values are as long, not a few
	Pace        int64 // most that a session waits between requests, ns
	Trickle     int64 // most between requests that it need not wait with, ns; 0: it sends them together
	Tags        int   // hash tags, and so slots, that sessions use; 0: all there are
	Password    bool
	MaxClients  int   // 0: as many as there are
	Burst       int   // connections that may come before the workers count them, as they believe
	SoftOutput  int64 // bytes; 0: none
	SoftFor     int64 // over them without progress, ns; 0: an hour
	HardOutput  int64 // bytes; 0: none
	Idle        int64 // timeout, ns; 0: none
	Scarce      int   // bytes of memory of each worker beyond the receive chunks; 0: as much as there is
	Stop        int64 // when the workers are told to stop while sessions run, ns; 0: at the end
	Cutoff      bool  // and soon after that to stop at once
	BatchWindow int64 // ns
	FindWindow  bool  // up to BatchWindow each worker finds its own
	Timeout     int64 // backend-timeout, ns; 0: none
	Large       int   // bytes from which on frames are large; 0: as in production, that is, hardly any is
	Private     int   // connections to a node that are not shared, at most

	// Probabilities, of one occasion each.
	F Faults
}

// Faults are the probabilities of what goes wrong.
type Faults struct {
	ShortSend    float64 // a send reports fewer bytes than asked
	ShortRecv    float64 // received bytes come in small pieces, down to one
	Crumbs       float64 // a connection that takes and gives its bytes one by one, for long
	NoBuffers    float64 // a receive ends although there are chunks
	Backlog      float64 // a turn gets only a few of its events
	Late         float64 // the end of a send, or of a receive that was stopped, is told late
	Stale        float64 // an event comes for a socket closed before
	Wake         float64 // a wait ends for nothing
	SlowTurn     float64 // a turn takes long
	HeldUp       float64 // the others run on in the middle of a turn
	Descriptors  float64 // accepting ends for want of descriptors
	NodeReset    float64 // a node breaks all its connections and refuses new ones for a while
	NodeStall    float64 // a node does nothing for a while
	NodeSlowDial float64 // a connect takes seconds
	NodeRefuse   float64 // a connect is refused
	NodeGreeting float64 // a node refuses HELLO
	MidReply     float64 // a connection breaks inside a reply
	BadReply     float64 // a reply is no RESP
	BadRedirect  float64 // a redirect names no slot or no address
	SelfMoved    float64 // a connection on which a node redirects to itself
	LostScripts  float64 // a node forgets its scripts
	Failover     float64 // a node is replaced by another one at another address
	NodeDown     float64 // a node says CLUSTERDOWN for a while
	BigCursor    float64 // a node's cursor has more bits than there is room for
	Push         float64 // a push precedes a reply on a RESP3 connection
	Migrate      float64 // slots are moved, this share of the time
	LateImport   float64 // the target of a move is told after its source
	Refresh      float64 // a map is fetched though nobody wishes for one
	LateMap      float64 // a map takes long from fetch to publication
	Abort        float64 // a client breaks its connection
	SlowReader   float64 // a client that reads late
	BytewiseSend float64 // a client that sends byte by byte
	Malformed    float64 // a client whose last request is none
	Silence      float64 // a client that wants no reply to a request, or to some
}

// fault is one of Faults.
type fault struct {
	name string
	p    *float64
	most float64 // up to which a seed draws p
}

// list names the faults, for swarm testing, shrinking and printing.
func (f *Faults) list() []fault {
	return []fault{
		{"short-send", &f.ShortSend, 0.5}, {"short-recv", &f.ShortRecv, 0.5}, {"crumbs", &f.Crumbs, 0.2}, {"no-buffers", &f.NoBuffers, 0.1},
		{"backlog", &f.Backlog, 0.5}, {"late", &f.Late, 0.3}, {"stale", &f.Stale, 0.05}, {"wake", &f.Wake, 0.05},
		{"descriptors", &f.Descriptors, 0.3}, {"node-reset", &f.NodeReset, 0.3}, {"node-stall", &f.NodeStall, 0.3},
		{"node-slow-dial", &f.NodeSlowDial, 0.5}, {"node-refuse", &f.NodeRefuse, 0.5}, {"node-greeting", &f.NodeGreeting, 0.3},
		{"mid-reply", &f.MidReply, 0.01}, {"bad-reply", &f.BadReply, 0.01}, {"bad-redirect", &f.BadRedirect, 0.1},
		{"lost-scripts", &f.LostScripts, 1}, {"failover", &f.Failover, 0.1}, {"self-moved", &f.SelfMoved, 0.3}, {"node-down", &f.NodeDown, 0.2}, {"push", &f.Push, 0.2},
		{"migrate", &f.Migrate, 1}, {"late-import", &f.LateImport, 1},
		{"refresh", &f.Refresh, 1}, {"late-map", &f.LateMap, 1}, {"abort", &f.Abort, 0.4}, {"slow-reader", &f.SlowReader, 0.3},
		{"bytewise-send", &f.BytewiseSend, 0.3}, {"malformed", &f.Malformed, 0.4}, {"silence", &f.Silence, 0.3},
		{"big-cursor", &f.BigCursor, 0.3}, {"slow-turn", &f.SlowTurn, 0.1}, {"held-up", &f.HeldUp, 0.2},
	}
}

// NewConfig draws the Config of a seed: some faults and some requests not at all, the
// others from rare to often.
func NewConfig(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 0x636f6e66))
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	c := Config{
		Seed:       seed,
		Sessions:   2 + rng.IntN(16),
		Requests:   8 + rng.IntN(50),
		Chunks:     pick(4, 5, 8, 16, 64),
		Room:       pick(600, 4<<10, 64<<10, 256<<10),
		Latency:    int64(pick(10, 100, 500, 3000)) * microsecond,
		Lanes:      pick(1, 1, 2, 3),
		Depth:      pick(1, 4, 16, 64),
		ValueBytes: pick(20, 3000, 40_000),
		Bulky:      rng.IntN(4) == 0,
		Pace:       int64(pick(0, 1, 20)) * millisecond,
		Password:   rng.IntN(4) == 0,
		SoftOutput: int64(pick(0, 0, 4<<10, 256<<10)),
	}
	if rng.IntN(4) == 0 {
		c.Trickle = int64(pick(100, 1000, 5000)) * microsecond
	}
	if rng.IntN(4) == 0 {
		c.Tags = 1 + rng.IntN(3)
	}
	if c.Room < 4<<10 {
		c.ValueBytes = min(c.ValueBytes, 3000)
	}
	if rng.IntN(8) == 0 {
		c.MaxClients = 1 + rng.IntN(c.Sessions)
	}
	if c.Burst = rng.IntN(2 * c.Sessions); c.MaxClients > 0 && rng.IntN(2) == 0 {
		c.Sessions, c.Burst = 40, 40 // more than may have a descriptor
	}
	if rng.IntN(2) == 0 {
		c.BatchWindow = int64(pick(50, 250, 1000)) * microsecond
		c.FindWindow = rng.IntN(2) == 0
	}
	if rng.IntN(4) == 0 {
		c.Timeout = int64(pick(200, 1000)) * millisecond
		c.ValueBytes = min(c.ValueBytes, 3000) // larger ones can take as long to pass
	}
	c.Private = 512
	if rng.IntN(2) == 0 {
		c.Large = pick(200, 1000, 4<<10, 16<<10)
		c.Private = pick(1, 3, 512)
	}
	c.odd(rng)
	for kind := range c.Weights {
		c.Weights[kind] = max(0, rng.IntN(9)-2)
	}
	c.Weights[opGet] += 2
	c.Weights[opSet] += 2
	c.whole(rng)
	few := rng.IntN(4) == 0 // hardly any fault: what then goes wrong is easy to see
	for _, fault := range c.F.list() {
		if on := rng.IntN(3) == 0; on && (!few || rng.IntN(4) == 0) {
			*fault.p = fault.most * rng.Float64()
		}
	}
	c.theme(rng)
	c.Workers = pick(1, 1, 1, 2, 2, 3, 3, 4, 4)
	c.Shared = rng.IntN(3) > 0
	c.Place = []worker.Placement{worker.WhereAccepted, worker.LeastLoaded, worker.LeastLoaded, worker.RoundRobin}[rng.IntN(4)]
	if rng.IntN(2) == 0 {
		c.Post = worker.PostLimits{Letters: pick(2, 4, 16, 64), LentBytes: pick(100, 2000, 50_000)}
	}
	return c
}

// whole makes requests on the whole keyspace rare: each of them holds up its session, and
// FLUSHALL leaves nothing to the others.
func (c *Config) whole(rng *rand.Rand) {
	few := rng.IntN(2)
	for kind := opKeys; kind <= opScan; kind++ {
		c.Weights[kind] = few * rng.IntN(3)
	}
	c.Weights[opFlushall] = few * rng.IntN(2)
	c.Weights[opScan] *= 2
}

// odd makes some seeds meet what ends sessions or memory.
func (c *Config) odd(rng *rand.Rand) {
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	switch rng.IntN(24) {
	case 0:
		c.HardOutput = int64(pick(1<<10, 16<<10, 256<<10))
	case 1:
		c.Idle = int64(pick(50, 300)) * millisecond
	case 2:
		c.Scarce = pick(8<<10, 64<<10, 512<<10)
	case 3, 4:
		c.Stop = rng.Int64N(second)
		c.Cutoff = rng.IntN(2) == 0
	}
}

// theme lets some seeds combine what chance seldom brings together.
func (c *Config) theme(rng *rand.Rand) {
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	switch rng.IntN(8) {
	case 0: // slow readers of values that are sent by reference, and hardly a receive chunk
		c.Chunks, c.Room, c.ValueBytes, c.Bulky, c.Depth, c.Sessions = 4, 4<<10, 6000, true, 64, 16
		c.Weights[opGet], c.Weights[opSet] = 10, 10
		c.F.SlowReader, c.F.Abort, c.F.Late = 0.5, 0.5, 0.3
		if rng.IntN(2) == 0 {
			c.SoftOutput = 4 << 10
		}
	case 1, 2: // slots that move all the time under sessions that wait for each reply, or do not
		c.F.Migrate, c.F.LateImport, c.Pace, c.Trickle, c.Sessions, c.Requests = 1, 0.5, 4*millisecond, int64(pick(1, 3, 20, 60))*millisecond, 16, 60
		c.Depth = 1 + 7*rng.IntN(2)
		c.Tags = 2 + 7*rng.IntN(2)
		c.Weights[opGet], c.Weights[opSet], c.Weights[opMset] = 10, 10, 4
		c.Latency = int64(pick(100, 3000)) * microsecond
		c.F.BadRedirect, c.F.Refresh = 0, rng.Float64()
		c.F.SelfMoved = rng.Float64() * float64(rng.IntN(2))
	}
}

// String lists what is switched on.
func (c *Config) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d workers, %d sessions of up to %d requests, depth %d, values to %d bytes, %d chunks, room %d, latency %d us, %d lanes",
		c.Seed, c.workers(), c.Sessions, c.Requests, c.Depth, c.ValueBytes, c.Chunks, c.Room, c.Latency/microsecond, c.Lanes)
	for _, option := range []struct {
		name string
		on   bool
	}{{"shared", c.Shared}, {"password", c.Password}, {"bulky", c.Bulky}, {"cutoff", c.Cutoff}, {"find window", c.FindWindow}} {
		if option.on {
			b.WriteString(", " + option.name)
		}
	}
	for _, option := range []struct {
		name  string
		value int64
	}{
		{"pace ms", c.Pace / millisecond}, {"trickle us", c.Trickle / microsecond}, {"tags", int64(c.Tags)},
		{"maxclients", int64(c.MaxClients)}, {"burst", int64(c.Burst)}, {"soft output", c.SoftOutput},
		{"batch window us", c.BatchWindow / microsecond},
		{"timeout ms", c.Timeout / millisecond}, {"hard output", c.HardOutput}, {"idle ms", c.Idle / millisecond},
		{"placement", int64(c.Place)}, {"letters", int64(c.Post.Letters)}, {"lent", int64(c.Post.LentBytes)}, {"large from", int64(c.Large)}, {"private", int64(c.Private)},
		{"memory", int64(c.Scarce)}, {"stop ms", c.Stop / millisecond},
	} {
		if option.value != 0 {
			fmt.Fprintf(&b, ", %s %d", option.name, option.value)
		}
	}
	for kind, weight := range c.Weights {
		if weight != 0 {
			fmt.Fprintf(&b, " %s:%d", opNames[kind], weight)
		}
	}
	for _, fault := range c.F.list() {
		if *fault.p != 0 {
			fmt.Fprintf(&b, " %s=%.3f", fault.name, *fault.p)
		}
	}
	return b.String()
}

// workers is how many there are.
func (c *Config) workers() int { return max(1, c.Workers) }

// listeners is how many workers listen: the first ones.
func (c *Config) listeners() int {
	if c.Place == worker.WhereAccepted {
		return c.workers()
	}
	return 1
}

// losesConnections says that requests may end with an error for want of a connection.
func (c *Config) losesConnections() bool {
	f := &c.F
	return f.Failover+f.NodeReset+f.NodeSlowDial+f.NodeRefuse+f.NodeGreeting+f.MidReply+f.BadReply > 0 || c.Timeout > 0 || c.Scarce > 0
}

// redirects says that nodes may redirect requests.
func (c *Config) redirects() bool {
	return c.F.Migrate+c.F.SelfMoved+c.F.BadRedirect+c.F.LateMap+c.F.Failover > 0
}

// endsStaying says that the proxy closes sessions that do nothing.
func (c *Config) endsStaying() bool { return c.Idle > 0 || c.Cutoff }

// closesIdleOnly says that the proxy closes sessions that do nothing, and no other that
// has done nothing wrong.
func (c *Config) closesIdleOnly() bool {
	return c.Idle > 0 && c.SoftOutput == 0 && c.HardOutput == 0 && c.Scarce == 0 && c.Stop == 0
}

// closesSessions says that the proxy may close a session that has done nothing wrong.
func (c *Config) closesSessions() bool {
	if c.Large > 0 && (c.losesConnections() || c.F.SlowReader > 0) {
		return true // a large reply that breaks off, or that is not taken, ends its session
	}
	return c.HardOutput > 0 || c.Idle > 0 || c.Scarce > 0 || c.Cutoff
}

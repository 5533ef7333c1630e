package worker

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"mithril/src/admin"
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/fanout"
	"mithril/src/pipe"
	"mithril/src/ring"
	"mithril/src/script"
	"mithril/src/session"
	"mithril/src/slot"
	"mithril/src/stats"
	"mithril/src/timer"
	"mithril/src/topology"
	"mithril/src/window"
)

const (
	eventsPerTurn = 1024

	millisecond = int64(1_000_000)
	second      = 1000 * millisecond
)

// Options is what a worker is made of. Everything it names is the worker's alone,
// except Shared, Topology, Commands and Log.
type Options struct {
	Number    int
	Ring      ring.Ring
	Arena     *buf.Arena
	Listeners []ring.Socket
	Shared    *Shared
	Log       *slog.Logger // never used per request

	Post    *Post   // of all workers; nil: this one is alone
	Sharing Sharing // of the connections to nodes

	Placement Placement // of the clients that come to the listeners of this one

	Session   session.Env // limits and password; the worker fills in the rest
	Backend   pipe.Credentials
	Lanes     int  // connections per node and protocol
	Protected bool // only loopback peers are served

	Picker Picker
	Rand   *rand.Rand // of this worker only

	Large          // zero: LargeSizes
	PrivateMax int // connections to each node that are not shared

	BatchWindow    int64          // ns; 0: never wait for more than one event
	FindWindow     *window.Config // not nil: up to BatchWindow the worker finds its own
	IdleTimeout    int64          // ns; 0: idle clients are not closed
	BackendTimeout int64          // ns; 0: replies are awaited for ever
	MaxRedirects   int
	MaxClients     int64
	AcceptBurst    int64 // how many connections can come before the worker knows of them

	// Topology returns the current map, nil before the first. It is called once a turn.
	Topology func() *topology.Snapshot
	// Commands returns the commands that go with the current map, and before the first one
	// those to begin with. It is called once a map.
	Commands func() *command.Table
	// Wish asks for a refresh of the map.
	Wish func()
	// Resolve turns an address as nodes name it into one to dial. It must not block.
	Resolve Resolver
	// Admin answers commands from what the process knows.
	Admin *admin.Server
}

// Shared is what all workers of the process share. It is touched per connection or script,
// not per request.
type Shared struct {
	Clients  atomic.Int64  // connected, but for those being turned away
	LastID   atomic.Uint64 // of CLIENT ID
	Flushes  atomic.Uint64 // SCRIPT FLUSH
	Scripts  script.Library
	surveys  surveys
	Stopping atomic.Bool // serve what is connected, accept nothing
	Cutoff   atomic.Bool // flush what is due and end

	listening atomic.Int64 // listeners that are not closed
	resting   atomic.Int64 // workers that have no client and get none any more
}

// Worker serves the clients of one core.
type Worker struct {
	Options
	env      session.Env
	counters stats.Counters
	now      int64

	ops    []ring.Op
	bells  []ring.Op // go before ops
	events []ring.Event
	sends  int // in ops

	clients slab[client]
	pipes   slab[backend]
	joins   slab[fanout.Join]
	lines   slab[line]

	peers   []peer       // by number; of this worker only the number is set
	others  []*peer      // all but this worker
	fars    int          // pipes that are far
	landing buf.Shelf    // of replies that were lent
	waited  []ring.Token // scratch of goOnWith
	notes   uint32       // of the bell, when the queues were last looked into
	writes  bool         // something written to others is not settled

	nodes      []*node
	route      [slot.Count]uint16 // slot -> index in nodes, or noNode
	order      order
	applied    *topology.Snapshot // the map that route was made from
	firstSlots []uint16           // one of each shard
	scripts    script.Memory
	body       []byte // scratch: of a script from the library
	flushes    uint64 // of scripts, that scripts knows of
	walk       walk
	rotation   int     // over the primaries
	round      uint32  // of owners
	targets    []owner // scratch of a broadcast
	plan       fanout.Plan
	result     buf.Gather // scratch of a joined reply
	inFlight   int        // requests with nodes
	privates   int        // connections to nodes that are not shared
	scratch    []byte

	due    expectation
	window int64 // batch window in force, ns
	finder finder

	dirtyClients []ring.Token
	dirtyPipes   []ring.Token
	ready        []ring.Token // sessions whose hold has passed
	early        []ring.Token // pipes whose large reply waits for earlier ones of its session
	starved      []ring.Token // sockets whose receive ended for want of chunks

	timers  *timer.Wheel
	fired   []uint64
	waiting waitingRequests
	surveys int          // of its clients, under way
	rate    uint64       // commands in the second before the last sweep
	rated   uint64       // commands before the last sweep
	askers  []ring.Token // clients that wait to begin one

	placer        placer
	activity      activity
	commandsShown uint64 // of counters.Commands, those that activity knows

	accepting  []acceptState // by listener
	turnedAway int           // clients that are being told why they are not served
	closing    int           // listeners that are closed in this turn
	resting    bool          // no client is here, and none can come
	closeLogs  int           // clients closed for a reason since the last sweep
	turnedOff  bool          // accepting has failed, and no client has come since
	draining   bool
	cut        bool
	bulk       bool  // part of a large request or reply has moved in this turn
	repliesAt  int64 // when the replies are to be looked for
}

// New makes a worker. Nothing happens before Run or Turn.
func New(o Options) *Worker {
	w := &Worker{
		Options: o,
		ops:     make([]ring.Op, 0, 4096),
		events:  make([]ring.Event, eventsPerTurn),
		scratch: make([]byte, 0, 4096),
		timers:  timer.New(o.Ring.Now(), 256),
		clients: slab[client]{kind: ring.KindSession},
		pipes:   slab[backend]{kind: ring.KindPipe},
		joins:   slab[fanout.Join]{kind: kindJoin},
		lines:   slab[line]{kind: kindLine},
	}
	w.now = o.Ring.Now()
	if w.Large == (Large{}) {
		w.Large = LargeSizes
	}
	w.env = o.Session
	if w.env.StreamFrom == 0 {
		w.env.StreamFrom = StreamFrom
	}
	w.env.Arena = o.Arena
	w.env.Counters = &w.counters
	w.env.UseTable(o.Commands())
	for i := range w.route {
		w.route[i] = noNode
	}
	w.meet()
	w.Shared.listening.Add(int64(len(o.Listeners)))
	w.accepting = make([]acceptState, len(o.Listeners))
	for i := range o.Listeners {
		w.accept(i)
	}
	w.timers.Arm(w.now+second, timerSweep)
	if w.BackendTimeout > 0 {
		w.sweepReplies()
	}
	w.startWindow()
	return w
}

// Run turns until the process stops and every session is done.
func (w *Worker) Run() {
	for !w.Finished() {
		w.Turn()
	}
}

// Turn waits for events and serves them.
func (w *Worker) Turn() {
	n := w.turnRing()
	w.ops = w.ops[:0]
	w.sends, w.bulk = 0, false
	w.now = w.Ring.Now()
	w.due.age(w.now, w.window)
	w.counters.Turns++

	if w.Shared.Stopping.Load() {
		w.drain()
	}
	if t := w.Topology(); t != w.applied && t != nil {
		w.apply(t)
	}
	for i := range n {
		w.handle(&w.events[i])
	}
	if len(w.others) > 0 {
		w.receiveLetters()
	}
	w.expire()
	if len(w.askers) > 0 {
		w.askNext()
	}
	for i := 0; i < len(w.ready); i++ { // others may join them meanwhile
		if c := w.clients.get(w.ready[i]); c != nil {
			c.ready = false
			w.feed(c)
		}
	}
	w.ready = w.ready[:0]
	if len(w.early) > 0 {
		w.decideEarly()
	}
	w.flush()
	if len(w.others) > 0 {
		w.showActivity()
		w.sendLetters()
	}
	if w.draining {
		w.rest()
	}
	if w.now >= w.finder.next {
		w.findWindow()
	}
}

// turnRing hands the operations over and waits. A worker that has others looks for their
// letters when it has announced that it waits, and then does not if there are some.
func (w *Worker) turnRing() int {
	wait := w.wait()
	if len(w.bells) > 0 {
		// Sends take longer, and the others can begin meanwhile.
		w.ops = slices.Insert(w.ops, 0, w.bells...)
		w.bells = w.bells[:0]
	}
	if len(w.others) == 0 || wait.Deadline == 0 {
		return w.Ring.Turn(w.ops, wait, w.events)
	}
	if w.sleep() {
		timer := wait.Deadline
		wait.Deadline = 0
		if wait.Window > 0 {
			wait.Deadline = min(timer, w.now+wait.Window) // letters gather as events do
		}
	}
	n := w.Ring.Turn(w.ops, wait, w.events)
	w.Post.bells[w.Number].Awake()
	return n
}

// handle steps what an event is for.
func (w *Worker) handle(ev *ring.Event) {
	switch ev.Kind {
	case ring.Woken:
		return
	case ring.Accepted:
		w.accepted(ev)
		return
	case ring.AcceptEnded:
		w.acceptEnded(ev)
		return
	}
	switch ev.Token.Kind() {
	case ring.KindSession:
		if c := w.clients.get(ev.Token); c != nil {
			w.clientEvent(c, ev)
			return
		}
	case ring.KindPipe:
		if b := w.pipes.get(ev.Token); b != nil {
			w.pipeEvent(b, ev)
			return
		}
	}
	w.counters.StaleEvents++
	if ev.Kind == ring.Received {
		w.Arena.Release(ev.Data.Block)
	}
}

// Finished says that the process is stopping and the worker has nothing left to do, not
// for others either nor operations to hand over.
func (w *Worker) Finished() bool { return w.allRest() && len(w.ops)+len(w.bells) == 0 }

// allRest says that no worker has a client or gets one any more. Until then each may have
// connections that others use.
func (w *Worker) allRest() bool {
	return w.resting && w.Shared.resting.Load() == int64(w.workers())
}

// rest notes that the worker has no client, and that none can come. The listeners count: an
// open one that nobody accepts on would keep clients waiting.
func (w *Worker) rest() {
	if w.closing > 0 {
		// Only now: the connections accepted there have been handed out.
		if w.Shared.listening.Add(-int64(w.closing)) == 0 {
			w.ringAll() // they may rest from now on
		}
		w.closing = 0
	}
	if w.resting || !w.draining || w.clients.live > 0 || w.Shared.listening.Load() > 0 || w.hasLetters() {
		return
	}
	w.resting = true
	if w.Shared.resting.Add(1) == int64(w.workers()) {
		w.ringAll() // they need not wait for this one any more
	}
}

// ringAll wakes the others for what was not written in a letter.
func (w *Worker) ringAll() {
	for _, p := range w.others {
		w.ring(p)
	}
}

// Snapshot is what the worker has counted, and what it holds.
func (w *Worker) Snapshot() stats.Snapshot {
	return stats.Snapshot{
		Counters: w.counters, Clients: w.clients.live, Backends: w.pipes.live - w.fars, Private: w.privates, Window: w.window,
		Blocks: w.Arena.UsedBytes(), Rate: w.rate,
	}
}

package proxy

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"

	"mithril/src/buf"
	"mithril/src/conf"
	"mithril/src/pipe"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/sys"
	"mithril/src/window"
	"mithril/src/worker"
)

const (
	// regionBytes is the address space of one worker; only what is used of it costs
	// memory.
	regionBytes = 64 << 30

	// receiveChunks is how many chunks of 16 KiB one worker lends to its ring.
	receiveChunks = 1024

	// acceptBurst is how many connections one listener may take between two looks at how
	// many clients there are: its queue, and again while it is being stopped.
	acceptBurst = 2 * sys.Backlog
)

// seat is a worker with its thread and its engine.
type seat struct {
	number    int
	cpu       int // -1: not pinned
	engine    sys.Engine
	arena     *buf.Arena
	listeners []ring.Socket
	begin     chan *worker.Worker // what to run, or nil to give up
	finished  chan struct{}       // closed when it has turned for the last time
	closed    chan struct{}       // closed when its engine is
}

func (s *seat) cpuName() string {
	if s.cpu < 0 {
		return "any"
	}
	return strconv.Itoa(s.cpu)
}

// open makes a seat for each worker and starts them. Rings belong to the threads that
// use them, so each is made on its worker's own.
func (p *Proxy) open() error {
	opened := make(chan error)
	for i := range p.conf.WorkerThreads {
		s := &seat{number: i, cpu: -1, begin: make(chan *worker.Worker, 1), finished: make(chan struct{}), closed: make(chan struct{})}
		if len(p.conf.WorkerCPUs) > 0 {
			s.cpu = p.conf.WorkerCPUs[i]
		}
		p.seats = append(p.seats, s)
		go p.occupy(s, opened)
	}
	var failed error
	for range p.seats {
		if err := <-opened; err != nil && failed == nil {
			failed = err
		}
	}
	if failed == nil {
		failed = p.listen()
	}
	workers := make([]*worker.Worker, len(p.seats)) // nil where there is none to run
	for i, s := range p.seats {
		if failed == nil {
			workers[i] = p.newWorker(s)
		}
	}
	for i, s := range p.seats { // all of them are there by now
		s.begin <- workers[i]
	}
	return failed
}

// occupy is a worker's thread.
func (p *Proxy) occupy(s *seat, opened chan<- error) {
	runtime.LockOSThread()
	defer close(s.closed)
	err := p.equip(s)
	opened <- err
	w := <-s.begin
	if w == nil {
		return
	}
	w.Run()
	close(s.finished)
	<-p.quiet
	s.engine.Close()
}

// equip gives a seat its CPU, memory and engine.
func (p *Proxy) equip(s *seat) error {
	if s.cpu >= 0 {
		if err := sys.Pin(s.cpu); err != nil {
			return err
		}
	}
	region, err := sys.Map(regionBytes)
	if err != nil {
		return err
	}
	if err := region.Prefault(0, receiveChunks*buf.ReceiveChunkBytes); err != nil {
		return err
	}
	if s.arena, err = buf.NewArena(region, receiveChunks); err != nil {
		return err
	}
	options := sys.Options{KeepaliveSecs: p.conf.TCPKeepaliveSecs, ConnectTimeoutMs: worker.DialTimeoutMs}
	if p.engine == sys.EngineUring {
		s.engine, err = sys.NewUring(s.arena, region, options)
	} else {
		s.engine, err = sys.NewEpoll(s.arena, options)
	}
	return err
}

// listen opens the listeners. All are the first worker's, which gives each client that
// comes a worker.
func (p *Proxy) listen() error {
	acceptor := p.seats[0]
	for _, addr := range p.bindAddrs() {
		l, err := sys.Listen(addr, sys.ListenOptions{KeepaliveSecs: p.conf.TCPKeepaliveSecs})
		if err != nil {
			for _, l := range acceptor.listeners {
				sys.Close(l)
			}
			return err
		}
		acceptor.listeners = append(acceptor.listeners, l)
	}
	for _, addr := range p.bindAddrs() {
		p.own.Info("listening", "addr", addr.String())
	}
	return nil
}

func (p *Proxy) newWorker(s *seat) *worker.Worker {
	c := p.conf
	const msec, sec = int64(1_000_000), int64(1_000_000_000)
	batch, find := p.batchWindow()
	limits, fresh := resp.Authenticated, resp.Unauthenticated
	limits.MaxFrame = uint32(min(c.QueryBufferLimit, math.MaxUint32))
	fresh.MaxFrame = limits.MaxFrame
	return worker.New(worker.Options{
		Number: s.number, Ring: s.engine, Arena: s.arena, Listeners: s.listeners,
		Shared: &p.shared, Post: p.post, Sharing: sharings[c.BackendSharding], Log: p.log,
		Session: session.Env{
			Password: c.RequirePass, Limits: limits, FreshLimits: fresh,
			Output: session.OutputLimit{
				Hard: c.OutputNormal.Hard, Soft: c.OutputNormal.Soft, SoftFor: int64(c.OutputNormal.SoftSecs) * sec,
			},
			Server: session.Server{Name: "redis", Version: unknownVersion},
		},
		Backend: pipe.Credentials{User: c.BackendAuthUser, Pass: c.BackendAuthPass},
		Lanes:   c.BackendLanes(), Protected: c.ProtectedMode && c.RequirePass == "",
		PrivateMax:  max(1, c.PrivateConnsPerNode/len(p.seats)),
		BatchWindow: batch, FindWindow: find, IdleTimeout: int64(c.TimeoutSecs) * sec,
		BackendTimeout: int64(c.BackendTimeoutMs) * msec, MaxRedirects: c.MaxRedirects, MaxClients: p.clients,
		AcceptBurst: int64(acceptBurst * len(c.Bind)), Placement: placements[c.Placement],
		Picker: pickers[c.KeylessPicker], Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		Topology: p.refresher.Current, Commands: p.refresher.Commands, Wish: p.refresher.Wish,
		Resolve: p.resolve, Admin: p.admin,
	})
}

// sharings are the values of backend-sharding.
var sharings = [...]worker.Sharing{
	conf.BackendShardingNo:  worker.OwnPipes,
	conf.BackendShardingYes: worker.SharedPipes,
}

// placements are the values of placement.
var placements = [...]worker.Placement{
	conf.PlacementLeastLoaded: worker.LeastLoaded,
	conf.PlacementRoundRobin:  worker.RoundRobin,
}

// pickers are the values of keyless-picker.
var pickers = [...]worker.Picker{
	conf.KeylessRoundRobin: worker.PickInTurn,
	conf.KeylessRandom:     worker.PickRandom,
	conf.KeylessStatic:     worker.PickFirst,
}

// unknownVersion is what clients are told before any node has been asked.
const unknownVersion = "7.0.0"

// batchWindow is the configured window in ns, or what a worker goes by to find its own
// and the longest it may find. The epoll engine does not gather: it has no window.
func (p *Proxy) batchWindow() (ns int64, find *window.Config) {
	switch w := p.conf.BatchWindow; {
	case p.engine != sys.EngineUring:
		return 0, nil
	case w.Auto:
		return window.Longest, &window.Normal
	default:
		return int64(w.Usecs) * 1000, nil
	}
}

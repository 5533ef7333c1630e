package proxy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"mithril/src/admin"
	"mithril/src/conf"
	"mithril/src/refresher"

	"mithril/src/sys"
	"mithril/src/topology"
	"mithril/src/version"
	"mithril/src/worker"
)

const (
	// controlThreads is how many threads the control plane may run on beside the
	// workers.
	controlThreads = 2

	// gcPercent suits a heap that hardly changes: collections are rare, and cheap.
	gcPercent = 400

	// finalFlush bounds the time that replies get on their way out after the
	// shutdown timeout.
	finalFlush = time.Second
)

// Proxy is the running program.
type Proxy struct {
	conf      *conf.Config
	log       *slog.Logger // of the whole process
	own       *slog.Logger // of this package: the lines name a part or a worker
	shared    worker.Shared
	post      *worker.Post
	engine    string
	seats     []*seat
	quiet     chan struct{} // closed when nobody wakes an engine any more
	addresses topology.AddressMap
	runID     string // 40 hex digits, new with every start
	refresher *refresher.Refresher
	admin     *admin.Server
	clients   int64 // maxclients as far as descriptors allow it
}

// Start builds everything and begins to serve. The error names what could not be had;
// nothing is listening then.
func Start(c *conf.Config, log *slog.Logger) (*Proxy, error) {
	p := &Proxy{conf: c, log: log, own: log.With("part", "proxy"), quiet: make(chan struct{})}
	kind, why, err := sys.Choose(c.IOEngine.String())
	if err != nil {
		return nil, err
	}
	p.engine = kind
	p.own.Info("mithril starting", "version", version.Number, "pid", os.Getpid(), "conf", c.ConfFile, "workers", c.WorkerThreads)
	p.own.Info("i/o engine chosen", "engine", kind, "reason", why)
	if err := p.reserve(); err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(c.WorkerThreads + controlThreads)
	debug.SetGCPercent(gcPercent)
	if err := p.keepOffWorkers(); err != nil {
		return nil, err
	}
	if p.addresses, err = addressMap(c); err != nil {
		return nil, err
	}
	var id [20]byte
	rand.Read(id[:])
	p.runID = hex.EncodeToString(id[:])
	p.post = worker.NewPost(c.WorkerThreads, worker.PostLimits{})
	p.refresher = refresher.New(p.refresherOptions())
	p.admin = p.newAdmin()
	if err := p.open(); err != nil {
		return nil, err
	}
	p.refresher.Subscribe(p.wake)
	for _, s := range p.seats {
		log.Info("worker started", "worker", s.number, "cpu", s.cpuName(), "engine", kind)
	}
	return p, nil
}

func (p *Proxy) newAdmin() *admin.Server {
	return &admin.Server{
		Conf: p.conf, RunID: p.runID, PID: os.Getpid(), OS: sys.System(),
		Engine: p.engine, MaxClients: p.clients, Map: p.refresher.Current, CPU: sys.ProcessorTime,
		Memory: func() (heap, resident uint64) { return heapBytes(), residentBytes() },
		Clock:  func() int64 { return time.Now().UnixMicro() },
	}
}

// wake makes every worker look at what has been published.
func (p *Proxy) wake() {
	for _, s := range p.seats {
		s.engine.Wake()
	}
}

// Run serves until ctx ends, then lets the sessions finish: for shutdown-timeout-secs, or
// until cut is closed. It returns when everything is closed.
func (p *Proxy) Run(ctx context.Context, cut <-chan struct{}) {
	background, stopRefresher := context.WithCancel(context.Background())
	defer stopRefresher()
	var control sync.WaitGroup
	control.Go(func() { p.refresher.Run(background) })
	control.Go(func() { trimHeap(background) })
	workers := make(chan struct{})
	go func() {
		for _, s := range p.seats {
			<-s.finished
		}
		close(workers)
	}()

	<-ctx.Done()
	p.own.Info("shutting down", "clients", p.shared.Clients.Load())
	p.shared.Stopping.Store(true)
	p.wake()
	var over string
	select {
	case <-workers:
	case <-cut:
		over = "another signal has come"
	case <-time.After(time.Duration(p.conf.ShutdownTimeoutSecs) * time.Second):
		over = "shutdown-timeout-secs have passed"
	}
	if n := p.shared.Clients.Load(); over != "" && n > 0 {
		p.own.Warn("ending sessions", "clients", n, "reason", over)
	}
	p.shared.Cutoff.Store(true)
	p.wake()
	select {
	case <-workers:
	case <-time.After(finalFlush):
		p.own.Warn("sessions cut off", "clients", p.shared.Clients.Load())
	}
	stopRefresher()
	control.Wait()
	p.closeEngines(workers)
	p.own.Info("bye")
}

// closeEngines lets the workers close their engines, if all have finished: those of an
// engine that others may wake must stay open, since its descriptors could be something
// else's next.
func (p *Proxy) closeEngines(workers <-chan struct{}) {
	select {
	case <-workers:
	default:
		return
	}
	close(p.quiet)
	for _, s := range p.seats {
		<-s.closed
	}
}

// keepOffWorkers restricts the control plane to the CPUs that no worker is pinned to,
// if there are any. It fails when the process may not use one of those that workers are pinned to.
func (p *Proxy) keepOffWorkers() error {
	if len(p.conf.WorkerCPUs) == 0 {
		return nil
	}
	allowed, err := sys.AllowedCPUs()
	if err != nil {
		return err
	}
	taken := make(map[int]bool)
	for _, cpu := range p.conf.WorkerCPUs[:p.conf.WorkerThreads] {
		if !slices.Contains(allowed, cpu) {
			return fmt.Errorf("worker-cpus: this process may not use CPU %d; expected some of %v", cpu, allowed)
		}
		taken[cpu] = true
	}
	var rest []int
	for _, cpu := range allowed {
		if !taken[cpu] {
			rest = append(rest, cpu)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return sys.PinAll(rest...)
}

// bindAddrs are the addresses to listen on.
func (p *Proxy) bindAddrs() []netip.AddrPort {
	var addrs []netip.AddrPort
	for _, a := range p.conf.Bind {
		addrs = append(addrs, netip.AddrPortFrom(a, p.conf.Port))
	}
	return addrs
}

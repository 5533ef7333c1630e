package refresher

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"mithril/src/command"
	"mithril/src/topology"
)

// Options configure a Refresher.
type Options struct {
	// Bootstrap holds "host:port" of any nodes; hosts may be names.
	Bootstrap []string
	// User and Pass are sent with AUTH where Pass is not empty; without User as the default user.
	User, Pass string
	// Timeout bounds each conversation with a node, the connection included, and each resolution of names.
	Timeout time.Duration
	// Period is the time between two refreshes that nobody wished for.
	Period time.Duration
	// RunID is this process's own run_id: who tells it in INFO is no node but the proxy itself. Empty checks nothing.
	RunID string
	// RequireFullCoverage refuses maps that leave slots uncovered.
	RequireFullCoverage bool
	// AddressMap turns an announced "host:port" into the one to dial; nil changes nothing.
	AddressMap func(announced string) string
	// Extra holds the commands of the configuration. They are offered whatever the nodes tell of them.
	Extra []*command.Rows
	// Log takes each change of condition once; nil drops them.
	Log *slog.Logger
	// Rand spreads load and waits; nil takes a generator of its own.
	Rand *rand.Rand
	// Dial connects to "host:port"; nil dials plain TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Lookup resolves a host name; nil asks the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Stats counts since the start.
type Stats struct {
	Fetches   uint64 // begun
	Refreshes uint64 // fetches that brought an acceptable map
	Failures  uint64 // fetches that did not
	Epoch     uint64 // of the published map, 0 before the first
}

// Refresher keeps the cluster map current and publishes it.
type Refresher struct {
	options Options

	current    atomic.Pointer[topology.Snapshot]
	commands   atomic.Pointer[command.Table]
	fetches    atomic.Uint64
	refreshes  atomic.Uint64
	failures   atomic.Uint64
	readyUntil atomic.Int64 // nanoseconds after base
	base       time.Time
	wished     atomic.Bool   // a wish came since the last fetch began
	wishes     chan struct{} // wakes Run for the first such wish

	subscribersMu sync.Mutex // guards subscribers
	subscribers   []func()

	// What follows belongs to Run.
	machine      *topology.Refresh
	rand         *rand.Rand
	outcomes     chan outcome
	probes       chan []probe
	probing      bool
	versions     versions
	offer        offer
	clusterEpoch uint64
	conditions   conditions
	tasks        sync.WaitGroup

	resolved map[string]time.Time // belongs to the one fetch under way; see resolveNodes
}

// New makes a Refresher that does nothing before Run.
func New(options Options) *Refresher {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Rand == nil {
		options.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if options.Dial == nil {
		options.Dial = dialTCP
	}
	if options.Lookup == nil {
		options.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	now := time.Now()
	r := &Refresher{
		options:    options,
		base:       now,
		wishes:     make(chan struct{}, 1),
		machine:    topology.NewRefresh(now, options.Period, options.Rand),
		rand:       options.Rand,
		outcomes:   make(chan outcome, 1),
		probes:     make(chan []probe, 1),
		versions:   newVersions(),
		conditions: conditions{},
	}
	r.offer = newOffer(&r.options)
	r.commands.Store(r.offer.table)
	r.readyUntil.Store(notReady)
	return r
}

// notReady is a readyUntil that lies before any time.
const notReady = -1

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var dialer net.Dialer
	dialer.SetMultipathTCP(false)
	return dialer.DialContext(ctx, "tcp", addr)
}

// Current answers the published map, nil before the first. Any goroutine may call it.
func (r *Refresher) Current() *topology.Snapshot { return r.current.Load() }

// Commands answers the table of the commands that are offered. A new one is there before the map that is published with it. Any goroutine
// may call it.
func (r *Refresher) Commands() *command.Table { return r.commands.Load() }

// Wish asks for a refresh. Any thread may call it as often as it likes: it never blocks, and from the first wish until the
// next fetch begins it costs one load.
func (r *Refresher) Wish() {
	if r.wished.Load() || r.wished.Swap(true) {
		return
	}
	select {
	case r.wishes <- struct{}{}:
	default:
	}
}

// Subscribe has notify called after each publication, on the refresher's goroutine: it must not block.
func (r *Refresher) Subscribe(notify func()) {
	r.subscribersMu.Lock()
	defer r.subscribersMu.Unlock()
	r.subscribers = append(r.subscribers, notify)
}

// Ready reports whether the map covers every slot and was confirmed within the last three periods.
func (r *Refresher) Ready() bool { return int64(time.Since(r.base)) <= r.readyUntil.Load() }

// Stats answers the counters.
func (r *Refresher) Stats() Stats {
	stats := Stats{Fetches: r.fetches.Load(), Refreshes: r.refreshes.Load(), Failures: r.failures.Load()}
	if current := r.Current(); current != nil {
		stats.Epoch = current.Epoch
	}
	return stats
}

// Run refreshes until ctx ends; then it waits for what it has begun. It may be called once.
func (r *Refresher) Run(ctx context.Context) {
	defer r.tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			r.step(ctx, topology.Tick)
		case <-r.wishes:
			r.step(ctx, topology.Wish)
		case result := <-r.outcomes:
			r.settle(ctx, result)
		case probes := <-r.probes:
			r.takeProbes(ctx, probes)
		}
		if due, ok := r.machine.Due(); ok {
			timer.Reset(time.Until(due))
		} else {
			timer.Stop()
		}
	}
}

// step feeds the machine and does what it asks for.
func (r *Refresher) step(ctx context.Context, event topology.Event) {
	now := time.Now()
	if r.machine.Step(now, event) == topology.StartFetch {
		r.fetches.Add(1)
		r.wished.Store(false) // a wish from here on may be about something this fetch does not see
		search := round{
			Refresher: r, current: r.Current(), clusterEpoch: r.clusterEpoch, at: now,
			rand: rand.New(rand.NewPCG(r.rand.Uint64(), r.rand.Uint64())),
		}
		r.tasks.Go(func() { r.outcomes <- search.run(ctx) })
	}
	if until := r.machine.ReadyUntil(); until.IsZero() {
		r.readyUntil.Store(notReady)
	} else {
		r.readyUntil.Store(int64(until.Sub(r.base)))
	}
}

// settle ends a fetch. It counts last, so that whoever sees the count also sees what the fetch has led to.
func (r *Refresher) settle(ctx context.Context, result outcome) {
	event, acceptable := r.take(ctx, result)
	r.step(ctx, event)
	if acceptable {
		r.refreshes.Add(1)
	} else {
		r.failures.Add(1)
	}
}

// take publishes what a fetch brought, if it is acceptable and new, and answers the event that it is to the machine.
func (r *Refresher) take(ctx context.Context, result outcome) (event topology.Event, acceptable bool) {
	if ctx.Err() != nil {
		return topology.FetchFailed, false // what failed did so because the end has come
	}
	defer r.reportOutcome(result) // a map that is said to be found is in force
	if result.best == nil {
		return topology.FetchFailed, false
	}
	snapshot := result.best.snapshot
	if r.options.RequireFullCoverage && !snapshot.Complete() {
		return topology.FetchedPartial, false
	}
	r.clusterEpoch = result.best.clusterEpoch
	r.versions.keep(snapshot)
	r.versions.hear(result.best.addr, result.best.program)
	r.publish(snapshot)
	r.askVersions(ctx)
	if !snapshot.Complete() {
		return topology.FetchedPartial, true
	}
	return topology.FetchedFull, true
}

// publish completes a map by what is known of its nodes' programs, and publishes it with its commands if either is new.
func (r *Refresher) publish(snapshot *topology.Snapshot) {
	r.versions.fill(snapshot)
	offer, current := r.offerFor(snapshot), r.Current()
	if current != nil && current.Equal(snapshot) && offer.table == r.offer.table {
		return
	}
	r.offer = offer
	r.reportOffer()
	r.commands.Store(offer.table)
	snapshot.Epoch = 1
	if current != nil {
		snapshot.Epoch = current.Epoch + 1
	}
	r.current.Store(snapshot)
	if current != nil {
		r.reportPrimaries(current, snapshot)
	}
	r.options.Log.Debug("map published", "epoch", snapshot.Epoch, "nodes", len(snapshot.Nodes), "shards", len(snapshot.Shards),
		"slots", snapshot.Covered, "engine", snapshot.Engine, "version", snapshot.Version.String(), "commands", offer.table.Len())
	r.subscribersMu.Lock()
	defer r.subscribersMu.Unlock()
	for _, notify := range r.subscribers {
		notify()
	}
}

// askVersions begins to ask the nodes whose programs are not known, unless that is under way. It is apart from the fetch so
// that nodes which cannot be reached do not hold up the map.
func (r *Refresher) askVersions(ctx context.Context) {
	if r.probing {
		return
	}
	addrs := r.versions.missing(r.Current(), time.Now(), r.options.Period)
	if len(addrs) == 0 {
		return
	}
	r.probing = true
	r.tasks.Go(func() { r.probes <- r.probeAll(ctx, addrs) })
}

// takeProbes publishes the map again if the lowest version or the commands turn out to be others.
func (r *Refresher) takeProbes(ctx context.Context, probes []probe) {
	if r.probing = false; ctx.Err() != nil {
		return
	}
	r.reportProbes(probes)
	for _, probe := range probes {
		if probe.failure == nil {
			r.versions.learn(probe)
		}
	}
	snapshot := *r.Current()
	r.publish(&snapshot)
}

package sim

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"runtime/debug"

	"mithril/src/admin"
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/pipe"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/stats"
	"mithril/src/topology"
	"mithril/src/window"
	"mithril/src/worker"
)

const (
	regionBytes = 16 << 20 // of each arena: more than any run uses

	faultTime = 1500 * millisecond // how long faults strike
	calmTime  = 60 * second        // within which everything outstanding must have finished
	restAfter = 5 * second         // after that, within which nothing may be left in flight

	forgetTime = 63 * second // after which workers have closed what leads to nodes that are gone
)

// Result is what a run has shown.
type Result struct {
	Hash    uint64 // of the trace
	Replies int    // judged
	Counted stats.Counters
	Steps   map[string]int // how often each kind of step was traced
	Err     error
}

// run is one run.
type run struct {
	world   *World
	config  Config
	faults  Faults // those that are on now
	cores   []*core
	files   descriptors
	post    *worker.Post
	cluster *cluster
	judge   *judge
	shared  worker.Shared
	clients []*client
}

// region is memory for arenas, used again by the next run. What it held stays in it,
// so that whoever reads what he has not written is found out.
type region []byte

func (m region) Bytes() []byte       { return m }
func (m region) Discard(_, _ uint64) {}

// regions is as much memory as some workers need.
func regions(workers int) (list []region) {
	for range workers {
		list = append(list, make(region, regionBytes))
	}
	return list
}

// Simulator runs seeds one after the other.
type Simulator struct{ memory []region }

// Run runs one Config. log gets the trace, if it is not nil.
func (s *Simulator) Run(c Config, log io.Writer) (result Result) { return s.run(c, log, nil) }

func (s *Simulator) run(c Config, log io.Writer, m *mutant) (result Result) {
	s.memory = append(s.memory, regions(c.workers()-len(s.memory))...)
	w := newWorld(c.Seed, log)
	defer func() {
		result.Hash, result.Steps = w.hash, w.steps
		switch problem := recover().(type) {
		case nil:
		case Failure:
			result.Err = problem
		case crash:
			result.Err = fmt.Errorf("at %.6fs: worker %d: panic: %v\n%s", w.seconds(), w.actor, problem.value, problem.stack)
		default:
			result.Err = fmt.Errorf("at %.6fs: panic: %v\n%s", w.seconds(), problem, debug.Stack())
		}
	}()
	r := newRun(w, c, s.memory, m)
	defer r.abandon()
	r.play()
	r.end()
	result.Replies = r.judge.replies
	result.Counted = r.snapshot().Counters
	return result
}

// newRun is a run before its first event. It is to be abandoned in the end.
func newRun(w *World, c Config, memory []region, m *mutant) *run {
	r := &run{world: w, config: c, faults: c.F}
	r.judge = &judge{world: w, config: &r.config, seen: map[string]bool{}}
	r.judge.lives = newLives(&r.judge.order)
	r.cluster = newCluster(w, &r.config, r.judge, &r.faults)
	r.post = worker.NewPost(c.workers(), c.Post)
	for i := range c.workers() {
		r.addCore(memory[i], m)
	}
	for _, c := range r.cores {
		c.worker = worker.New(r.options(c))
		c.start()
	}
	return r
}

// addCore makes all of a core but its worker.
func (r *run) addCore(memory region, m *mutant) {
	if r.config.Scarce > 0 {
		memory = memory[:r.config.Chunks*buf.ReceiveChunkBytes+r.config.Scarce]
	}
	arena, err := buf.NewArena(memory, r.config.Chunks)
	if err != nil {
		panic(err)
	}
	c := &core{arena: arena}
	c.ring = &Ring{
		world: r.world, number: len(r.cores), arena: arena, faults: &r.faults, network: r.cluster, files: &r.files, mutant: m,
	}
	c.ring.bell = c.ring.open(&socket{bell: true})
	if len(r.cores) < r.config.listeners() {
		c.server = c.ring.listen()
	}
	r.cores = append(r.cores, c)
}

// findWindow makes small crowds be probed, in phases so short that a run has many.
var findWindow = window.Config{Phase: 4 * millisecond, Clients: 1, Commands: 1}

func (r *run) options(on *core) worker.Options {
	c := &r.config
	o := worker.Options{
		Number: on.ring.number, Ring: on.ring, Arena: on.arena, Shared: &r.shared,
		Post: r.post, Placement: c.Place, Log: slog.New(slog.DiscardHandler),
		Session: session.Env{
			Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated,
			Output: session.OutputLimit{Hard: c.HardOutput, Soft: c.SoftOutput, SoftFor: cmp.Or(c.SoftFor, 3600*second)},
			Server: session.Server{Name: "redis", Version: "7.0.15"},
		},
		Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 7, 0) },
		Lanes:    c.Lanes, BatchWindow: c.BatchWindow, BackendTimeout: c.Timeout, IdleTimeout: c.Idle,
		MaxRedirects: maxRedirects, PrivateMax: c.Private, MaxClients: int64(c.Sessions + c.probes() + 1),
		Topology: on.topology(r.cluster), Wish: on.wish(r.cluster), Resolve: r.cluster.resolve,
		Admin: &admin.Server{}, Rand: rand.New(rand.NewPCG(c.Seed, 0x776f726b+uint64(on.ring.number))),
	}
	if on.server != nil {
		o.Listeners = []ring.Socket{on.server.number}
	}
	o.AcceptBurst = int64(c.Burst)
	if c.Large > 0 {
		o.Large = worker.Large{LargeRequestFrom: c.Large / 2, PartsFrom: c.Large / 2, LargeReplyFrom: c.Large, HeavyFrom: c.Large, StreamWindow: c.Large}
		o.Session.StreamFrom = c.Large
	}
	if c.Shared {
		o.Sharing = worker.SharedPipes
	}
	if c.FindWindow {
		o.FindWindow = &findWindow
	}
	if c.MaxClients > 0 {
		o.MaxClients = int64(c.MaxClients)
		if c.Burst >= c.Sessions {
			r.files.clientsMax = c.MaxClients + c.listeners()*worker.TurnedAwayMax
		}
	}
	if c.Password {
		o.Session.Password = clientPassword
		o.Backend = pipe.Credentials{Pass: nodePassword}
	}
	if r.world.log != nil {
		o.Log = slog.New(slog.NewTextHandler(r.world.log, nil))
	}
	return o
}

func clientAddr(number int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(20_000+number))
}

// play goes through the phases of a run, up to its end.
func (r *run) play() {
	r.cluster.start()
	for range r.config.Sessions {
		r.addClient()
	}
	if r.config.Stop > 0 {
		r.world.after(r.config.Stop, func() { r.stop(r.config.Cutoff) })
	}
	r.turnUntil(r.world.now + faultTime)

	r.world.trace("calm", 0, 0, nil)
	r.faults = Faults{}
	r.cluster.heal()
	for _, c := range r.clients {
		c.rush()
	}
	r.turnTo("finish the sessions", calmTime, func() bool { return r.allDone() && r.cluster.quiet() })
	if r.config.Stop == 0 {
		r.probe()
	}
}

// end waits for what sessions still wait for, judges the whole run and counts what is left.
func (r *run) end() {
	r.turnTo("finish the sessions", calmTime, r.allDone)
	for _, c := range r.clients {
		if c.stubborn {
			c.abort()
		}
	}
	r.judge.finish()
	r.close()
}

// stop tells the workers to stop, and perhaps to cut their sessions off some time later.
func (r *run) stop(cutoff bool) {
	r.world.trace("stop", 0, 0, nil)
	r.shared.Stopping.Store(true)
	r.wake()
	if cutoff {
		r.world.after(r.world.between(0, 200*millisecond), func() {
			r.shared.Cutoff.Store(true)
			r.wake()
		})
	}
}

// probe tries the proxy when the faults are over.
func (r *run) probe() {
	r.world.trace("probe", 0, 0, nil)
	r.turnUntil(r.world.now + 3*second) // back-offs end
	r.judge.probing = true
	for range r.config.probes() {
		r.addProbe()
	}
	began := r.world.now
	r.turnTo("serve the probes", calmTime, r.allDone)
	for _, c := range r.clients[r.config.Sessions:] {
		if took := c.doneAt - began; took > r.config.probeTime() {
			r.world.fail("session %d was served in %d ms, though nothing is wrong any more", c.number, took/millisecond)
		}
	}
}

// probeTime is within which a probe must be served: no wait of its requests may be as long
// as until a worker's next sweep. Values for which a connection has no room take several ways.
func (c *Config) probeTime() int64 {
	return 80*millisecond + int64(300+20*(c.ValueBytes/c.Room))*c.Latency
}

// probes is how many sessions try the proxy when the faults are over.
func (c *Config) probes() int {
	if c.MaxClients > 0 {
		return 1
	}
	return 6 // with their connections to nodes enough for the wait to gather
}

func (r *run) allDone() bool {
	for _, c := range r.clients {
		if !c.done && !c.stubborn {
			return false
		}
	}
	return true
}

// quiet says that all nodes agree and the workers have their map.
func (k *cluster) quiet() bool {
	return len(k.moving) == 0 && !k.fetching && k.published != nil && k.world.now > k.healed
}

func (r *run) newClient() (*client, *script) {
	c := &client{
		world: r.world, config: &r.config, faults: &r.faults, judge: r.judge, number: len(r.clients),
		depth: 1 + r.world.rng.IntN(r.config.Depth),
	}
	c.server = r.cores[c.number%r.config.listeners()].server
	r.clients = append(r.clients, c)
	return c, &script{
		world: r.world, crowd: &r.clients, config: &r.config, tags: r.cluster.tags, session: c.number, proto: 2, walk: walk{cursor: "0"},
		alone: c.depth == 1,
	}
}

// addClient adds a session with a life of its own.
func (r *run) addClient() {
	w, f := r.world, &r.faults
	c, s := r.newClient()
	switch {
	case w.chance(f.Abort):
		c.ending = endAbort
	case w.chance(f.Malformed):
		c.ending = []ending{endMalformed, endMalformed, endCut, endHTTP}[w.rng.IntN(4)]
	case r.config.endsStaying() && w.chance(0.3):
		c.ending = endStay
	default:
		c.ending = []ending{endClose, endClose, endHalf, endQuit}[w.rng.IntN(4)]
	}
	c.deaf = w.chance(f.SlowReader)
	if c.deaf && w.chance(0.5) {
		c.ending, c.stubborn = endAbort, true
	}
	c.bytewise = w.chance(f.BytewiseSend)
	if k := r.config.listeners(); k > 1 {
		c.server = r.cores[w.rng.IntN(k)].server
	}
	s.body(1 + w.rng.IntN(r.config.Requests))
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	w.after(w.between(0, second), c.connect)
}

// addProbe adds a session that uses every slot and must meet no error.
func (r *run) addProbe() {
	c, s := r.newClient()
	c.rushing = true
	if r.config.Password {
		s.login()
	}
	s.hello(2 + c.number%2)
	var all []string
	for _, tag := range r.cluster.tags {
		s.keyed(opSet, []string{keyOf(tag, "k0")}, []string{s.value()})
		s.keyed(opGet, []string{keyOf(tag, "k0")}, nil)
		all = append(all, keyOf(tag, "k0"))
	}
	s.keyed(opMset, all, nil)
	s.keyed(opMget, all, nil)
	for kind := opLolwut; kind <= opScan; kind++ {
		if kind != opFlushall {
			s.one(kind)
		}
	}
	s.listClients()
	c.farewell(s)
	r.judge.sessions = append(r.judge.sessions, c.requests)
	c.connect()
}

// close ends the workers and counts what is left.
func (r *run) close() {
	if r.config.Stop == 0 {
		r.settle()
		r.stop(false)
	}
	r.turnTo("finish", calmTime, r.finished)
	if n := r.shared.Clients.Load(); n != 0 {
		r.world.fail("%d clients are counted when the workers have finished", n)
	}
	if n := r.census(); r.files.open() != n.Pipes-n.Fars {
		r.world.fail("%d sockets are open when the workers have finished: %+v", r.files.open(), n)
	}
}

// settle lets the workers come to rest and counts what they still hold.
func (r *run) settle() {
	r.turnTo("let go of the sessions", calmTime, func() bool {
		n := r.census()
		return n.Clients == 0 && n.InFlight == 0
	})
	own := len(r.cores)
	if r.config.Timeout > 0 {
		own *= 2
	}
	// Not so where a dial may have been for nothing, for want of memory, and where those of
	// large replies are left to end by themselves.
	if left := r.census(); left.Timers != own && r.config.Scarce == 0 && r.config.Large == 0 {
		r.world.fail("timers are left over: %+v, %d are the workers' own", left, own)
	}
	r.turnUntil(r.world.now + restAfter)
	if r.cluster.failovers > 0 {
		r.turnUntil(r.world.now + forgetTime)
		if n := r.snapshot().Private; n != 0 {
			r.world.fail("%d connections that are not shared are counted, which nobody has needed for long", n)
		}
	}
	left := r.census()
	if left.Clients+left.InFlight+left.Joins+left.Waiting+left.Lent != 0 || left.Timers != own {
		r.world.fail("something is left over: %+v, of the timers %d are the workers' own", left, own)
	}
	if left.Lines != left.Fars {
		r.world.fail("%d lines are left of %d far pipes", left.Lines, left.Fars)
	}
	for _, c := range r.cores {
		if n := c.worker.Census().Nodes; n > primaries {
			r.world.fail("%d nodes are in use, %d exist", n, primaries)
		}
		if n := c.arena.Live(); n != 0 {
			r.world.fail("%d blocks of an arena are still referenced", n)
		}
	}
}

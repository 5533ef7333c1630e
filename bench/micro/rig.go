package micro

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"

	"mithril/src/admin"
	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/ring"
	"mithril/src/session"
	"mithril/src/slot"
	"mithril/src/topology"
	"mithril/src/worker"
)

const (
	shards        = 3
	regionBytes   = 8 << 20
	receiveChunks = 64
	turnsMax      = 100 // of one iteration; the longest load needs a handful
)

// Rig is a worker with one client and three nodes that answer at once, and perhaps a second
// worker that shares the connections to the nodes.
type Rig struct {
	Ring   *Ring   // of the worker that has the client
	rings  []*Ring // of all workers
	shared worker.Shared
	slots  topology.Snapshot

	home   *worker.Worker
	keeper *worker.Worker   // that has the connections, nil if the home has
	order  []*worker.Worker // who turns, again and again

	request  []byte
	want     int // bytes that the client gets for it
	turns    int // that one iteration takes
	turnsMax int // that it may take
}

// Place says which worker has the connections to the nodes.
type Place uint8

// The places. Between Near and Far is a request handed over and its reply handed back;
// Near and Alone tell what it costs to have another worker.
const (
	Alone Place = iota // the client's, there is no other
	Near               // the client's, which has a peer
	Far                // the other one
)

// keeperNumber is which of two workers keeps the connections to all nodes: the sum of their
// addresses' bytes and ports is odd.
const keeperNumber = 1

// nodeAddr is where node i is.
func nodeAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(7000+2*i))
}

// NewRig starts the workers and connects the client.
func NewRig(place Place) *Rig {
	r := &Rig{turnsMax: turnsMax}
	for i := range shards {
		r.slots.Nodes = append(r.slots.Nodes, topology.Node{Addr: nodeAddr(i).String(), Dial: nodeAddr(i), Shard: i})
		r.slots.Shards = append(r.slots.Shards, topology.Shard{Primary: i})
	}
	for s := range r.slots.Slots {
		r.slots.Slots[s] = uint16(ownerOf(s))
	}
	r.slots.Engine, r.slots.Version = topology.EngineRedis, topology.Version{Major: 7}
	switch place {
	case Alone:
		r.home, r.Ring = r.newWorker(0, nil, true)
		r.order = []*worker.Worker{r.home}
	case Near:
		post := worker.NewPost(2, worker.PostLimits{})
		r.newWorker(1-keeperNumber, post, false)
		r.home, r.Ring = r.newWorker(keeperNumber, post, true)
		r.order = []*worker.Worker{r.home}
	case Far:
		post := worker.NewPost(2, worker.PostLimits{})
		r.keeper, _ = r.newWorker(keeperNumber, post, false)
		r.home, r.Ring = r.newWorker(1-keeperNumber, post, true)
		r.order = []*worker.Worker{r.home, r.keeper, r.keeper, r.home, r.home}
	}
	r.Ring.Accept()
	for !r.Ring.clientReady {
		r.home.Turn()
	}
	return r
}

// newWorker makes a worker; one that listens gets the client.
func (r *Rig) newWorker(number int, post *worker.Post, listens bool) (*worker.Worker, *Ring) {
	arena, err := buf.NewArena(make(buf.HeapMemory, regionBytes), receiveChunks)
	if err != nil {
		panic(err)
	}
	var nodes []netip.AddrPort
	for i := range shards {
		nodes = append(nodes, nodeAddr(i))
	}
	var listeners []ring.Socket
	if listens {
		listeners = []ring.Socket{listener}
	}
	own := NewRing(arena, nodes)
	r.rings = append(r.rings, own)
	return worker.New(worker.Options{
		Number: number, Post: post, Sharing: worker.SharedPipes,
		Ring: own, Arena: arena, Listeners: listeners, Shared: &r.shared,
		Log:      slog.New(slog.DiscardHandler),
		Session:  session.Env{Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated},
		Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 7, 0) },
		Lanes:    1, MaxRedirects: 7, MaxClients: 10,
		Topology: func() *topology.Snapshot { return &r.slots }, Wish: func() {}, Resolve: resolve, Admin: &admin.Server{},
		Rand: rand.New(rand.NewPCG(1, 1)),
	}), own
}

func resolve(host []byte, port uint16, from netip.AddrPort) (netip.AddrPort, bool) {
	return netip.AddrPortFrom(from.Addr(), port), true
}

// ownerOf is the node of a slot.
func ownerOf(s int) int { return s * shards / slot.Count }

// Load prepares an iteration: the client sends request and gets want bytes for it, and
// nodes answer with what reply says. It runs a few, which also connects the pipes.
func (r *Rig) Load(request []byte, want int, reply func(node int) []byte) {
	r.request, r.want = request, want
	for _, own := range r.rings {
		own.Reply = reply
	}
	for range 100 {
		r.Iterate()
	}
}

// Exchange sends a request that the proxy answers itself and turns until the answer is on
// its way.
func (r *Rig) Exchange(request []byte) {
	r.Ring.Delivered = 0
	r.Ring.Request(request)
	r.turnUntil(1)
}

// Iterate sends the request and turns until its replies are on their way.
func (r *Rig) Iterate() {
	r.Ring.Delivered = 0
	r.Ring.Request(r.request)
	r.turnUntil(r.want)
	if r.Ring.Delivered != r.want {
		panic(fmt.Sprintf("micro: the client got %d bytes, want %d", r.Ring.Delivered, r.want))
	}
}

func (r *Rig) turnUntil(delivered int) {
	for r.turns = 0; r.Ring.Delivered < delivered; r.turns++ {
		if r.turns == r.turnsMax {
			panic(fmt.Sprintf("micro: %d bytes of %d after %d turns", r.Ring.Delivered, delivered, r.turns))
		}
		r.order[r.turns%len(r.order)].Turn()
	}
}

// Apart gives each worker a thread of its own until the returned function is called. Both turn
// all the time, so what one has written is in the caches of the other one's processor.
func (r *Rig) Apart() (end func()) {
	var stop atomic.Bool
	var keeper sync.WaitGroup
	order := r.order
	r.order, r.turnsMax = []*worker.Worker{r.home}, math.MaxInt
	keeper.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for !stop.Load() {
			r.keeper.Turn()
		}
	})
	runtime.LockOSThread()
	return func() {
		runtime.UnlockOSThread()
		stop.Store(true)
		keeper.Wait()
		r.order, r.turnsMax = order, turnsMax
	}
}

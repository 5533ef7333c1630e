package micro

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"

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

// Rig is a worker with one client and three nodes that answer at once.
type Rig struct {
	Ring   *Ring
	Worker *worker.Worker
	shared worker.Shared
	slots  topology.Snapshot

	request []byte
	want    int // bytes that the client gets for it
	turns   int // that one iteration takes
}

// nodeAddr is where node i is.
func nodeAddr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(7000+i))
}

// NewRig starts a worker and connects its client.
func NewRig() *Rig {
	arena, err := buf.NewArena(make(buf.HeapMemory, regionBytes), receiveChunks)
	if err != nil {
		panic(err)
	}
	r := &Rig{}
	var nodes []netip.AddrPort
	for i := range shards {
		nodes = append(nodes, nodeAddr(i))
		r.slots.Nodes = append(r.slots.Nodes, topology.Node{Addr: nodeAddr(i).String(), Dial: nodeAddr(i), Shard: i})
		r.slots.Shards = append(r.slots.Shards, topology.Shard{Primary: i})
	}
	for s := range r.slots.Slots {
		r.slots.Slots[s] = uint16(ownerOf(s))
	}
	r.slots.Engine, r.slots.Version = topology.EngineRedis, topology.Version{Major: 7}
	r.Ring = NewRing(arena, nodes)
	r.Worker = worker.New(worker.Options{
		Ring: r.Ring, Arena: arena, Listeners: []ring.Socket{listener}, Shared: &r.shared,
		Log:      slog.New(slog.DiscardHandler),
		Session:  session.Env{Limits: resp.Authenticated, FreshLimits: resp.Unauthenticated},
		Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 7, 0) },
		Lanes:    1, MaxRedirects: 7, MaxClients: 10,
		Topology: func() *topology.Snapshot { return &r.slots }, Wish: func() {}, Resolve: resolve, Admin: &admin.Server{},
		Rand: rand.New(rand.NewPCG(1, 1)),
	})
	r.Ring.Accept()
	for !r.Ring.clientReady {
		r.Worker.Turn()
	}
	return r
}

func resolve(host []byte, port uint16, from netip.AddrPort) (netip.AddrPort, bool) {
	return netip.AddrPortFrom(from.Addr(), port), true
}

// ownerOf is the node of a slot.
func ownerOf(s int) int { return s * shards / slot.Count }

// Load prepares an iteration: the client sends request and gets want bytes for it, and
// nodes answer with what reply says. It runs a few, which also connects the pipes.
func (r *Rig) Load(request []byte, want int, reply func(node int) []byte) {
	r.request, r.want, r.Ring.Reply = request, want, reply
	for range 100 {
		r.Iterate()
	}
}

// Exchange sends a request that the proxy answers itself and turns until the answer is on
// its way.
func (r *Rig) Exchange(request []byte) {
	r.Ring.Delivered = 0
	r.Ring.Request(request)
	for turns := 0; r.Ring.Delivered == 0; turns++ {
		r.Worker.Turn()
		if turns == turnsMax {
			panic(fmt.Sprintf("micro: no answer after %d turns", turns))
		}
	}
}

// Iterate sends the request and turns until its replies are on their way.
func (r *Rig) Iterate() {
	r.Ring.Delivered, r.turns = 0, 0
	r.Ring.Request(r.request)
	for r.Ring.Delivered < r.want {
		r.Worker.Turn()
		if r.turns++; r.turns == turnsMax {
			panic(fmt.Sprintf("micro: %d bytes of %d after %d turns", r.Ring.Delivered, r.want, r.turns))
		}
	}
	if r.Ring.Delivered != r.want {
		panic(fmt.Sprintf("micro: the client got %d bytes, want %d", r.Ring.Delivered, r.want))
	}
}

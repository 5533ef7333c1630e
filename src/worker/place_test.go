package worker

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/ring"
	"mithril/src/topology"
)

func TestActivityFades(t *testing.T) {
	a := activity(0).plus(100, 1000)
	for _, c := range []struct {
		window, want uint32
	}{
		{100, 1000}, {101, 500}, {102, 250}, {109, 1}, {110, 0}, {132, 0}, {100 + 1<<30, 0},
		{99, 1000}, // by a clock that is behind
	} {
		if got := a.at(c.window); got != c.want {
			t.Errorf("in window %d: %d, want %d", c.window, got, c.want)
		}
	}
	if got := a.plus(101, 7).at(101); got != 507 {
		t.Errorf("with 7 more a window later: %d, want 507", got)
	}
	if got := activity(0).plus(math.MaxUint32, 8).at(1); got != 2 {
		t.Errorf("two windows later, behind the last number of one: %d, want 2", got)
	}
	if got := a.plus(100, math.MaxUint64/2).at(100); got != math.MaxUint32 {
		t.Errorf("more than there is room for: %d", got)
	}
}

// placement is what the workers show at one moment, and who gets the clients that come then.
type placement struct {
	name    string
	shown   []uint64 // commands
	clients int64    // before
	want    []int
}

var placements = []placement{
	{"nothing is known", []uint64{0, 0, 0}, 0, []int{0, 1, 2, 0, 1, 2, 0}},
	{"a busy one", []uint64{0, 900, 0}, 9, []int{0, 2, 0, 2, 0, 2}},
	{"a busy one, until the others expect as much", []uint64{0, 100, 0}, 0, []int{0, 2, 2, 0, 1, 2}},
	{"one with little to do among busy ones", []uint64{1000, 1000, 400}, 24, []int{2, 2, 2, 2, 2, 0, 1, 2, 0, 1}},
	{"even load", []uint64{1000, 1100, 950}, 30, []int{0, 1, 2, 0, 1, 2, 0, 1, 2}},
	{"next to nothing to do", []uint64{3, 9, 0}, 3, []int{0, 1, 2, 0, 1, 2}},
}

func TestPlacement(t *testing.T) {
	const now = 77 * activityWindow
	for _, c := range placements {
		p := newPlacer(len(c.shown))
		for i, n := range c.shown {
			p.shown[i] = activity(0).plus(windowOf(now), n)
		}
		var got []int
		for range c.want {
			got = append(got, p.place(now, c.clients+int64(len(got))+1))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Without activity, or with none but long ago, workers take turns whenever clients come.
func TestIdleWorkersTakeTurns(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		workers := 2 + random.IntN(7)
		p := newPlacer(workers)
		now := random.Int64N(1 << 40)
		for i := range p.shown {
			p.shown[i] = activity(0).plus(windowOf(now), random.Uint64N(1<<20))
		}
		now += 30 * activityWindow
		for i := range 1000 {
			if got := p.place(now, int64(i)+1); got != i%workers {
				t.Fatalf("seed %d, client %d gets worker %d of %d, want %d", seed, i, got, workers, i%workers)
			}
			if random.IntN(3) > 0 {
				now += random.Int64N(3 * activityWindow)
			}
		}
	}
}

// office is a number of workers whose clients all do the same, in virtual time.
type office struct {
	placer
	random  *rand.Rand
	now     int64
	clients []int  // by worker
	does    uint64 // commands that a client does in a window, give or take a few per cent
}

// work lets a window pass.
func (o *office) work() {
	for i, n := range o.clients {
		if n > 0 {
			commands := uint64(n) * o.does
			o.shown[i] = o.shown[i].plus(windowOf(o.now), commands*(95+o.random.Uint64N(11))/100)
		}
	}
	o.now += activityWindow
}

func (o *office) come() int {
	all := int64(1)
	for _, n := range o.clients {
		all += int64(n)
	}
	chosen := o.place(o.now, all)
	o.clients[chosen]++
	return chosen
}

// Clients that come while a worker is busy go to the others until these have about as much to
// do, whether they come in one window or in many, and from then on to all.
func TestClientsComeWhereThereIsLittleToDo(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		workers := 2 + random.IntN(4)
		o := &office{placer: newPlacer(workers), random: random, now: random.Int64N(1 << 40), clients: make([]int, workers), does: 20 + random.Uint64N(500)}
		busy, had := random.IntN(workers), 10+random.IntN(50)
		o.clients[busy] = had
		for range 20 {
			o.work()
		}
		atOnce := 1 + random.IntN(30)
		for i := range 4 * had * workers {
			chosen := o.come()
			if least := slices.Min(o.clients); chosen == busy && 2*least < had {
				t.Fatalf("seed %d: client %d comes to the busy worker, while clients are %v", seed, i, o.clients)
			}
			if i%atOnce == atOnce-1 {
				o.work()
			}
		}
		if least, most := slices.Min(o.clients), slices.Max(o.clients); most > least+least/2+2 {
			t.Errorf("seed %d: in the end the workers have %v clients", seed, o.clients)
		}
	}
}

// A client weighs as much as it does from the time when it has a worker.
func TestNewClientsAreExpected(t *testing.T) {
	o := &office{placer: newPlacer(2), random: rand.New(rand.NewPCG(1, 3)), now: 1 << 40, clients: []int{10, 10}, does: 100}
	for range 20 {
		o.work()
	}
	chosen := o.come()
	for range 8 {
		load := func(i int) float64 {
			return float64(o.shown[i].at(windowOf(o.now)) + o.expected[i].at(windowOf(o.now)))
		}
		if more := load(chosen) / load(1-chosen); more < 1.02 || more > 1.18 {
			t.Errorf("11 clients weigh %.2f times as much as 10", more)
		}
		o.work()
	}
}

// newAcceptor is a worker that places clients, and another one.
func newAcceptor(t *testing.T) (acceptor, other *Worker) {
	var workers [2]*Worker
	shared, post := &Shared{}, NewPost(len(workers), PostLimits{})
	for i := range workers {
		arena, err := buf.NewArena(make(buf.HeapMemory, 8<<20), 16)
		if err != nil {
			t.Fatal(err)
		}
		workers[i] = New(Options{
			Number: i, Ring: &ends{arena: arena}, Arena: arena, Shared: shared, Post: post,
			Commands: func() *command.Table { return command.ForEngine(topology.EngineRedis, 7, 0) },
			Lanes:    1, MaxClients: 10, PrivateMax: 10, Placement: LeastLoaded,
		})
	}
	workers[0].accepting, workers[0].Listeners = make([]acceptState, 1), []ring.Socket{listenerEnd}
	return workers[0], workers[1]
}

func (w *Worker) acceptAll(clients int) {
	for range clients {
		w.accepted(&ring.Event{Kind: ring.Accepted, Socket: clientEnd})
	}
}

func TestClientsAreHandedOver(t *testing.T) {
	acceptor, other := newAcceptor(t)
	acceptor.acceptAll(4)
	acceptor.sendLetters()
	other.receiveLetters()
	if here, there := acceptor.clients.live, other.clients.live; here != 2 || there != 2 {
		t.Errorf("%d clients are here and %d there, want 2 each", here, there)
	}
	if n := acceptor.Shared.Clients.Load(); n != 4 {
		t.Errorf("%d clients are counted, want 4", n)
	}
	acceptor.acceptAll(10)
	if here, rejected := acceptor.clients.live, acceptor.counters.Rejected; here != 2+3+4 || rejected != 4 {
		t.Errorf("%d clients are here and %d rejected, want 9 and, of them, 4", here, rejected)
	}
}

// A worker that takes no letters gets no clients.
func TestClientsStayWithoutRoomForLetters(t *testing.T) {
	acceptor, _ := newAcceptor(t)
	for p := &acceptor.peers[1]; p.mayLend(); {
		p.lend(letter{kind: letterClient, data: noData})
	}
	acceptor.acceptAll(4)
	if n := acceptor.clients.live; n != 4 {
		t.Errorf("%d clients are here, want all 4", n)
	}
}

// The others wait for the listeners to be closed. They are told, since nothing else may
// happen to them any more.
func TestClosedListenersAreAnnounced(t *testing.T) {
	acceptor, _ := newAcceptor(t)
	acceptor.Shared.listening.Store(1)
	acceptor.draining, acceptor.bells = true, acceptor.bells[:0]
	acceptor.closeListener(0)
	acceptor.rest()
	if n := len(acceptor.peers) - 1; len(acceptor.bells) != n {
		t.Errorf("%d bells, want %d", len(acceptor.bells), n)
	}
}

package worker

import (
	"math"
	"sync/atomic"

	"mithril/src/buf"
	"mithril/src/ring"
)

// Placement is how the worker of a new client is chosen.
type Placement uint8

// The ways. The latter two are those of `placement`.
const (
	WhereAccepted Placement = iota
	LeastLoaded             // the one with the least to do of late
	RoundRobin              // one after the other
)

const (
	// activityWindow is the length of the windows that activity is counted in.
	activityWindow = 10 * millisecond

	// chance is how many commands more a worker may have had of late than the idlest one,
	// beside a quarter, before that says anything. It has thousands when it is busy.
	chance = 16
)

// activity is how many commands there were of late: each window counts half as much as the
// one behind it. So what is steady counts twice in full, and is forgotten within some windows.
//
//	63          32 31           0
//	| last window | commands    |
type activity uint64

// windowOf is the window of a time, as activity has it.
func windowOf(now int64) uint32 { return uint32(now / activityWindow) }

// at is the activity as it is in a window. The clocks of workers may differ by a turn.
func (a activity) at(window uint32) uint32 {
	passed := max(0, int32(window-uint32(a>>32)))
	return uint32(a) >> passed
}

// plus adds commands in a window.
func (a activity) plus(window uint32, commands uint64) activity {
	return activity(window)<<32 | activity(min(uint64(a.at(window))+commands, math.MaxUint32))
}

// gauge is where a worker shows the others its activity.
type gauge struct {
	shown atomic.Uint64
	_     [56]byte // those of different workers share no cache line
}

// placer chooses the workers of new clients.
type placer struct {
	next     int        // the worker whose turn it is
	shown    []activity // of the workers; while there is none they simply take turns
	expected []activity // of the clients placed, by worker
	loads    []uint32   // scratch
}

func newPlacer(workers int) placer {
	return placer{shown: make([]activity, workers), expected: make([]activity, workers), loads: make([]uint32, workers)}
}

// place chooses the worker of one more client, which makes so many. The client is expected
// to do what the others do on average: that fades as fast as what it really does comes in, so
// that in sum it weighs the same from the beginning. Workers that have about as little
// to do as the idlest one take turns.
func (p *placer) place(now int64, clients int64) int {
	window := windowOf(now)
	total, least := uint64(0), uint32(math.MaxUint32)
	for i := range p.loads {
		seen := p.shown[i].at(window)
		p.loads[i] = seen + p.expected[i].at(window)
		total, least = total+uint64(seen), min(least, p.loads[i])
	}
	chosen := p.next
	for p.loads[chosen] > least+least/4+chance {
		chosen = (chosen + 1) % len(p.loads)
	}
	p.next = (chosen + 1) % len(p.loads)
	p.expected[chosen] = p.expected[chosen].plus(window, max(1, total/uint64(clients)))
	return chosen
}

// placeClient gives a new client to a worker. It stays with this one when the other has no
// room for letters.
func (w *Worker) placeClient(socket ring.Socket, id uint64) {
	if len(w.others) > 0 && w.Placement != WhereAccepted {
		if w.Placement == LeastLoaded {
			w.Post.look(w.placer.shown)
		}
		p := &w.peers[w.placer.place(w.now, w.Shared.Clients.Load())]
		if p.out != nil && p.mayLend() {
			p.lend(letter{kind: letterClient, token: ring.Token(id), n: uint32(socket), data: buf.Slice{Block: buf.NoBlock}})
			return
		}
	}
	w.serve(socket, id)
}

// look reads the gauges.
func (t *Post) look(shown []activity) {
	for i := range shown {
		shown[i] = activity(t.gauges[i].shown.Load())
	}
}

// showActivity lets the worker that places clients see how much there is to do here.
func (w *Worker) showActivity() {
	n := w.counters.Commands - w.commandsShown
	if n == 0 {
		return
	}
	w.commandsShown = w.counters.Commands
	w.activity = w.activity.plus(windowOf(w.now), n)
	w.Post.gauges[w.Number].shown.Store(uint64(w.activity))
}

package window

import "slices"

const (
	// roundsMax is how many rounds a probe has.
	roundsMax = 12

	// From roundsMin rounds on a window that is far worse than none is given up.
	roundsMin = 4

	// What a window must gain, and may cost, against window 0.
	cpuMax  = 0.95 // CPU time per command
	lateMax = 1.15 // 99th percentile of latency

	// ratePrice is the share of commands per second that may be lost for the share of CPU
	// time that is saved: half of the CPU time is worth a fifth of the commands of clients
	// that wait for each reply.
	ratePrice = 0.4

	// rateMinLow is what commands per second may come to at least in loads of the lowest
	// classes. Their clients hardly wait for each other, so each notices the wait of its
	// requests, which the latency of nodes does not show.
	rateMinLow = 0.95

	// gainsMin is in how many of all rounds a window must take less CPU time: a median
	// alone can be luck.
	gainsMin = 0.75

	// About as good as the best is a window whose CPU time is at most nearBest as much.
	nearBest = 1.10

	// What gives a window up early.
	rateHopeless = 0.5
	lateHopeless = 2.0
)

// measure is what one phase has shown.
type measure struct {
	cpu  float64 // ns per command
	rate float64 // commands per ns
	late float64 // latency that one command in a hundred exceeds, ns
}

// arm is what one window has shown in a probe.
type arm struct {
	dropped bool
	rounds  [roundsMax]measure
}

// probe is an experiment with all windows.
type probe struct {
	rounds int // that are complete
	next   int // place in the current round
	arms   [len(Windows)]arm
}

// current is the arm whose turn it is.
func (p *probe) current() int { return place(p.rounds, p.next) }

// place is the arm at a place of a round. Every other round runs backwards and then
// begins one further, so that no window always follows the same other one.
func place(round, at int) int {
	const n = len(Windows)
	if round%2 == 1 {
		at = n - 1 - at
	}
	return (at + round/2) % n
}

// interrupt gives up the current round.
func (p *probe) interrupt() {
	p.next = 0
	p.skipDropped()
}

// skipDropped goes on to the next arm that is still tried, and past the round's end if
// there is none.
func (p *probe) skipDropped() {
	for p.next < len(p.arms) && p.arms[p.current()].dropped {
		p.next++
	}
}

// note takes down what the current arm has shown, and says whether the probe is over.
func (p *probe) note(m measure) (over bool) {
	p.arms[p.current()].rounds[p.rounds] = m
	p.next++
	p.skipDropped()
	if p.next < len(p.arms) {
		return false
	}
	p.rounds++
	if p.rounds == roundsMax {
		return true
	}
	if p.rounds >= roundsMin {
		p.dropHopeless()
	}
	p.interrupt()
	return false
}

func (p *probe) dropHopeless() {
	for i := 1; i < len(p.arms); i++ {
		v := p.verdict(i)
		p.arms[i].dropped = p.arms[i].dropped || v.rate < rateHopeless || v.late > lateHopeless
	}
}

// verdict is how a window compares with window 0: ratios in the median of the rounds,
// and in which share of them it took less CPU time.
type verdict struct{ cpu, rate, late, gains float64 }

func (p *probe) verdict(i int) (v verdict) {
	var cpu, rate, late [roundsMax]float64
	for r := range p.rounds {
		m, base := &p.arms[i].rounds[r], &p.arms[0].rounds[r]
		cpu[r], rate[r], late[r] = m.cpu/base.cpu, m.rate/base.rate, m.late/base.late
		if cpu[r] < 1 {
			v.gains += 1 / float64(p.rounds)
		}
	}
	v.cpu, v.rate, v.late = median(cpu[:p.rounds]), median(rate[:p.rounds]), median(late[:p.rounds])
	return v
}

func (v verdict) isGood(rateMin float64) bool {
	rateMin = max(rateMin, 1-ratePrice*(1-v.cpu))
	return v.cpu <= cpuMax && v.gains >= gainsMin && v.rate >= rateMin && v.late <= lateMax
}

// winner is the window to be kept, of those that leave at least the share rateMin of the
// commands.
func (p *probe) winner(rateMin float64) (best int) {
	var cpu [len(Windows)]float64
	lowest := 1.0
	for i := 1; i < len(p.arms); i++ {
		if v := p.verdict(i); !p.arms[i].dropped && v.isGood(rateMin) {
			cpu[i] = v.cpu
			lowest = min(lowest, v.cpu)
		}
	}
	for i, c := range cpu {
		if c > 0 && c <= lowest*nearBest {
			return i
		}
	}
	return 0
}

// rate is that of window 0, in commands per ns.
func (p *probe) rate() float64 {
	var rate [roundsMax]float64
	for r := range p.rounds {
		rate[r] = p.arms[0].rounds[r].rate
	}
	return median(rate[:p.rounds])
}

// median sorts the values.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

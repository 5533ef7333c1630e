package worker

// expectation counts the sockets on which events are due: they were sent something lately
// and have not been heard from since. Nodes then owe replies, and clients that got all
// they have asked for are likely to ask again.
//
// Time is cut into epochs, so that it costs nothing to forget a socket that stays silent:
// one counts while its epoch is the current one or the one before.
type expectation struct {
	epoch  uint64
	until  int64  // when the epoch ends, ns
	counts [2]int // by the parity of the epoch
}

// epochMin is the first epoch: 0 in an end stands for not expected.
const epochMin = 2

// expect notes that e has been sent something.
func (x *expectation) expect(e *end) {
	x.heard(e)
	e.expected = x.epoch
	x.counts[x.epoch&1]++
}

// heard notes that e has sent something itself.
func (x *expectation) heard(e *end) {
	if x.epoch-e.expected < epochMin {
		x.counts[e.expected&1]--
	}
	e.expected = 0
}

// count is how many sockets are expected.
func (x *expectation) count() int { return x.counts[0] + x.counts[1] }

// age forgets the sockets that have stayed silent: each after one to two periods, in ns.
// It comes before what is expected from now on.
func (x *expectation) age(now, period int64) {
	if now < x.until {
		return
	}
	if now >= x.until+period {
		x.counts[x.epoch&1] = 0
	}
	x.until = now + period
	x.epoch++
	x.counts[x.epoch&1] = 0
}

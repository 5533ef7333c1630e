package sys

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"mithril/src/mailbox"
	"mithril/src/ring"
)

// player is one of two workers that do nothing but answer each other's letters.
type player struct {
	*rig
	in, out   *mailbox.Queue[uint64]
	own, peer *mailbox.Bell
	rung      ring.Socket // the other's
	cpu       int64       // used since the start
}

// play sends batch letters, answers as many as come with as many, and returns with the last of
// rounds.
func (p *player) play(rounds, batch int, begins bool) {
	before := p.CPU()
	if begins {
		p.answer(batch)
	}
	for got := 0; got < rounds; {
		if p.listen(); p.letters() < batch {
			continue
		}
		if got++; got < rounds || !begins {
			p.answer(batch)
		}
	}
	p.turn(ring.Wait{})
	p.cpu = p.CPU() - before
}

func (p *player) letters() (n int) {
	p.in.Look()
	for v := p.in.Take(); v != nil; v = p.in.Take() {
		n++
	}
	p.in.Done()
	return n
}

func (p *player) answer(batch int) {
	for i := range batch {
		*p.out.Put() = uint64(i)
	}
	if p.out.Publish() && p.peer.Needed() {
		p.give(ring.Op{Kind: ring.OpBell, Socket: p.rung})
	}
}

func (p *player) listen() {
	p.own.Sleep()
	w := ring.Wait{Deadline: ring.Forever}
	if p.in.Waiting() {
		w = ring.Wait{}
	}
	p.turn(w)
	p.own.Awake()
	p.got = p.got[:0]
}

// pin keeps the calling thread on one CPU until restore.
func pin(t testing.TB, cpu int) (restore func()) {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if err := Pin(cpu); err != nil {
		t.Fatal(err)
	}
	return func() { _ = unix.SchedSetaffinity(0, &all) }
}

// BenchmarkBell hands a batch of letters to a worker that sleeps on another CPU, and gets
// as many back. One iteration is there and back: two bells, two waits, two wakes. cpu-ns/side is
// what ringing once and being woken once cost one side, with the kernel's part; cpu-ns/letter
// is that for each letter given and taken.
func BenchmarkBell(b *testing.B) {
	for _, e := range engines {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/batch=%d", e.name, batch), func(b *testing.B) {
				r := newRig(b, e.engine, rigOptions{Options: e.options})
				defer pin(b, 0)()
				there, back := mailbox.New[uint64](64), mailbox.New[uint64](64)
				var bells [2]mailbox.Bell
				begin, done := make(chan bool, 1), make(chan bool, 1)
				q := player{in: there, out: back, own: &bells[1], peer: &bells[0], rung: r.Bell()}
				other, join := r.beside(func(other *rig) {
					defer pin(b, 1)()
					q.rig = other
					hear(other, begin)
					q.play(b.N, batch, false)
					done <- true
				})
				p := player{rig: r, in: back, out: there, own: &bells[0], peer: &bells[1], rung: other.Bell()}
				b.ResetTimer()
				begin <- true
				p.play(b.N, batch, true)
				b.StopTimer()
				hear(r, done)
				join()
				b.ReportMetric(float64(p.cpu+q.cpu)/2/float64(b.N), "cpu-ns/side")
				b.ReportMetric(float64(p.cpu+q.cpu)/4/float64(b.N*batch), "cpu-ns/letter")
				b.ReportMetric(float64(r.turns+other.turns)/2/float64(b.N), "turns/side")
			})
		}
	}
}

package sim

import (
	"mithril/src/ring"
)

// mutant is a broken program: the ring does to the worker's bytes what a defect in the
// worker would do.
type mutant struct {
	name     string
	send     func(r *Ring, op *ring.Op, sent []byte) []byte
	received func(r *Ring, ev *ring.Event)
}

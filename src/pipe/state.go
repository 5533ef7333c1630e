package pipe

import "mithril/src/invariant"

// State is where a pipe is in its life.
type State uint8

// The states; doc.go draws the transitions.
const (
	Connecting State = iota
	Greeting
	Ready
	Closed
	states
)

var stateNames = [states]string{
	Connecting: "connecting",
	Greeting:   "greeting",
	Ready:      "ready",
	Closed:     "closed",
}

// String is the state as log lines show it.
func (s State) String() string { return stateNames[s] }

// allowed[from] is the set of states that may follow, one bit each.
var allowed = [states]uint8{
	Connecting: 1<<Greeting | 1<<Ready | 1<<Closed,
	Greeting:   1<<Ready | 1<<Closed,
	Ready:      1 << Closed,
	Closed:     0,
}

// CanBecome says whether next may follow s.
func (s State) CanBecome(next State) bool { return allowed[s]&(1<<next) != 0 }

func (p *Pipe) become(next State) {
	invariant.Assert(p.state.CanBecome(next), "pipe: transition that the table does not have")
	p.state = next
}

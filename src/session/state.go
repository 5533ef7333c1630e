package session

import "mithril/src/invariant"

// State is where a session is in its life.
type State uint8

// The states; doc.go says what they mean.
const (
	Fresh State = iota
	Plain
	Refusing
	Draining
	Dead
	states
)

var stateNames = [states]string{Fresh: "fresh", Plain: "plain", Refusing: "refusing", Draining: "draining", Dead: "dead"}

// String is the state as log lines show it.
func (s State) String() string { return stateNames[s] }

// allowed[from] is the set of states that may follow, one bit each. A plain session
// becomes fresh again when it resets a login.
var allowed = [states]uint8{
	Fresh:    1<<Plain | 1<<Draining | 1<<Dead,
	Plain:    1<<Fresh | 1<<Refusing | 1<<Draining | 1<<Dead,
	Refusing: 1<<Fresh | 1<<Plain | 1<<Draining | 1<<Dead,
	Draining: 1 << Dead,
	Dead:     0,
}

func (s *Session) become(next State) {
	if s.state == next {
		return
	}
	invariant.Assert(allowed[s.state]&(1<<next) != 0, "session: transition that the table does not have")
	s.state = next
}

// Hold is why a session reads no further.
type Hold uint8

// The reasons; doc.go says what they mean.
const (
	HoldNone Hold = iota
	HoldWindow
	HoldBarrier
	HoldOrder
	HoldOutput
	HoldPipe
)

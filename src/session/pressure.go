package session

// When the replies for many clients wait, those clients are served that read what they have
// asked for; the others are held to less than the output limits allow. What counts for a
// client is what waits for the others: one alone has its output limits, whatever they are.
// A limit that is off stays off.
const (
	// PressureBytes is how much may wait for the other clients of a worker before the
	// soft limit is SoftUnderPressure at most, and SoftForUnderPressure the time over it.
	PressureBytes = 128 << 20

	// HighPressureBytes is how much may wait for them before the hard limit is
	// HardUnderPressure at most.
	HighPressureBytes = 512 << 20

	SoftUnderPressure    = 1 << 20
	SoftForUnderPressure = int64(10_000_000_000) // ns; a socket buffer of megabytes has room again only after seconds
	HardUnderPressure    = 8 << 20
)

// others is how many bytes wait for the other clients.
func (s *Session) others(env *Env) int64 { return env.Owed - s.unsent - s.parts }

// overSoft says that n bytes are more than may wait for a client whose requests are read.
func (env *Env) overSoft(n, others int64) bool {
	soft := env.Output.Soft
	return soft > 0 && (n > soft || n > SoftUnderPressure && others > PressureBytes)
}

// softFor is for how long a client may be over its soft limit and read nothing, ns.
func (env *Env) softFor(others int64) int64 {
	if others > PressureBytes {
		return min(env.Output.SoftFor, SoftForUnderPressure)
	}
	return env.Output.SoftFor
}

// overHard says that n bytes are more than may wait for any client.
func (env *Env) overHard(n, others int64) bool {
	hard := env.Output.Hard
	return hard > 0 && (n > hard || n > HardUnderPressure && others > HighPressureBytes)
}

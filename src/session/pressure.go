package session

// When a worker uses much memory, clients are served that read what they have asked for:
// those that do not are held to less than the output limits allow. A limit that is off
// stays off.
const (
	// PressureBytes is how much memory a worker may use before the soft limit is
	// SoftUnderPressure at most, and SoftForUnderPressure is the time over it.
	PressureBytes = 128 << 20

	// HighPressureBytes is how much it may use before the hard limit is
	// HardUnderPressure at most.
	HighPressureBytes = 512 << 20

	SoftUnderPressure    = 1 << 20
	SoftForUnderPressure = int64(1_000_000_000) // ns
	HardUnderPressure    = 8 << 20
)

// overSoft says that n bytes are more than may wait for a client whose requests are read.
func (env *Env) overSoft(n int64) bool {
	soft := env.Output.Soft
	return soft > 0 && (n > soft || n > SoftUnderPressure && env.Arena.UsedBytes() > PressureBytes)
}

// softFor is for how long a client may be over its soft limit and read nothing, ns.
func (env *Env) softFor() int64 {
	if env.Arena.UsedBytes() > PressureBytes {
		return min(env.Output.SoftFor, SoftForUnderPressure)
	}
	return env.Output.SoftFor
}

// overHard says that n bytes are more than may wait for any client.
func (env *Env) overHard(n int64) bool {
	hard := env.Output.Hard
	return hard > 0 && (n > hard || n > HardUnderPressure && env.Arena.UsedBytes() > HighPressureBytes)
}

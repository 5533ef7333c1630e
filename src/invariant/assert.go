package invariant

// Assert panics with msg unless cond holds. msg names the fact that was broken, in words that help whoever
// reads the crash; it should be a constant, since building it would cost even where cond holds.
func Assert(cond bool, msg string) {
	if !cond {
		fail(msg)
	}
}

// fail is apart so that Assert stays small enough to be inlined.
//
//go:noinline
func fail(msg string) {
	panic("invariant broken: " + msg)
}

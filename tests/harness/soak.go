package harness

import "flag"

var soak = flag.Bool("soak", false, "run the field cases at the size they were met with, which takes an hour")

// Size is how much of something a field case takes: usual, which shows the same in
// seconds, or full, if the tests run with -soak.
func Size(usual, full int) int {
	if *soak {
		return full
	}
	return usual
}

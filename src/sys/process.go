package sys

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// ProcessorTime is the processor time the process has used, in seconds, in the kernel
// and outside it (getrusage(2)).
func ProcessorTime() (system, user float64) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, 0
	}
	return seconds(usage.Stime), seconds(usage.Utime)
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// System names the operating system as INFO does: name, release and machine (uname(2)).
func System() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "Linux"
	}
	text := func(field []byte) string {
		name, _, _ := bytes.Cut(field, []byte{0})
		return string(name)
	}
	return text(u.Sysname[:]) + " " + text(u.Release[:]) + " " + text(u.Machine[:])
}

package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// clockBase starts the clock. One for the process, so that the times of all
// workers compare.
var clockBase = time.Now()

// Now is the monotonic time in nanoseconds since the process started: what an
// engine's Now returns, read afresh. It costs no system call.
func Now() int64 { return int64(time.Since(clockBase)) }

// threadTime is the processor time the calling thread has used, in nanoseconds
// (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID).
func threadTime() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("sys: clock_gettime of the thread: " + err.Error())
	}
	return ts.Nano()
}

package sys

import "time"

// clockBase starts the clock. One for the process, so that the times of all
// workers compare.
var clockBase = time.Now()

// Now is the monotonic time in nanoseconds since the process started: what an
// engine's Now returns, read afresh. It costs no system call.
func Now() int64 { return int64(time.Since(clockBase)) }

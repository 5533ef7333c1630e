package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// RaiseDescriptors raises the limit on open descriptors to want if it is lower,
// the hard limit too where the process is privileged enough, and returns the limit
// then in force, which may be less than want.
func RaiseDescriptors(want uint64) (got uint64, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("sys: cannot read the limit on descriptors: %w", err)
	}
	if limit.Cur >= want {
		return limit.Cur, nil
	}
	raised := unix.Rlimit{Cur: want, Max: max(limit.Max, want)}
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
		return want, nil
	}
	raised = unix.Rlimit{Cur: min(want, limit.Max), Max: limit.Max}
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
		return raised.Cur, nil
	}
	return limit.Cur, nil
}

package sys

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// PinAll makes every thread that the process has now run on the given CPUs only.
// Threads started later inherit it, unless they are started by a thread that Pin has
// moved elsewhere.
func PinAll(cpus ...int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	// A thread that is not moved yet may start another behind the list's back: it is
	// done when a list has no thread that is not known.
	moved := make(map[int]bool)
	for before := -1; before < len(moved); {
		before = len(moved)
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("sys: cannot list the threads of the process: %w", err)
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || moved[tid] {
				continue
			}
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return fmt.Errorf("sys: cannot keep thread %d on CPUs %v: %w", tid, cpus, err)
			}
			moved[tid] = true
		}
	}
	return nil
}

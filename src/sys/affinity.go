package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// AllowedCPUs lists the CPUs the calling thread may run on, in ascending order.
func AllowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sys: cannot read the CPU affinity: %w", err)
	}
	cpus := make([]int, 0, set.Count())
	for cpu := 0; len(cpus) < cap(cpus); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Pin makes the calling thread run on the given CPUs only. The caller must be
// locked to its thread. Threads started later by this one inherit the setting.
func Pin(cpus ...int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		allowed, _ := AllowedCPUs()
		return fmt.Errorf("sys: cannot pin a thread to CPU %v: %w; this process may use %v", cpus, err, allowed)
	}
	return nil
}

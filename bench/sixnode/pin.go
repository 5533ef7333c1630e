package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const cpusMax = 1024 // what a unix.CPUSet holds

// cpuList is a set of processors by number; empty stands for no pinning.
type cpuList []int

// parseCPUs reads a list such as "0,2-5" (cpuset(7)).
func parseCPUs(text string) (cpuList, error) {
	var cpus cpuList
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		if errFirst != nil || errLast != nil || first < 0 || last < first || last >= cpusMax {
			return nil, fmt.Errorf("processors %q: %q is neither a number nor a range such as 2-5, up to %d", text, part, cpusMax-1)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// defaultCPUs gives the proxies the first processor and everything else the others. A lone processor is not
// divided.
func defaultCPUs(count int) (proxy, other string) {
	if count < 2 {
		return "", ""
	}
	if count == 2 {
		return "0", "1"
	}
	return "0", fmt.Sprintf("1-%d", count-1)
}

func (c cpuList) String() string {
	if len(c) == 0 {
		return "any"
	}
	var parts []string
	for _, cpu := range c {
		parts = append(parts, strconv.Itoa(cpu))
	}
	return strings.Join(parts, ",")
}

// pinThread moves a thread, 0 for the caller's, to the processors.
func pinThread(tid int, cpus cpuList) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("move thread %d to processors %s: %w", tid, cpus, err)
	}
	return nil
}

// pinProcess moves this process to the processors, and with it what it starts from now on. A thread that appears
// in the first pass may stem from one not yet moved; the second pass finds it.
func pinProcess(cpus cpuList) error {
	if len(cpus) == 0 {
		return nil
	}
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil {
				return err
			}
			if err := pinThread(tid, cpus); err != nil {
				return err
			}
		}
	}
	runtime.GOMAXPROCS(len(cpus))
	return nil
}

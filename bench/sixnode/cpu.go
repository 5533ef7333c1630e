package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cpuTime is what a process has used since its start.
type cpuTime struct {
	threads     map[string]int64 // run time by thread id, ns
	userTicks   int64
	systemTicks int64
}

// cpuUse is what it used between two points.
type cpuUse struct {
	ns          int64
	userTicks   int64
	systemTicks int64
}

// usage is what a proxy and its servers have used.
type usage struct {
	proxy cpuTime
	nodes []cpuTime
}

// readUsage reads the times of a proxy, of nothing if its pid is 0, and of servers.
func readUsage(proxy int, nodes []int) (u usage, err error) {
	if proxy != 0 {
		if u.proxy, err = readCPU(proxy); err != nil {
			return u, err
		}
	}
	for _, pid := range nodes {
		t, err := readCPU(pid)
		if err != nil {
			return u, err
		}
		u.nodes = append(u.nodes, t)
	}
	return u, nil
}

// readCPU reads the scheduler's account of every thread (schedstat: run time in ns, wait time, slices) and the
// process's ticks (proc(5)).
func readCPU(pid int) (cpuTime, error) {
	t := cpuTime{threads: map[string]int64{}}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	threads, err := os.ReadDir(filepath.Join(dir, "task"))
	if err != nil {
		return t, err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, "task", thread.Name(), "schedstat"))
		if os.IsNotExist(err) {
			continue // it ended since the directory was read
		}
		if err != nil {
			return t, err
		}
		run, _, _ := strings.Cut(string(text), " ")
		if t.threads[thread.Name()], err = strconv.ParseInt(run, 10, 64); err != nil {
			return t, fmt.Errorf("schedstat of thread %s: %w", thread.Name(), err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return t, err
	}
	t.userTicks, t.systemTicks, err = parseTicks(string(text))
	return t, err
}

// parseTicks takes utime and stime, fields 14 and 15, from /proc/PID/stat. The name in parentheses may hold
// anything, so fields count from the last parenthesis.
func parseTicks(stat string) (user, system int64, err error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("stat %q has too few fields", stat)
	}
	if user, err = strconv.ParseInt(fields[11], 10, 64); err != nil {
		return 0, 0, err
	}
	system, err = strconv.ParseInt(fields[12], 10, 64)
	return user, system, err
}

// since returns the use between two readings. A thread that ended in between takes its share of that time along;
// proxies keep their threads.
func (t cpuTime) since(before cpuTime) cpuUse {
	use := cpuUse{userTicks: t.userTicks - before.userTicks, systemTicks: t.systemTicks - before.systemTicks}
	for tid, ns := range t.threads {
		use.ns += ns - before.threads[tid]
	}
	return use
}

// readRSS returns a process's resident memory in bytes (VmRSS, proc(5)).
func readRSS(pid int) (int64, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "status")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no VmRSS", path)
}

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"mithril/tests/harness"
)

// allowedCPUs are those that this process, and so the programs it starts, may use.
func allowedCPUs(t *testing.T) []int {
	t.Helper()
	var mask [128]byte // sched_getaffinity(2): a bit per CPU, in words of the host
	n, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, uintptr(len(mask)), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		t.Fatal(errno)
	}
	var cpus []int
	for cpu := range int(n) * 8 {
		if mask[cpu/8]&(1<<(cpu%8)) != 0 {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// threadCPUs counts the threads of a process by their Cpus_allowed_list.
func threadCPUs(t *testing.T, pid int) map[string]int {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^Cpus_allowed_list:\s*(\S+)$`)
	count := map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		if found := list.FindSubmatch(text); found != nil {
			count[string(found[1])]++
		}
	}
	return count
}

// includes says that a list such as 0-2,5 has the CPU.
func includes(list string, cpu int) bool {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, _ := strconv.Atoi(first)
		b, _ := strconv.Atoi(last)
		if a <= cpu && cpu <= b {
			return true
		}
	}
	return false
}

// TestWorkersArePinned gives each of two workers a CPU, then leaves a CPU to the other
// threads, which must keep off the worker's.
func TestWorkersArePinned(t *testing.T) {
	cpus := allowedCPUs(t)
	first, last := strconv.Itoa(cpus[0]), strconv.Itoa(cpus[len(cpus)-1])
	harness.EachEngine(t, func(t *testing.T, engine string) {
		if first != last {
			p := alone(t, engine, "--worker-threads", "2", "--worker-cpus", last+","+first)
			if got := threadCPUs(t, p.PID); got[first] < 1 || got[last] < 1 {
				t.Errorf("threads by CPU: %v, want one or more on %s and on %s alone", got, first, last)
			}
			wantWorkerLine(t, p, 0, last)
			wantWorkerLine(t, p, 1, first)
		}
		p := alone(t, engine, "--worker-threads", "1", "--worker-cpus", last)
		harness.MustDo(t, p.Dial(t), "PING")
		wantWorkerLine(t, p, 0, last)
		got := threadCPUs(t, p.PID)
		for list, threads := range got {
			if list == last && first != last && threads != 1 || list != last && includes(list, cpus[len(cpus)-1]) {
				t.Errorf("threads by CPU: %v, want one on %s, all others elsewhere", got, last)
			}
		}
		if got[last] == 0 {
			t.Errorf("threads by CPU: %v, want one on %s", got, last)
		}
	})
	p := alone(t, harness.Auto)
	if got := threadCPUs(t, p.PID); len(got) != 1 {
		t.Errorf("threads by CPU without pinning: %v", got)
	}
}

func wantWorkerLine(t *testing.T, p *harness.Proxy, worker int, cpu string) {
	t.Helper()
	awaitLog(t, p, fmt.Sprintf(`msg="worker started" worker=%d cpu=%s engine=`, worker, cpu))
}

// The engine is chosen, and said, before the port opens.
func TestEngineIsLogged(t *testing.T) {
	chosen := regexp.MustCompile(`(?m)^\S+ level=notice msg="i/o engine chosen" part=proxy engine=(io_uring|epoll) reason=("[^"]+"|\w+)$`)
	for _, asked := range []string{harness.IOUring, harness.Epoll, harness.Auto} {
		p := alone(t, asked)
		before, _, listening := strings.Cut(p.Log(), "msg=listening")
		found := chosen.FindAllStringSubmatch(before, -1)
		if !listening || len(found) != 1 || asked != harness.Auto && found[0][1] != asked {
			t.Errorf("io-engine %s: the log is\n%s", asked, p.Log())
		}
	}
}

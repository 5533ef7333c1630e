package main

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCPUTimeIsThatOfAllThreads(t *testing.T) {
	before, processBefore := ownCPU(t)
	const threads, each = 3, 100 * time.Millisecond
	done := make(chan bool)
	for range threads {
		go func() {
			for until := time.Now().Add(each); time.Now().Before(until); {
			}
			done <- true
		}()
	}
	for range threads {
		<-done
	}
	after, processAfter := ownCPU(t)
	use, want := after.since(before), processAfter-processBefore
	// The account of a thread that runs right now lags by up to a tick.
	const lag = int64(threads * 10 * time.Millisecond)
	if use.ns < want-lag || use.ns > want+lag || use.ns < int64(each)/4 {
		t.Errorf("the threads used %d ns, the process %d", use.ns, want)
	}
	if use.userTicks < 1 || use.userTicks > after.userTicks {
		t.Errorf("%d ticks of %d in user mode", use.userTicks, after.userTicks)
	}
}

// ownCPU reads this process's time by threads and as a whole, in ns.
func ownCPU(t *testing.T) (cpuTime, int64) {
	t.Helper()
	threads, err := readCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var process unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &process); err != nil {
		t.Fatal(err)
	}
	return threads, process.Nano()
}

func TestTicksFollowTheLastParenthesis(t *testing.T) {
	user, system, err := parseTicks("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14")
	if user != 11 || system != 12 || err != nil {
		t.Errorf("ticks are %d and %d, %v", user, system, err)
	}
	if _, _, err := parseTicks("7 (a) S 1"); err == nil {
		t.Error("a cut line is accepted")
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runWith runs the whole program with the reference as its only arm, not pinned.
func runWith(t *testing.T, args ...string) string {
	t.Helper()
	o, err := parseOptions(append([]string{"-arms", "reference", "-proxy-cpus", "", "-other-cpus", "", "-host", "testhost"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func TestRunMeasuresTheReference(t *testing.T) {
	dir := t.TempDir() + "/"
	out := runWith(t, "-mixes", "set+get+mget", "-pipelines", "1", "-conns", "3", "-rounds", "2", "-slice", "100ms", "-aa", "1000", "-aa-attempts", "1", "-o", dir)
	for _, want := range []string{
		`(?m)^# Six-node benchmark, \d+-\d+-\d+, testhost$`,
		`(?m)^## set\+get\+mget10, pipeline 1, 3 connections, 64 B$`,
		`(?m)^\| reference +\| +[1-9][\d.]* \|`,
		`(?m)^\| reference again \| +[1-9][\d.]* \| .* \| \d+\.\d+ \[\d+\.\d+\.\.\d+\.\d+\]$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("the result lacks %s:\n%s", want, out)
		}
	}
	path := filepath.Join(dir, time.Now().Format(time.DateOnly)+"-testhost.md")
	if text, err := os.ReadFile(path); err != nil || string(text) != out {
		t.Errorf("the file differs from the output: %v\n%s", err, text)
	}
}

func TestRunMeasuresIdleConnections(t *testing.T) {
	out := runWith(t, "-idle", "100")
	if !regexp.MustCompile(`(?m)^\| reference +\| +\d+\.\d \| +\d+\.\d \| +[\d.]+ \| +[1-9]\d+ \|$`).MatchString(out) {
		t.Errorf("the result is\n%s", out)
	}
}

func TestAnArmThatEndsIsExplained(t *testing.T) {
	o, err := parseOptions([]string{"-arms", "", "-extra", "broken=/bin/ls --no-such-option", "-proxy-cpus", "", "-other-cpus", ""})
	if err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), o, &bytes.Buffer{})
	if err == nil || !strings.HasPrefix(err.Error(), "arm broken: the process ended: exit status 2; its log ends in:\n") || !strings.Contains(err.Error(), "--port") {
		t.Errorf("error %v", err)
	}
}

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

func TestLauncherStartsOnItsProcessors(t *testing.T) {
	var have unix.CPUSet
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cpu := range cpusMax {
		if have.IsSet(cpu) {
			last = cpu
		}
	}
	l, err := newLauncher(cpuList{last})
	if err != nil {
		t.Fatal(err)
	}
	inherited := make(chan unix.CPUSet)
	l <- func() {
		var set unix.CPUSet
		unix.SchedGetaffinity(0, &set)
		inherited <- set
	}
	if set := <-inherited; set.Count() != 1 || !set.IsSet(last) {
		t.Errorf("the launcher runs on %v, want processor %d only", set, last)
	}
}

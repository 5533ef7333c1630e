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

// runWith runs the whole program with the reference as its only arm, not pinned. A slice without a single reply is an
// error, so slices of tests last long enough for a busy machine.
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
	out := runWith(t, "-mixes", "set+get+mget10", "-pipelines", "1", "-conns", "3", "-rounds", "1", "-slice", "1s", "-aa", "1000", "-aa-attempts", "1", "-o", dir)
	for _, want := range []string{
		`(?m)^# Six-node benchmark, \d+-\d+-\d+, testhost$`,
		`(?m)^## set\+get\+mget10, pipeline 1, 3 connections, 64 B$`,
		`(?m)^\| reference +\| cluster \| +[1-9][\d.]* \|`,
		`(?m)^\| reference again \| cluster \| +[1-9][\d.]* \| .*\|$`,
		`(?m)^\| reference again \|( \d+\.\d+ \[\d+\.\d+\.\.\d+\.\d+\] +\|){2} - +\|( \d+\.\d+ \[\d+\.\d+\.\.\d+\.\d+\] +\|){3}$`,
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

// TestRunMeasuresPlainServers runs the arms that front servers without cluster mode, and one that cannot take part
// in the memory measurement.
func TestRunMeasuresPlainServers(t *testing.T) {
	out := runWith(t, "-arms", "haproxy,nutcracker,direct", "-mixes", "set+get+mget10", "-pipelines", "2", "-conns", "4", "-sizes", "1000",
		"-rounds", "1", "-slice", "1s", "-aa", "1000", "-aa-attempts", "0")
	for _, want := range []string{
		`(?m)^- haproxy: HAProxy 2\.6\.\S+, TCP mode, threads: 1; 3 plain$`,
		`(?m)^\| haproxy +\| 3 plain \| +\d+\.\d\d \|`,
		`(?m)^\| nutcracker +\| 3 plain \| +\d+\.\d\d \|`,
		`(?m)^\| direct +\| 1 plain \| +- \| +- \| +- \| +- \| +[1-9]\d*\.\d\d \| +[1-9]\d+ \|`,
		`(?m)^\| direct +\| - +\|( \d+\.\d+ \[\d+\.\d+\.\.\d+\.\d+\] +\|) - +\|( \d+\.\d+ \[\d+\.\d+\.\.\d+\.\d+\] +\|){3}$`,
	} {
		if found := regexp.MustCompile(want).FindAllString(out, -1); len(found) == 0 {
			t.Errorf("the result lacks %s:\n%s", want, out)
		}
	}
}

func TestRunMeasuresIdleConnections(t *testing.T) {
	out := runWith(t, "-arms", "reference,direct", "-idle", "100")
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

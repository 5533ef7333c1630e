package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// resultFile opens the file that -o names, nil without one.
func resultFile(o *options) (*os.File, error) {
	if o.resultPath == "" {
		return nil, nil
	}
	path := o.resultPath
	if strings.HasSuffix(path, "/") {
		path = filepath.Join(path, time.Now().Format(time.DateOnly)+"-"+hostName(o)+".md")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.Create(path)
}

func hostName(o *options) string {
	if o.host != "" {
		return o.host
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// writeHeader names what the figures belong to. uncounted is why calls are not counted, or nil.
func writeHeader(out io.Writer, o *options, uncounted error) {
	var uname unix.Utsname
	unix.Uname(&uname)
	fmt.Fprintf(out, "# Six-node benchmark, %s, %s\n\n", time.Now().Format(time.DateOnly), hostName(o))
	fmt.Fprintf(out, "- commit %s, %s, %s\n", commit(), runtime.Version(), o.engine)
	fmt.Fprintf(out, "- kernel %s, %d processors, %s\n", unix.ByteSliceToString(uname.Release[:]), runtime.NumCPU(), cpuModel())
	fmt.Fprintf(out, "- proxy on processors %s, servers and load on %s\n", o.proxyCPUs, o.otherCPUs)
	if o.idle > 0 {
		return
	}
	fmt.Fprintf(out, "- %d rounds of one %v slice for each arm, order rotated; medians; CPU from the scheduler's run time of all threads\n", o.rounds, o.slice)
	if o.rounds < roundsToCount || o.slice < sliceToCount {
		fmt.Fprintf(out, "- the sample is too small to count: take %d rounds of %v or more\n", roundsToCount, sliceToCount)
	}
	fmt.Fprintf(out, "- second table of a cell: median [min..max] of the ratios formed within each round; a cell counts if the CPU time of the first arm's twin is within %.0f %% of 1\n", o.twinLimit*100)
	if uncounted != nil {
		fmt.Fprintf(out, "- system calls and sends are not counted: %v\n", uncounted)
	} else {
		fmt.Fprintf(out, "- system calls and sends are those of the proxy in one more slice of %v, which counts nothing else\n", o.slice/countShare)
	}
}

// writeArms lists the arms and what they front.
func writeArms(out io.Writer, arms []*arm) {
	fmt.Fprintf(out, "\nArms, and what they front: cluster = %d primaries and %[1]d replicas in cluster mode; 3 plain = as many servers without cluster mode; 1 plain = the first of those.\n\n", shards)
	for _, a := range arms {
		fmt.Fprintf(out, "- %s: %s; %s\n", a.name, a.says, a.fronts)
	}
}

// commit is the short id of the commit that the tree has, with a mark if tracked files differ from it.
func commit() string {
	id, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	text := strings.TrimSpace(string(id))
	if exec.Command("git", "diff", "--quiet", "HEAD").Run() != nil {
		text += " with changes"
	}
	return text
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown model"
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown model"
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Arms by name. Mithril's are its I/O engines, each with any settings: io_uring:batch-window-usecs=0. Behind an @ any arm may have
// a workload of its own, io_uring@get/100, which is compared with the cell's by keys.
const (
	referenceArm  = "reference"
	haproxyArm    = "haproxy"
	nutcrackerArm = "nutcracker"
	directArm     = "direct"
)

// ioEngines are the arms that run Mithril, named like its io-engine setting.
var ioEngines = []string{"io_uring", "epoll"}

// knownArms is for messages.
var knownArms = strings.Join(append([]string{referenceArm, haproxyArm, nutcrackerArm, directArm}, ioEngines...), ", ")

// site is what a program is told when it starts.
type site struct {
	port      int
	sparePort int // nothing else listens there
	dir       string
	servers   *servers
}

// program is what an arm runs.
type program struct {
	name    string
	says    string // in the list of arms
	fronts  backing
	command func(site) ([]string, error) // nil: no process, the load speaks to a server
	own     *workload                    // nil: the cell's
	tells   bool                         // it has an INFO like Mithril's
	base    int                          // the number of the arm that it is compared with
}

// clusterProgram is a proxy that takes --port, --bind and --bootstrap behind its own arguments.
func clusterProgram(name, says string, command ...string) program {
	return program{name: name, says: says, fronts: sixNodes, command: func(s site) ([]string, error) {
		flags := []string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--bootstrap", strings.Join(s.servers.addrs(), ",")}
		return append(append([]string{command[0]}, flags...), command[1:]...), nil
	}}
}

// programs resolves the names of arms and the extra arms, in that order. The reference is built into dir.
func programs(ctx context.Context, options *options, dir string, workers int) ([]program, error) {
	var found []program
	for _, name := range options.arms {
		what, load, _ := strings.Cut(name, "@")
		own, err := parseWorkload(load)
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", name, err)
		}
		p, err := namedProgram(ctx, what, options.mithril, dir, workers)
		if err != nil {
			return nil, err
		}
		p.name, p.own = name, own
		found = append(found, p)
	}
	for _, extra := range options.extra {
		name, line, ok := strings.Cut(extra, "=")
		words := strings.Fields(line)
		if !ok || name == "" || len(words) == 0 {
			return nil, fmt.Errorf("extra arm %q is not of the form NAME=BINARY ARGUMENT...", extra)
		}
		p := clusterProgram(name, line, words...)
		p.tells = true
		found = append(found, p)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no arm to measure: name some of %s", knownArms)
	}
	if found[0].command == nil {
		return nil, fmt.Errorf("arm %s cannot be the first: others are compared with the first one, and it has no process", found[0].name)
	}
	return found, nil
}

func namedProgram(ctx context.Context, name, mithril, dir string, workers int) (program, error) {
	switch name {
	case referenceArm:
		binary := filepath.Join(dir, referenceArm)
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "mithril/bench/reference")
		if output, err := build.CombinedOutput(); err != nil {
			return program{}, fmt.Errorf("build the reference: %w\n%s", err, output)
		}
		return clusterProgram(name, "bench/reference, a goroutine per connection", binary), nil
	case haproxyArm:
		return haproxy(ctx, workers)
	case nutcrackerArm:
		return nutcracker(ctx)
	case directArm:
		return program{name: name, says: "no proxy", fronts: onePlain}, nil
	}
	if words := strings.Split(name, ":"); slices.Contains(ioEngines, words[0]) {
		return mithrilProgram(name, words[0], words[1:], mithril, workers)
	}
	return program{}, fmt.Errorf("arm %q is none of %s; others come with -extra", name, knownArms)
}

// mithrilProgram is Mithril with settings such as batch-window-usecs=0.
func mithrilProgram(name, engine string, settings []string, binary string, workers int) (program, error) {
	if _, err := os.Stat(binary); err != nil {
		return program{}, fmt.Errorf("arm %s: %w; build it, or name it with -mithril", name, err)
	}
	args := []string{"--worker-threads", strconv.Itoa(workers), "--io-engine", engine}
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if !ok || key == "" || value == "" {
			return program{}, fmt.Errorf("arm %s: setting %q is not of the form KEY=VALUE", name, setting)
		}
		args = append(args, "--"+key, value)
	}
	p := clusterProgram(name, "Mithril "+strings.Join(args, " "), append([]string{binary}, args...)...)
	p.tells = true
	return p, nil
}

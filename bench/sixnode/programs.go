package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const referenceArm = "reference"

// ioEngines are the arms that run Mithril, named like its io-engine setting.
var ioEngines = []string{"io_uring", "epoll"}

// programs resolves the names of arms and the extra arms, in that order. The reference is built into dir.
func programs(ctx context.Context, options *options, dir string, workers int) ([]program, error) {
	var found []program
	for _, name := range options.arms {
		p, err := namedProgram(ctx, name, options.mithril, dir, workers)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	for _, extra := range options.extra {
		name, line, ok := strings.Cut(extra, "=")
		words := strings.Fields(line)
		if !ok || name == "" || len(words) == 0 {
			return nil, fmt.Errorf("extra arm %q is not of the form NAME=BINARY ARGUMENT...", extra)
		}
		found = append(found, program{name, words[0], words[1:]})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no arm to measure: name some of %s, %s", referenceArm, strings.Join(ioEngines, ", "))
	}
	return found, nil
}

func namedProgram(ctx context.Context, name, mithril, dir string, workers int) (program, error) {
	if name == referenceArm {
		binary := filepath.Join(dir, referenceArm)
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "mithril/bench/reference")
		if output, err := build.CombinedOutput(); err != nil {
			return program{}, fmt.Errorf("build the reference: %w\n%s", err, output)
		}
		return program{name: name, binary: binary}, nil
	}
	for _, engine := range ioEngines {
		if name != engine {
			continue
		}
		if _, err := os.Stat(mithril); err != nil {
			return program{}, fmt.Errorf("arm %s: %w; build it, or name it with -mithril", name, err)
		}
		return program{name, mithril, []string{"--worker-threads", strconv.Itoa(workers), "--io-engine", engine}}, nil
	}
	return program{}, fmt.Errorf("arm %q is none of %s, %s; others come with -extra", name, referenceArm, strings.Join(ioEngines, ", "))
}

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// do runs one command line and returns what it printed.
func do(t *testing.T, line string) (out, errs string, err error) {
	t.Helper()
	var o, e strings.Builder
	err = run(t.Context(), strings.Fields(line), &o, &e)
	return o.String(), e.String(), err
}

// TestCommands drives a cluster through every command.
func TestCommands(t *testing.T) {
	ports, err := testbed.FreePorts(6)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Release()
	dir := " -dir " + t.TempDir()
	defer do(t, "stop"+dir)
	for _, step := range []struct {
		line string
		want string // a pattern in what is printed; with "error: ", the error's text
	}{
		{"status", `error: no cluster in .*: it holds no cluster\.json`},
		{"start --conf nonsense --port " + strconv.Itoa(ports.Base), "error: Bad directive or wrong number of arguments"},
		{"start --port " + strconv.Itoa(ports.Base), `(?m)^0 +0 +127\.0\.0\.1:` + strconv.Itoa(ports.Base) + ` +running +primary +\d+ +yes +[0-9a-f]{40} 0-5460$`},
		{"start --port 7000", "error: a cluster runs in .*: node 0 is running at .*; stop it first"},
		{"status", `(?m)^5 +2 +127\.0\.0\.1:` + strconv.Itoa(ports.Base+5) + ` +running +replica `},
		{"failover 1", "^node 4 is primary of shard 1\n$"},
		{"failover 3", "error: no shard 3: the cluster has shards 0 to 2"},
		{"move-slot 5 0 2", "^slot 5 is at shard 2\n$"},
		{"move-slot --atomic 5 2 0", "^slot 5 is at shard 0\n$"},
		{"move-slot 5 0 0", "error: move slots 5-5: source and target are both shard 0"},
		{"move-slot 16384 0 1", "error: slots 16384 to 16384 are not a range within 0..16383"},
		{"pause 3", "^$"},
		{"status", `(?m)^3 .* paused `},
		{"resume 3", "^$"},
		{"kill 3", "^$"},
		{"status", `(?m)^3 .* down `},
		{"restart 3", "^$"},
		{"status", `(?m)^3 .* running +replica `},
		{"kill 6", "error: no node 6: the cluster has nodes 0 to 5"},
		{"kill x", `error: NODE "x" is not a number of 0 or more`},
		{"stop", "^$"},
		{"status", `(?m)^0 .* down `},
	} {
		out, _, err := do(t, step.line+dir)
		if pattern, ok := strings.CutPrefix(step.want, "error: "); ok {
			out = fmt.Sprint(err)
			if !regexp.MustCompile(pattern).MatchString(out) {
				t.Fatalf("%s: error %q, want %q", step.line, out, pattern)
			}
			continue
		}
		if err != nil || !regexp.MustCompile(step.want).MatchString(out) {
			t.Fatalf("%s: %v, printed\n%s\nwant %q", step.line, err, out, step.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for line, want := range map[string]string{
		"":                 "usage: cluster COMMAND",
		"grow":             "cluster: unknown command \"grow\"\nusage: cluster COMMAND",
		"kill":             "cluster: got 0 arguments, want: cluster kill NODE\n",
		"move-slot 1 2":    "cluster: got 2 arguments, want: cluster move-slot SLOT FROM TO\n",
		"status -speed 9":  "flag provided but not defined: -speed",
		"start -port many": `invalid value "many" for flag -port`,
	} {
		_, errs, err := do(t, line)
		if !errors.Is(err, errUsage) || !strings.HasPrefix(errs, want) {
			t.Errorf("%q: %v, printed %q, want %q", line, err, errs, want)
		}
	}
	out, errs, err := do(t, "help")
	for _, verb := range verbs {
		if err != nil || errs != "" || !strings.Contains(out, "\n  "+verb) {
			t.Errorf("help: %v, %q: %q lacks %s", err, errs, out, verb)
		}
	}
	if len(verbs) != len(commands) {
		t.Errorf("usage lists %d commands of %d", len(verbs), len(commands))
	}
}

package main

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

func TestCellsAreEveryCombinationBySize(t *testing.T) {
	o, err := parseOptions([]string{"-mixes", "set+get,mget10", "-pipelines", "1,16", "-conns", "10", "-sizes", "64,4096"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range o.cells {
		names = append(names, c.String())
	}
	want := []string{
		"set+get, pipeline 1, 10 connections, 64 B", "set+get, pipeline 16, 10 connections, 64 B",
		"mget10, pipeline 1, 10 connections, 64 B", "mget10, pipeline 16, 10 connections, 64 B",
		"set+get, pipeline 1, 10 connections, 4096 B", "set+get, pipeline 16, 10 connections, 4096 B",
		"mget10, pipeline 1, 10 connections, 4096 B", "mget10, pipeline 16, 10 connections, 4096 B",
	}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("cells are\n%s", strings.Join(names, "\n"))
	}
}

func TestCellsAreNamedOnce(t *testing.T) {
	for line, want := range map[string]int{"": 2, "-cells quick": 2, "-cells standard": 20, "-cells sharing": 21, "-conns 1,8,10,20 -pipelines 1": 4} {
		if o, err := parseOptions(strings.Fields(line)); err != nil || len(o.cells) != want {
			t.Errorf("%q: %d cells, want %d, %v", line, len(o.cells), want, err)
		}
	}
	_, err := parseOptions([]string{"-cells", "standard", "-conns", "1"})
	if err == nil || err.Error() != "-cells and -conns both name cells: give one of them" {
		t.Errorf("both ways at once: error %v", err)
	}
}

// TestStandardCellsSetKeysSeldom: setting all keys takes long, so cells of one value size follow each other.
func TestStandardCellsSetKeysSeldom(t *testing.T) {
	cells, err := cellSet("standard")
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	seen := map[string]bool{}
	for _, c := range cells {
		if len(sizes) == 0 || sizes[len(sizes)-1] != c.valueBytes {
			sizes = append(sizes, c.valueBytes)
		}
		if seen[c.String()] {
			t.Errorf("%s is there twice", c)
		}
		seen[c.String()] = true
	}
	if !reflect.DeepEqual(sizes, []int{64, 1024, 4096, 65536}) {
		t.Errorf("value sizes follow as %v", sizes)
	}
}

func TestKeySpaceIsBoundedByBytes(t *testing.T) {
	for size, want := range map[int]int{64: keysMax, 65536: 1024, valueBytesMax: 64} {
		if got := (cell{valueBytes: size}).keys(); got != want {
			t.Errorf("values of %d B: %d keys, want %d", size, got, want)
		}
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"-pipelines 0":      `-pipelines: "0" is not a number from 1 to 65536`,
		"-conns 1,x":        `-conns: "x" is not a number from 1 to 60000`,
		"-sizes 2000000":    `-sizes: "2000000" is not a number from 1 to 1048576`,
		"-mixes set+incr":   `-mixes: command "incr" in mix "set,incr" is none of set, get, mget10, mget100, mset100`,
		"-rounds 0":         "0 rounds of 1s with 1 threads: all three must be positive",
		"-proxy-cpus 3-1":   `processors "3-1": "3-1" is neither a number nor a range such as 2-5, up to 1023`,
		"-other-cpus 0,-1":  `processors "0,-1": "-1" is neither a number nor a range such as 2-5, up to 1023`,
		"-pairs":            "-pairs: one of 3 arms has no other one",
		"-cells all":        `-cells: "all" is none of quick, standard, sharing`,
		"bench/results.txt": `argument "bench/results.txt" is not a flag`,
	} {
		if _, err := parseOptions(strings.Fields(line)); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", line, err, want)
		}
	}
	if _, err := parseOptions([]string{"-unknown"}); err == nil || errors.Is(err, flag.ErrHelp) {
		t.Errorf("unknown flag: error %v", err)
	}
}

// TestPairs: with -pairs every second arm is compared with the one before it, and the twin of the first with the first.
func TestPairs(t *testing.T) {
	for pairs, want := range map[bool][]int{false: {0, 0, 0, 0, 0, 0, 0}, true: {0, 0, 0, 3, 3, 5, 5}} {
		for arm, base := range want {
			if got := (&options{pairs: pairs}).base(arm); got != base {
				t.Errorf("pairs %v: arm %d is compared with %d, want %d", pairs, arm, got, base)
			}
		}
	}
}

func TestProcessorLists(t *testing.T) {
	cpus, err := parseCPUs("0,2-4")
	if err != nil || !reflect.DeepEqual(cpus, cpuList{0, 2, 3, 4}) || cpus.String() != "0,2,3,4" {
		t.Errorf("0,2-4 is %v, %v", cpus, err)
	}
	for count, want := range map[int][2]string{1: {"", ""}, 2: {"0", "1"}, 8: {"0", "1-7"}} {
		if proxy, other := defaultCPUs(count); proxy != want[0] || other != want[1] {
			t.Errorf("%d processors are divided into %q and %q, want %q", count, proxy, other, want)
		}
	}
}

func TestArmsThatDoNotExistAreNamed(t *testing.T) {
	const known = "reference, haproxy, nutcracker, direct, io_uring, epoll"
	for _, test := range []struct {
		options options
		want    string
	}{
		{options{arms: []string{"uring"}}, `arm "uring" is none of ` + known + "; others come with -extra"},
		{options{arms: []string{"epoll"}, mithril: "no/mithril"}, "arm epoll: stat no/mithril: no such file or directory; build it, or name it with -mithril"},
		{options{arms: []string{"epoll:port"}, mithril: "options.go"}, `arm epoll:port: setting "port" is not of the form KEY=VALUE`},
		{options{arms: []string{"epoll:"}, mithril: "options.go"}, `arm epoll:: setting "" is not of the form KEY=VALUE`},
		{options{arms: []string{"direct"}}, "arm direct cannot be the first: others are compared with the first one, and it has no process"},
		{options{extra: []string{"old"}}, `extra arm "old" is not of the form NAME=BINARY ARGUMENT...`},
		{options{}, "there is no arm to measure: name some of " + known},
	} {
		text := ""
		if _, err := programs(t.Context(), &test.options, t.TempDir(), 1); err != nil {
			text = err.Error()
		}
		if text != test.want {
			t.Errorf("error %s, want %s", text, test.want)
		}
	}
}

func TestArmsTakeSettings(t *testing.T) {
	o := options{arms: []string{"io_uring:batch-window-usecs=0:backend-conns=2"}, mithril: "options.go"}
	found, err := programs(t.Context(), &o, t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	command, err := found[0].command(site{port: 99, servers: &servers{cluster: &testbed.Cluster{}}})
	want := "options.go --port 99 --bind 127.0.0.1 --bootstrap  --worker-threads 3 --io-engine io_uring --batch-window-usecs 0 --backend-conns 2"
	if got := strings.Join(command, " "); got != want || err != nil {
		t.Errorf("the command is %s, want %s, %v", got, want, err)
	}
}

// TestSynopsisHasEveryFlag reads the usage at the top of the package, which shows each flag once and no other.
func TestSynopsisHasEveryFlag(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, usage, _ := strings.Cut(string(text), "//\tsixnode ")
	usage, _, _ = strings.Cut(usage, "\n//\n")
	var shown []string
	for _, match := range regexp.MustCompile(`[ \t[](-[a-z-]+)`).FindAllStringSubmatch(usage, -1) {
		if match[1] != "--io-engine" { // it is in the example of -extra
			shown = append(shown, match[1])
		}
	}
	var defined []string
	flags := flag.NewFlagSet("sixnode", flag.ContinueOnError)
	if _, err := parseWith(flags, nil); err != nil {
		t.Fatal(err)
	}
	flags.VisitAll(func(f *flag.Flag) { defined = append(defined, "-"+f.Name) })
	slices.Sort(shown)
	if !slices.Equal(shown, defined) {
		t.Errorf("the synopsis shows\n%v, the flags are\n%v", shown, defined)
	}
}

// TestSmallSamplesAreMarked: whoever reads a result is told if it cannot count.
func TestSmallSamplesAreMarked(t *testing.T) {
	const mark = "\n- the sample is too small to count: take 9 rounds of 1s or more\n"
	for line, want := range map[string]bool{"": false, "-rounds 9 -slice 1s": false, "-rounds 8": true, "-slice 999ms": true} {
		o, err := parseOptions(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		writeHeader(&out, o, nil)
		if strings.Contains(out.String(), mark) != want {
			t.Errorf("%q: the header is\n%s", line, out.String())
		}
	}
}

package conf

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const confDir = "../../conf/"

// readReal serves the files of conf/ and, for the secrets they name, a
// password.
func readReal(path string) ([]byte, error) {
	if strings.HasPrefix(path, "/run/secrets/") {
		return []byte("secret\n"), nil
	}
	return os.ReadFile(path)
}

// TestContract_CONF2_SampleHoldsTheDefaults compares conf/mithril.conf with
// the key table: its lines are the defaults, and every key is there.
func TestContract_CONF2_SampleHoldsTheDefaults(t *testing.T) {
	const name = confDir + "mithril.conf"
	c, err := Parse([]string{name}, testCPUs, readReal)
	if err != nil {
		t.Fatal(err)
	}
	want := Default(testCPUs)
	want.ConfFile = name
	want.Bootstrap = []string{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the sample sets\n%+v, the defaults are\n%+v", c, want)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.Lines(string(text)) {
		example, isExample := strings.CutPrefix(line, "#")
		words, ok := splitWords(example)
		if len(words) == 0 || isExample && strings.ContainsAny(example[:1], " #\n") {
			continue
		}
		times[words[0]]++
		k := lookup(words[0])
		if k == nil {
			if words[0] != "include" {
				t.Errorf("%s names no key", strings.TrimSpace(line))
			}
			continue
		}
		if reason := k.kind.set(Default(testCPUs), words[1:]); isExample && (!ok || reason != "") {
			t.Errorf("%s: %s", strings.TrimSpace(line), reason)
		}
	}
	for i := range keys {
		k := &keys[i]
		if want := len(k.kind.lines(Default(testCPUs))); times[k.name] != want {
			t.Errorf("%s is there %d times, want %d", k.name, times[k.name], want)
		}
	}
}

// TestSampleMarksWhatIsUnavailable: a paragraph of conf/mithril.conf says of all its keys whether this build
// can do them.
func TestSampleMarksWhatIsUnavailable(t *testing.T) {
	text, err := os.ReadFile(confDir + "mithril.conf")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "# Not available in this build"
	marked := map[string]string{} // by key: the class of the mark, "." for every line
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		class, found := ".", false
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSpace(line)
			if rest, ok := strings.CutPrefix(line, mark); ok {
				class, found = strings.TrimPrefix(rest, ": "), true
				continue
			}
			words := strings.Fields(strings.TrimPrefix(line, "#"))
			if found && len(words) > 0 && lookup(words[0]) != nil && !strings.HasPrefix(line, "# ") {
				marked[words[0]] = class
			}
		}
	}
	for _, row := range unavailable {
		want := row.class + "."
		if len(row.others) > 0 {
			want = "auto."
		}
		if marked[row.key] != want {
			t.Errorf("%s is marked %q, want %q", row.key, marked[row.key], want)
		}
		delete(marked, row.key)
	}
	for name := range marked {
		t.Errorf("%s is marked as if this build could not do it", name)
	}
}

func TestContract_CONF1_ProfilesParse(t *testing.T) {
	baremetal, err := Parse([]string{confDir + "baremetal.conf", "--check"}, 64, readReal)
	if err != nil {
		t.Fatal(err)
	}
	if baremetal.WorkerThreads != 4 || !slices.Equal(baremetal.WorkerCPUs, []int{2, 3, 4, 5}) || baremetal.IOEngine != IOEngineURing || baremetal.BatchWindow.Auto {
		t.Errorf("baremetal.conf: %+v", baremetal)
	}
	bench, err := Parse([]string{confDir + "bench-sixnode.conf"}, 2, readReal)
	if err != nil {
		t.Fatal(err)
	}
	if len(bench.Bootstrap) != 6 || bench.Bootstrap[0] != "127.0.0.1:7000" || bench.Bootstrap[5] != "127.0.0.1:7005" || bench.WorkerThreads != 1 {
		t.Errorf("bench-sixnode.conf: %+v", bench)
	}
}

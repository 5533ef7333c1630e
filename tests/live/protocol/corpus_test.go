package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mithril/src/command"
	"mithril/tests/harness"
)

// corpusLine is one command of testdata/corpus. A line is words separated by blanks, a
// word in double quotes is Go's; a first word of its own says how replies are compared:
// ~ unordered, ? by shape, ! by type.
type corpusLine struct {
	file  string
	line  int
	canon harness.Canon
	args  []any
}

func (l corpusLine) String() string { return fmt.Sprintf("%s:%d", l.file, l.line) }

// name is the full name of the line's command in a table, "" if it has none.
func (l corpusLine) name(table *command.Table) string {
	c := table.Lookup([]byte(l.args[0].(string)))
	if c == nil {
		return ""
	}
	if len(c.Subcommands()) > 0 && len(l.args) > 1 {
		if sub := table.LookupFull(fmt.Appendf(nil, "%s|%s", l.args[0], l.args[1])); sub != nil {
			return sub.Name
		}
	}
	return c.Name
}

func readCorpus(t *testing.T) []corpusLine {
	t.Helper()
	paths, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var lines []corpusLine
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			l := corpusLine{file: filepath.Base(path), line: i + 1, canon: harness.Exact}
			switch {
			case strings.HasPrefix(line, "~ "):
				l.canon, line = harness.Unordered, line[2:]
			case strings.HasPrefix(line, "? "):
				l.canon, line = harness.Shape, line[2:]
			case strings.HasPrefix(line, "! "):
				l.canon, line = harness.Kind, line[2:]
			}
			l.args, err = words(line)
			if err != nil {
				t.Fatalf("%v: %v", l, err)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

// words splits a line of the corpus.
func words(line string) ([]any, error) {
	var args []any
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			args, line = append(args, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("word %q: %w", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("word %q: %w", line, err)
		}
		args, line = append(args, word), line[len(quoted):]
	}
	return args, nil
}

// TestContract_PROTO4_CorpusEqualsALoneNode runs every command of the corpus through the
// proxy and on a standalone node, in both protocols.
func TestContract_PROTO4_CorpusEqualsALoneNode(t *testing.T) {
	corpus := readCorpus(t)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			t.Run(fmt.Sprint("RESP", proto), func(t *testing.T) {
				e.Flush(t)
				pair := e.Pair(t, proto)
				for _, l := range corpus {
					before := t.Failed()
					pair.SameAs(t, l.canon, l.args...)
					if t.Failed() && !before {
						t.Logf("first at %v", l)
					}
				}
			})
		}
	})
}

// unreachable are the rows with keys that the corpus cannot hold: their replies differ
// between a cluster and a standalone node. TestContract_PROTO5_WhereAClusterDiffers
// has them.
var unreachable = map[string]bool{"move": true, "cluster|help": true}

// TestContract_ROUTE2_CorpusHoldsEveryCommandWithKeys makes sure that no row of the command
// table is left out when it grows.
func TestContract_ROUTE2_CorpusHoldsEveryCommandWithKeys(t *testing.T) {
	corpus := readCorpus(t)
	for _, v := range []struct {
		engine       string
		major, minor int
	}{{"redis", 7, 0}, {"redis", 8, 0}, {"valkey", 9, 1}} {
		table := command.ForEngine(v.engine, v.major, v.minor)
		held := map[string]bool{}
		for _, l := range corpus {
			held[l.name(table)] = true
		}
		for id := range table.Len() {
			row := table.Row(uint16(id))
			switch row.Route {
			case command.RouteKeyed, command.RouteSplit, command.RouteAny:
			default:
				continue
			}
			container := len(row.Subcommands()) > 0
			if !held[row.Name] && !container && !unreachable[row.Name] {
				t.Errorf("%s %d.%d: no line of the corpus calls %s", v.engine, v.major, v.minor, row.Name)
			}
		}
	}
}

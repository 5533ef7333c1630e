package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// request is one command of a batch.
type request struct {
	args   []string
	canon  string // name of a canonicaliser, "" for the command's own
	inline bool
}

// bytes is the request on the wire.
func (r request) bytes() []byte {
	if !r.inline {
		return testbed.AppendCommand(nil, anys(r.args)...)
	}
	var line []byte
	for _, arg := range r.args {
		line = append(appendQuoted(line, arg), ' ')
	}
	return append(line[:len(line)-1], "\r\n"...)
}

// appendQuoted quotes an inline word as servers read it.
func appendQuoted(line []byte, word string) []byte {
	line = append(line, '"')
	for _, b := range []byte(word) {
		if b >= ' ' && b <= '~' && b != '"' && b != '\\' {
			line = append(line, b)
			continue
		}
		line = fmt.Appendf(line, `\x%02x`, b)
	}
	return append(line, '"')
}

func anys(words []string) (args []any) {
	for _, w := range words {
		args = append(args, w)
	}
	return args
}

// String is the request as a line of the corpus.
func (r request) String() string {
	var words []string
	for _, arg := range r.args {
		if quoted := strconv.Quote(arg); arg == "" || len(quoted) != len(arg)+2 || strings.ContainsAny(arg, " ") {
			arg = quoted
		}
		words = append(words, arg)
	}
	if r.canon != "" {
		words = append(words, "["+r.canon+"]")
	}
	return strings.Join(words, " ")
}

// parseLine reads a line of the corpus.
func parseLine(line string) (r request, err error) {
	if r.args, err = splitWords(line); err != nil || len(r.args) == 0 {
		return r, err
	}
	last := r.args[len(r.args)-1]
	name, opened := strings.CutPrefix(last, "[")
	name, closed := strings.CutSuffix(name, "]")
	if opened && closed && canons[name] != nil {
		r.canon, r.args = name, r.args[:len(r.args)-1]
	}
	return r, nil
}

func splitWords(line string) (words []string, err error) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
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
		words, line = append(words, word), line[len(quoted):]
	}
	return words, nil
}

// readLines reads the requests of a file. Empty lines and those that begin with # are none.
func readLines(t *testing.T, path string) (requests []request) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		r, err := parseLine(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, i+1, err)
		}
		requests = append(requests, r)
	}
	return requests
}

// readCorpus reads every file of the corpus, by its name.
func readCorpus(t *testing.T) map[string][]request {
	t.Helper()
	paths, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	files := map[string][]request{}
	for _, path := range paths {
		files[strings.TrimSuffix(filepath.Base(path), ".txt")] = readLines(t, path)
	}
	return files
}

// TestLinesAreReadAsWritten: what a failure prints can be put into the corpus.
func TestLinesAreReadAsWritten(t *testing.T) {
	for _, r := range []request{
		{args: []string{"GET", "k"}}, {args: []string{"SET", "", "a b"}}, {args: []string{"x", "\x00\xff\r\n", `"`, `\`, "é"}},
		{args: []string{"KEYS", "[ab]"}}, {args: []string{"SMEMBERS", "s"}, canon: "exact"}, {args: []string{"GET", "#"}},
	} {
		got, err := parseLine(r.String())
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%q: got %q, %v", r, got, err)
		}
	}
	for _, tc := range []struct{ line, want string }{
		{`A b  c`, "[A b c]"}, {`A "b c" d`, "[A b c d]"}, {`A "\x00"`, "[A \x00]"},
	} {
		if got, err := splitWords(tc.line); fmt.Sprint(got) != tc.want || err != nil {
			t.Errorf("%q: got %q, %v", tc.line, got, err)
		}
	}
	if _, err := splitWords(`A "b`); err == nil {
		t.Error("no error for a word without its end")
	}
	inline := request{args: []string{"SET", "a b", "\x00\"\\"}, inline: true}
	if got, want := string(inline.bytes()), "\"SET\" \"a b\" \"\\x00\\x22\\x5c\"\r\n"; got != want {
		t.Errorf("inline: got %q, want %q", got, want)
	}
}

// sortedKeys are the keys of a map in order, so that a seed plays the same everywhere.
func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

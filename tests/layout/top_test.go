package layout

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// topLevel is everything at the root of the repository, dot files aside.
var topLevel = []string{
	"Makefile", "README.md", "asm", "bench", "cmd", "conf", "go.mod", "go.sum", "src", "tests", "tools",
}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") && !builtDirs[name] {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, topLevel) {
		t.Errorf("the top level holds\n\t%v, want\n\t%v", got, topLevel)
	}
}

// cmdLinesMax keeps the daemon's main to flags and exit codes.
const cmdLinesMax = 150

func TestCommandIsSmall(t *testing.T) {
	total := 0
	for _, s := range sources(t) {
		if s.under("cmd") {
			total += lines(s.text)
		}
	}
	if total == 0 || total >= cmdLinesMax {
		t.Errorf("cmd has %d lines, want 1 to %d", total, cmdLinesMax-1)
	}
}

// leftovers are words that say that something is unfinished. They are split so that
// this file does not hold them.
var leftovers = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}

func leftover(text string) string {
	for _, word := range leftovers {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, word)
			if !found {
				break
			}
			before := rest[:len(rest)-len(after)-len(word)]
			if !endsInLetter(before) && !startsWithLetter(after) {
				return word
			}
			rest = after
		}
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func endsInLetter(s string) bool { return s != "" && isLetter(s[len(s)-1]) }

func startsWithLetter(s string) bool { return s != "" && isLetter(s[0]) }

func TestNothingIsLeftOver(t *testing.T) {
	if leftover("// "+leftovers[0]+": later") == "" || leftover("// "+leftovers[2]) == "" || leftover("MAX"+leftovers[2]+"L") != "" {
		t.Fatal("the search does not find what it should")
	}
	names, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.Contains(name, "/testdata/") || strings.HasPrefix(name, "src/command/data/") {
			continue // the servers' own words
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if word := leftover(string(text)); word != "" {
			t.Errorf("%s has a %s", name, word)
		}
	}
}

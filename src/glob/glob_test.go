package glob

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"
)

// serverNames is every string of up to three bytes over letters and the bytes
// that mean something in a pattern.
func serverNames() []string {
	const alphabet = `aBc-]^\`
	names := []string{""}
	for start, length := 0, 0; length < 3; length++ {
		end := len(names)
		for _, prefix := range names[start:end] {
			for _, c := range alphabet {
				names = append(names, prefix+string(c))
			}
		}
		start = end
	}
	return names
}

// TestMatchAsServer compares with answers recorded from a server.
func TestMatchAsServer(t *testing.T) {
	file, err := os.Open("testdata/server.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	names := serverNames()
	patterns := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var pattern string
		var wantCount int
		var wantHash uint64
		if _, err := fmt.Sscanf(lines.Text(), "%q %d %x", &pattern, &wantCount, &wantHash); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		count, hash := 0, fnv.New64a()
		for _, name := range names {
			if Match(pattern, name) {
				count++
				fmt.Fprintf(hash, "%s\n", name)
			}
		}
		if count != wantCount || hash.Sum64() != wantHash {
			t.Errorf("%q: %d names match, hash %x; the server says %d, %x", pattern, count, hash.Sum64(), wantCount, wantHash)
		}
		patterns++
	}
	if patterns < 500 {
		t.Errorf("%d patterns in the recording", patterns)
	}
}

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		match, fold   bool
	}{
		{"", "", true, true},
		{"", "a", false, false},
		{"*", "", false, false},
		{"**", "", false, false},
		{"*", "a", true, true},
		{"a*", "a", true, true},
		{"*a*b*", "xxaxxbxx", true, true},
		{"*a*b", "xaxbx", false, false},
		{"h?llo", "hello", true, true},
		{"h?llo", "hllo", false, false},
		{"H[A-C]x", "hbX", false, true},
		{"[^a]", "A", true, false},
		{"[z-a]", "m", true, true},
		{"[Z-a]", "Z", true, false},
		{`[\A]`, "a", false, false},
		{`\P`, "p", false, true},
		{"[Q-N]ort", "port", false, true},
		{"[", "a", false, false},
		{"[^", "a", true, true},
		{"[a", "a", true, true},
		{`a\`, `a\`, true, true},
		{"a\x00*", "a\x00b", true, true},
		{"\xff?", "\xff\xfe", true, true},
	} {
		if got := Match(test.pattern, test.name); got != test.match {
			t.Errorf("Match(%q, %q) = %v", test.pattern, test.name, got)
		}
		if got := MatchFold(test.pattern, []byte(test.name)); got != test.fold {
			t.Errorf("MatchFold(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	pattern, name := "cache:*:[a-f]?:*z", []byte("cache:session:c1:the end is z")
	matched := false
	if n := testing.AllocsPerRun(100, func() { matched = Match(pattern, name) }); n != 0 || !matched {
		t.Errorf("%v allocations, matched %v", n, matched)
	}
}

// TestMatchStarsAreLinear would not end in time if every star were tried anew.
func TestMatchStarsAreLinear(t *testing.T) {
	if Match(strings.Repeat("a*", 60)+"b", strings.Repeat("a", 4000)) {
		t.Error("matched without a b")
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*[^b-c]?", "abcd")
	f.Add("[^", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Match(pattern, name)
		if want := matchSlowly(pattern, name); len(pattern) < 20 && len(name) < 20 && name != "" && got != want {
			t.Errorf("Match(%q, %q) = %v, slow twin says %v", pattern, name, got, want)
		}
		if got && !MatchFold(pattern, name) && !strings.ContainsAny(pattern, "[") {
			t.Errorf("%q matches %q exactly but not in any case", pattern, name)
		}
	})
}

// matchSlowly tries every length for every star.
func matchSlowly(pattern, name string) bool {
	if len(pattern) >= 20 || len(name) >= 20 {
		return false
	}
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		return matchSlowly(pattern[1:], name) || name != "" && matchSlowly(pattern, name[1:])
	}
	if name == "" {
		return false
	}
	next, ok := matchByte(pattern, 0, name[0], false)
	return ok && matchSlowly(pattern[next:], name[1:])
}

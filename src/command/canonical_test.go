package command

import (
	"slices"
	"strings"
	"testing"
)

// The order of a server's hash tables must not reach the files.
func TestCanonicalRows_order(t *testing.T) {
	row := func(name, subs string) string {
		return strings.Replace(strings.Replace(getRow, "$3\r\nget", name, 1), ":0\r\n~0\r\n", ":0\r\n"+subs, 1)
	}
	aa, ab := row("$4\r\na|aa", "~0\r\n"), row("$4\r\na|ab", "*0\r\n")
	b := row("$1\r\nb", "*0\r\n")
	want := "*2\r\n" + row("$1\r\na", "*2\r\n"+aa+ab) + b
	for _, reply := range []string{want, "*2\r\n" + b + row("$1\r\na", "*2\r\n"+ab+aa)} {
		got, err := CanonicalRows([]byte(reply))
		if err != nil || string(got) != want {
			t.Errorf("error %v, reply\n%q, want\n%q", err, got, want)
		}
	}
}

func TestCanonicalDocs_order(t *testing.T) {
	summary := "%1\r\n$7\r\nsummary\r\n$1\r\ns\r\n"
	aa, ab := "$4\r\na|aa\r\n"+summary, "$4\r\na|ab\r\n"+summary
	a := func(subs string) string {
		return "$1\r\na\r\n%2\r\n$7\r\nsummary\r\n$1\r\ns\r\n$11\r\nsubcommands\r\n%2\r\n" + subs
	}
	b := "$1\r\nb\r\n" + summary
	want := "%2\r\n" + a(aa+ab) + b
	for _, reply := range []string{want, "%2\r\n" + b + a(ab+aa)} {
		got, err := CanonicalDocs([]byte(reply))
		if err != nil || string(got) != want {
			t.Errorf("error %v, reply\n%q, want\n%q", err, got, want)
		}
	}
	if _, err := CanonicalDocs([]byte(want + "x")); err == nil {
		t.Error("bytes behind the reply are no error")
	}
}

// What data/ holds is in canonical order already.
func TestCanonical_filesAreCanonical(t *testing.T) {
	for _, v := range Versions {
		for name, canonical := range map[string]func([]byte) ([]byte, error){v.RowsFile(): CanonicalRows, v.DocsFile(): CanonicalDocs} {
			text, err := dataFiles.ReadFile("data/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := canonical(text); err != nil || !slices.Equal(again, text) {
				t.Errorf("%s is not canonical: %v", name, err)
			}
		}
	}
}

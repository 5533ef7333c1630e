package conf

import (
	"reflect"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		line  string
		words []string
		ok    bool
	}{
		{"", nil, true},
		{" \t\v\f\r\n", nil, true},
		{"a b", []string{"a", "b"}, true},
		{"\ta \t b\r", []string{"a", "b"}, true},
		{`""`, []string{""}, true},
		{`''`, []string{""}, true},
		{`"a b"`, []string{"a b"}, true},
		{`x"a b"`, []string{"xa b"}, true},
		{`"\x41\x6A\x7a\n\r\t\b\a\"\\\q"`, []string{"Ajz\n\r\t\b\a\"\\q"}, true},
		{`"\x4"`, []string{"x4"}, true},
		{`"\xg0"`, []string{"xg0"}, true},
		{`'a\'b\n'`, []string{`a'b\n`}, true},
		{`a\nb`, []string{`a\nb`}, true},
		{"a\vb", []string{"a\vb"}, true},
		{"\"a\"\vb", []string{"a", "b"}, true},
		{"a#b #c", []string{"a#b", "#c"}, true},
		{"a\x00\xff", []string{"a\x00\xff"}, true},
		{`k "abc`, []string{"k"}, false},
		{`k 'abc`, []string{"k"}, false},
		{`k "abc"d`, []string{"k"}, false},
		{`k a"b`, []string{"k"}, false},
		{`k "abc\"`, []string{"k"}, false},
		{`k "\x4`, []string{"k"}, false},
		{`k "abc\`, []string{"k"}, false},
		{`k '\'`, []string{"k"}, false},
	} {
		words, ok := splitWords(test.line)
		if ok != test.ok || !reflect.DeepEqual(words, test.words) {
			t.Errorf("%q: words %q, ok %v", test.line, words, ok)
		}
	}
}

func TestQuoteWord(t *testing.T) {
	for word, want := range map[string]string{
		"plain-1.2:3": "plain-1.2:3",
		"":            `""`,
		"a b":         `"a b"`,
		"#a":          `"#a"`,
		"a#":          "a#",
		`a\n`:         `a\n`,
		`a"b\`:        `"a\"b\\"`,
		"it's":        `"it's"`,
		"\n\r\t\x00":  `"\n\r\t\x00"`,
		"é\x7f":       `"\xc3\xa9\x7f"`,
	} {
		got := quoteWord(word)
		if got != want {
			t.Errorf("%q is printed as %s, want %s", word, got, want)
		}
		if back, ok := splitWords(got); !ok || len(back) != 1 || back[0] != word {
			t.Errorf("%q is read back as %q", word, back)
		}
	}
}

package resp

import (
	"fmt"
	"strings"
	"testing"
)

// The answers were read off redis-server 7.0 with ECHO and its arity error.
var inlineCases = []struct{ line, want string }{
	{"SET k \"a\\x41 b\"\r\n", `["SET" "k" "aA b"]`},
	{"PING\n", `["PING"]`},
	{" \t \r\n", `[]`},
	{"", `[]`},
	{" \v\fPING\r\n", `["PING"]`},
	{"ECHO a\vb\r\n", "[\"ECHO\" \"a\\vb\"]"},
	{"ECHO \"a\"\vb\r\n", `["ECHO" "a" "b"]`},
	{"ECHO \"a\"b\r\n", "unbalanced quotes in request"},
	{"ECHO a\"b c\"\r\n", `["ECHO" "ab c"]`},
	{"ECHO a\"b\"'c'\r\n", "unbalanced quotes in request"},
	{"ECHO 'a\\'b'\r\n", `["ECHO" "a'b"]`},
	{"ECHO 'a\\nb'\r\n", `["ECHO" "a\\nb"]`},
	{"ECHO 'a'b\r\n", "unbalanced quotes in request"},
	{"ECHO \"\\x41\\x4g\\q\\n\\r\\t\\b\\a\\\\\\\"\"\r\n", `["ECHO" "Ax4gq\n\r\t\b\a\\\""]`},
	{"ECHO \"\\x\"\r\n", `["ECHO" "x"]`},
	{"GET \"abc\r\n", "unbalanced quotes in request"},
	{"GET \"abc\\\r\n", "unbalanced quotes in request"},
	{"GET \"\\x4", "unbalanced quotes in request"},
	{"GET 'abc\r\n", "unbalanced quotes in request"},
	{"ECHO \"\"\r\n", `["ECHO" ""]`},
	{"ECHO a\\x41\r\n", `["ECHO" "a\\x41"]`},
	{"ECHO a\rb\r\n", `["ECHO" "a" "b"]`},
	{"ECHO \"a\rb\"\r\n", `["ECHO" "a\rb"]`},
	{"ECHO \x80\xa0\x85\r\n", `["ECHO" "\x80\xa0\x85"]`},
}

// J01
func TestContract_PROTO1_InlineWords(t *testing.T) {
	for _, c := range inlineCases {
		frame, argc, v := AppendInline(nil, []byte(c.line))
		got := "[]"
		switch {
		case v != NoViolation:
			got = v.String()
		case argc > 0:
			got = strings.Join(readAll(frame, &Authenticated), ";")
			got = strings.TrimSuffix(got, ";more")
		}
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.line, got, c.want)
		}
	}
}

func TestAppendInlineKeepsWhatIsBefore(t *testing.T) {
	for line, want := range map[string]string{"PING": "x*1\r\n$4\r\nPING\r\n", "": "x", "GET 'a": "x"} {
		if out, _, _ := AppendInline([]byte("x"), []byte(line)); string(out) != want {
			t.Errorf("%q: %q, want %q", line, out, want)
		}
	}
}

func TestAppendInlineDoesNotAllocate(t *testing.T) {
	dst, line := make([]byte, 0, 256), []byte("SET key \"some value\" EX 10\r\n")
	if n := testing.AllocsPerRun(100, func() { AppendInline(dst, line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Wordings, read off redis-server 7.0 and 8.0 and valkey-server 9.1 for every byte that can stand where '$'
// should.
func TestContract_PROTO1_ErrorLines(t *testing.T) {
	for v := InvalidCount; v <= TooBigRequest; v++ {
		if v == ExpectedDollar {
			continue
		}
		want := "-ERR Protocol error: " + v.String() + "\r\n"
		if got := string(v.AppendError(nil)); got != want || v.String() == "" {
			t.Errorf("violation %d: %q", v, got)
		}
	}
	for c := range 256 {
		shown := byte(c)
		if c == '\r' || c == '\n' {
			shown = ' '
		}
		want := fmt.Sprintf("-ERR Protocol error: expected '$', got '%s'\r\n", []byte{shown})
		var s RequestScanner
		_, _, st := s.Scan([]byte{'*', '1', '\r', '\n', byte(c), '4', '\r', '\n'}, &Authenticated, nil)
		switch {
		case c == '$' && st != NeedMore:
			t.Errorf("a dollar: status %d", st)
		case c != '$' && string(s.Violation().AppendError(nil)) != want:
			t.Errorf("byte %d: %q, want %q", c, s.Violation().AppendError(nil), want)
		}
	}
}

func TestIsCrossProtocol(t *testing.T) {
	for name, want := range map[string]bool{
		"POST": true, "post": true, "Host:": true, "host": false, "GET": false, "": false, "posts": false,
	} {
		if IsCrossProtocol([]byte(name)) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

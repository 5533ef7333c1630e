package resp

import (
	"fmt"
	"strings"
	"testing"
)

func TestArrayHeader(t *testing.T) {
	for reply, want := range map[string]string{
		"*0\r\n": "0 4 true", "*-1\r\n": "-1 5 true", "*12\r\n:1\r\n": "12 5 true", "~2\r\n": "2 4 true",
		">3\r\n": "3 4 true", "%2\r\n": "4 4 true",
		"$3\r\nabc\r\n": "0 0 false", "_\r\n": "0 0 false", "*": "0 0 false", "*1\r": "0 0 false",
		"*x\r\n": "0 0 false", "~-1\r\n": "0 0 false", "": "0 0 false",
	} {
		count, size, ok := ArrayHeader([]byte(reply))
		if got := fmt.Sprint(count, size, ok); got != want {
			t.Errorf("%q: %s, want %s", reply, got, want)
		}
	}
}

// An array is walked by its header and one NextElement for each element.
func TestNextElementWalksAnArray(t *testing.T) {
	reply := []byte("*4\r\n$3\r\nabc\r\n*2\r\n:1\r\n_\r\n|1\r\n+a\r\n+b\r\n$-1\r\n%1\r\n+k\r\n+v\r\n")
	count, p, _ := ArrayHeader(reply)
	var got []string
	for range count {
		n := NextElement(reply[p:])
		got = append(got, string(reply[p:p+n]))
		p += n
	}
	want := `["$3\r\nabc\r\n" "*2\r\n:1\r\n_\r\n" "|1\r\n+a\r\n+b\r\n$-1\r\n" "%1\r\n+k\r\n+v\r\n"]`
	if fmt.Sprintf("%q", got) != want || p != len(reply) {
		t.Errorf("%q, %d of %d bytes", got, p, len(reply))
	}
	for _, b := range []string{"", "$3\r\nab", "x\r\n\r\n"} {
		if n := NextElement([]byte(b)); n != 0 {
			t.Errorf("%q: %d", b, n)
		}
	}
}

func TestSkipAttributes(t *testing.T) {
	for reply, want := range map[string]int{
		"+OK\r\n": 0, "|1\r\n+a\r\n+b\r\n+OK\r\n": 12, "|0\r\n|1\r\n+a\r\n*1\r\n:1\r\n_\r\n": 20, "": 0, "|1\r\n+a": 4,
	} {
		if got := SkipAttributes([]byte(reply)); got != want {
			t.Errorf("%q: %d, want %d", reply, got, want)
		}
	}
}

func TestInteger(t *testing.T) {
	for reply, want := range map[string]string{
		":0\r\n": "0 true", ":-5\r\n": "-5 true", ":+5\r\n": "5 true",
		":9223372036854775807\r\n":  "9223372036854775807 true",
		":-9223372036854775808\r\n": "-9223372036854775808 true", ":9223372036854775808\r\n": "0 false",
		":99999999999999999999\r\n": "0 false",
		"$1\r\n5\r\n":               "0 false", ":1\r": "0 false", ":1xx": "0 false", ":\r\n": "0 false", ":-\r\n": "0 false",
		":1\r\n:2\r\n": "0 false", "": "0 false", ":1": "0 false",
	} {
		v, ok := Integer([]byte(reply))
		if got := fmt.Sprint(v, ok); got != want {
			t.Errorf("%q: %s, want %s", reply, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n": "OK true", "-ERR x\r\n": "ERR x true", "$3\r\nabc\r\n": "abc true", "$0\r\n\r\n": " true",
		"$-1\r\n": " false", "_\r\n": " false",
		"=7\r\ntxt:a b\r\n": "a b true", "!5\r\nERR x\r\n": "ERR x true", ":5\r\n": "5 true",
		",1.5\r\n": "1.5 true", "#t\r\n": "t true", "(12\r\n": "12 true",
		"*0\r\n": " false", "$3\r\nab": " false", "": " false", "+": " false",
	} {
		text, ok := Text([]byte(reply))
		if got := fmt.Sprintf("%s %v", text, ok); got != want {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}

func TestEqualFold(t *testing.T) {
	for _, c := range []struct {
		name, lower string
		want        bool
	}{
		{"GET", "get", true}, {"gEt", "get", true}, {"GETS", "get", false}, {"", "", true},
		{"[", "{", false}, {"\xc7", "\xe7", false},
	} {
		if EqualFold([]byte(c.name), c.lower) != c.want {
			t.Errorf("%q and %q: %v", c.name, c.lower, !c.want)
		}
	}
}

func TestComplaintQuotesNothing(t *testing.T) {
	for _, tc := range []struct{ reply, want string }{
		{"-WRONGPASS invalid username-password pair or user is disabled.\r\n", "WRONGPASS invalid username-password pair or user is disabled."},
		{"-ERR unknown command 'HELLO', with args beginning with: '2' 'AUTH' 'default' 'secret' \r\n", "ERR unknown command"},
		{"-ERR unknown command `AUTH`, with args beginning with: `secret`, \r\n", "ERR unknown command"},
		{"-ERR no such user \"secret\"\r\n", "ERR no such user"},
		{"-'secret'\r\n", ""},
		{"-\r\n", ""},
		{"-" + strings.Repeat("x", 1000) + "\r\n", strings.Repeat("x", 128)},
	} {
		if got := string(Complaint([]byte(tc.reply))); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.reply, got, tc.want)
		}
	}
}

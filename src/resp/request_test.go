package resp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func wordsOf(frame []byte, args []Arg) (words []string) {
	for _, a := range args {
		words = append(words, string(a.Of(frame)))
	}
	return words
}

// readAll scans every request in b as a session does, with the whole buffer at hand, and describes each: its
// arguments, or what ended it.
func readAll(b []byte, lim *RequestLimits) (got []string) {
	var s RequestScanner
	var args []Arg
	for {
		out, n, st := s.Scan(b, lim, args)
		args = out
		switch st {
		case NeedMore:
			return append(got, "more")
		case Invalid:
			return append(got, s.Violation().String())
		case CompleteInline:
			got = append(got, "line "+strings.TrimRight(string(b[:n]), "\r\n"))
		case Complete:
			got = append(got, fmt.Sprintf("%q", wordsOf(b, out)))
		}
		b = b[n:]
	}
}

// The answers were read off redis-server 7.0 and 8.0 and valkey-server 9.1; where a line end is odd, off
// Valkey.
var requestCases = []struct{ name, in, want string }{
	{"one", "*1\r\n$4\r\nPING\r\n", `["PING"];more`},
	{"two digits", "*2\r\n$4\r\nECHO\r\n$12\r\n0123456789ab\r\n", `["ECHO" "0123456789ab"];more`},
	{"binary body", "*1\r\n$8\r\n\r\n$9\r\n\x00\xff\r\n", "[\"\\r\\n$9\\r\\n\\x00\\xff\"];more"},
	{"empty argument", "*1\r\n$0\r\n\r\n", `[""];more`},
	{
		"J02 no arguments", "*0\r\n*-1\r\n*-5\r\n*-9223372036854775808\r\n\r\n\n*1\r\n$4\r\nPING\r\n",
		`[];[];[];[];[];[];["PING"];more`,
	},
	{"count beyond 64 bits", "*-9223372036854775809\r\n", "invalid multibulk length"},
	{"count is no number", "*x\r\n", "invalid multibulk length"},
	{"count is missing", "*\r\n", "invalid multibulk length"},
	{"count with zero in front", "*01\r\n", "invalid multibulk length"},
	{"count with plus", "*+1\r\n", "invalid multibulk length"},
	{"negative zero", "*-0\r\n", "invalid multibulk length"},
	{"count with zero byte", "*1\x00\r\n", "invalid multibulk length"},
	{"count ends in LF", "*1\n$4\nPING\n", "more"},
	{"B12 count above a million", "*1048577\r\n", "more"},
	{"B12 highest count", "*2147483647\r\n", "more"},
	{"B12 count too high", "*2147483648\r\n", "invalid multibulk length"},
	{"count without CRLF", "*1\rX$4\r\n", "invalid CRLF in request"},
	{"J03 null argument", "*2\r\n$3\r\nGET\r\n$-1\r\n", "invalid bulk length"},
	{"J03 longest argument", "*1\r\n$536870912\r\n", "more"},
	{"J03 too long", "*1\r\n$536870913\r\n", "invalid bulk length"},
	{"J03 no number", "*1\r\n$x\r\n", "invalid bulk length"},
	{"J03 zero in front", "*1\r\n$04\r\n", "invalid bulk length"},
	{"J03 plus", "*1\r\n$+4\r\n", "invalid bulk length"},
	{"zero in front, all there", "*1\r\n$04\r\nPING\r\n", "invalid bulk length"},
	{"count is nearly a number", "*1:\r\n", "invalid multibulk length"},
	{"digit is nearly one", "*:\r\n", "invalid multibulk length"},
	{"length just beyond 64 bits", "*1\r\n$18446744073709551620\r\nPING\r\n", "invalid bulk length"},
	{"long length without CRLF", "*1\r\n$100\rX" + strings.Repeat("x", 100) + "\r\n", "invalid CRLF in request"},
	{"length beyond 64 bits", "*1\r\n$99999999999999999999\r\n", "invalid bulk length"},
	{"length near 64 bits", "*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
	{"length is missing", "*1\r\n$\r\n", "invalid bulk length"},
	{"length with space", "*1\r\n$ 4\r\n", "invalid bulk length"},
	{"length with LF", "*1\r\n$4\nPING\r\n", "invalid bulk length"},
	{"J03 due replies first", "PING\r\n*x\r\n", "line PING;invalid multibulk length"},
	{"J04 wrong type", "*1\r\n:4\r\n", "expected '$', got ':'"},
	{"type before line end", "*1\r\n:4\rX", "expected '$', got ':'"},
	{"line end before number", "*1\r\n$x\rX", "invalid CRLF in request"},
	{"type is judged with its line", "*1\r\n:4\r", "more"},
	{"J06 nested", strings.Repeat("*1\r\n", 100000), "expected '$', got '*'"},
	{"body before X and LF", "*1\r\n$4\r\nPINGX\n", "invalid CRLF in request"},
	{"body without CRLF", "*2\r\n$1\r\naXX$1\r\nb\r\n", "invalid CRLF in request"},
	{"inline", "SET k v\r\nGET k\n", "line SET k v;line GET k;more"},
	{
		"inline after array and back", "*1\r\n$4\r\nPING\r\nPING\r\n*1\r\n$4\r\nPING\r\n",
		`["PING"];line PING;["PING"];more`,
	},
	{"inline with zero byte never ends", "PI\x00NG\r\nPING\r\n", "more"},
	{"J01 longest inline", strings.Repeat("a", 65536) + "\n", "line " + strings.Repeat("a", 65536) + ";more"},
	{"J01 inline too long", strings.Repeat("a", 65537), "too big inline request"},
	{"count line too long", "*" + strings.Repeat("1", 65536), "too big mbulk count string"},
	{"count line not yet too long", "*" + strings.Repeat("1", 65535), "more"},
	{"length line too long", "*1\r\n$" + strings.Repeat("1", 65536), "too big bulk count string"},
	{"length line not yet too long", "*1\r\n$" + strings.Repeat("1", 65535), "more"},
}

func TestContract_PROTO1_RequestFrames(t *testing.T) {
	for _, c := range requestCases {
		if got := strings.Join(readAll([]byte(c.in), &Authenticated), ";"); got != c.want {
			t.Errorf("%s: got %.120s, want %.120s", c.name, got, c.want)
		}
	}
}

func TestContract_PROTO1_LimitsBeforeAuth(t *testing.T) {
	big := strings.Repeat("v", 16384)
	for _, c := range []struct{ in, want string }{
		{"*10\r\n", "more"},
		{"*11\r\n", "unauthenticated multibulk length"},
		{"*2147483648\r\n", "invalid multibulk length"},
		{"*1\r\n$16384\r\n" + big + "\r\n", fmt.Sprintf("[%q];more", big)},
		{"*1\r\n$16385\r\n", "unauthenticated bulk length"},
		{"*1\r\n$536870913\r\n", "invalid bulk length"},
		{"a b c d e f g h i j k l\r\n", "line a b c d e f g h i j k l;more"},
	} {
		if got := strings.Join(readAll([]byte(c.in), &Unauthenticated), ";"); got != c.want {
			t.Errorf("%.40q: got %.60s, want %.60s", c.in, got, c.want)
		}
	}
}

// A stricter limit than the server's speaks in the words of the server's.
func TestRequestLimitsAreTheCallers(t *testing.T) {
	lim := RequestLimits{MaxArgs: 2, MaxBulk: 200, MaxFrame: 1000}
	for in, want := range map[string]string{
		"*2\r\n$1\r\na\r\n$1\r\nb\r\n": `["a" "b"];more`,
		"*3\r\n":                       "invalid multibulk length",
		"*1\r\n$200\r\n":               "more",
		"*1\r\n$201\r\n":               "invalid bulk length",
	} {
		if got := strings.Join(readAll([]byte(in), &lim), ";"); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestRequestFrameLimit(t *testing.T) {
	lim := Authenticated
	lim.MaxFrame = 64
	frame := AppendCommand(nil, "SET", "k", strings.Repeat("v", 64-len("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$38\r\n\r\n")))
	if len(frame) != 64 {
		t.Fatalf("frame of %d bytes", len(frame))
	}
	if got := readAll(frame, &lim); len(got) != 2 || got[1] != "more" {
		t.Errorf("64 bytes: %q", got)
	}
	lim.MaxFrame = 63
	if got := readAll(frame[:40], &lim); got[0] != "too big request" {
		t.Errorf("64 bytes announced with 63 allowed: %q", got)
	}
}

// C05: the session sees the same frames however the bytes arrive.
func TestContract_PROTO1_SplitAtEveryByte(t *testing.T) {
	stream := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n" +
		"*2\r\n$3\r\nGET\r\n$100\r\n" + strings.Repeat("k", 100) + "\r\n" +
		"SET k \"a\\x41 b\"\r\n\r\n*0\r\n*12\r\n" + strings.Repeat("$1\r\nx\r\n", 12))
	want := readAll(stream, &Authenticated)
	for step := 1; step <= len(stream); step++ {
		if got := readSteps(t, stream, &Authenticated, []byte{byte(step)}); !slices.Equal(got, want) {
			t.Fatalf("%d bytes at a time: got %q, want %q", step, got, want)
		}
	}
}

// readSteps is readAll for bytes that arrive in pieces of the given sizes, over and over. Between scans the
// bytes move to a fresh buffer.
func readSteps(t *testing.T, stream []byte, lim *RequestLimits, sizes []byte) (got []string) {
	var s RequestScanner
	start, end := 0, 0
	var args []Arg
	for turn := 0; ; {
		b := slices.Clone(stream[start:end])
		out, n, st := s.Scan(b, lim, args)
		args = out
		switch st {
		case NeedMore:
			if end == len(stream) {
				return append(got, "more")
			}
			if need := s.Need(); need < 1 || s.Settled() > len(b) {
				t.Fatalf("%q: need %d, settled %d", b, need, s.Settled())
			}
			end = min(end+max(1, int(sizes[turn%len(sizes)])), len(stream))
			turn++
			continue
		case Invalid:
			if _, _, again := s.Scan(b, lim, nil); again != Invalid {
				t.Fatalf("after a violation %q scans as %d", b, again)
			}
			return append(got, s.Violation().String())
		case CompleteInline:
			got = append(got, "line "+strings.TrimRight(string(b[:n]), "\r\n"))
		case Complete:
			got = append(got, fmt.Sprintf("%q", wordsOf(b, out)))
		}
		if s != (RequestScanner{}) {
			t.Fatalf("scanner is not ready after %q: %+v", b[:n], s)
		}
		start += n
	}
}

// J05: memory follows the bytes received, not the sizes announced.
func TestContract_SEC4_AnnouncedSizesTakeNoMemory(t *testing.T) {
	for _, in := range []string{"*2147483647\r\n", "*1\r\n$536870912\r\n", "*2000000000\r\n$1\r\na\r\n"} {
		args := make([]Arg, 0, 4)
		if n := testing.AllocsPerRun(10, func() {
			var s RequestScanner
			if out, _, st := s.Scan([]byte(in), &Authenticated, args); st != NeedMore || cap(out) != cap(args) {
				t.Fatalf("%q: status %d, capacity %d", in, st, cap(out))
			}
		}); n != 0 {
			t.Errorf("%q takes %v allocations", in, n)
		}
	}
}

func TestNeedIsExactForABody(t *testing.T) {
	frame := "*2\r\n$3\r\nGET\r\n$10\r\n0123456789\r\n"
	var s RequestScanner
	body := strings.Index(frame, "0123")
	for have := range len(frame) {
		if _, _, st := s.Scan([]byte(frame[:have]), &Authenticated, nil); st != NeedMore {
			t.Fatalf("%d bytes: status %d", have, st)
		}
		if need := s.Need(); have >= body && need != len(frame)-have || need > len(frame)-have {
			t.Errorf("%d of %d bytes: need %d", have, len(frame), need)
		}
	}
}

func TestReceivedListsWholeArguments(t *testing.T) {
	frame := AppendCommand(nil, "SET", "key", strings.Repeat("v", 1000))
	var s RequestScanner
	scratch := make([]Arg, 0, 4)
	for have, want := range map[int]string{
		0: "0/0 ", 2: "0/0 ", 4: "0/3 ", 12: "0/3 ",
		13: "1/3 SET", 20: "1/3 SET", 22: "2/3 SET,key", 1020: "2/3 SET,key",
	} {
		s = RequestScanner{}
		b := frame[:have]
		s.Scan(b, &Authenticated, scratch)
		args, announced := s.Received(b, scratch)
		if got := fmt.Sprintf("%d/%d %s", len(args), announced, strings.Join(wordsOf(b, args), ",")); got != want {
			t.Errorf("%d bytes: %q, want %q", have, got, want)
		}
	}
}

// A frame that is passed on while it arrives ends at the same byte.
func TestRequestStreams(t *testing.T) {
	frame := AppendCommand(nil, "SET", "key", strings.Repeat("*1\r\n", 75), "EX", "100")
	for step := 1; step < 40; step++ {
		var s RequestScanner
		start, end, passed := 0, 0, 0
		for {
			args, n, st := s.Scan(frame[start:end], &Authenticated, nil)
			if st == Complete {
				if passed += n; passed != len(frame) || len(args) != 0 {
					t.Fatalf("step %d: %d of %d bytes, %d arguments", step, passed, len(frame), len(args))
				}
				break
			}
			if st != NeedMore || end == len(frame) {
				t.Fatalf("step %d: status %d at %d", step, st, end)
			}
			need, settled := s.Need(), s.Settled()
			s.Discard(settled)
			if s.Need() != need {
				t.Fatalf("step %d: need %d before and %d after", step, need, s.Need())
			}
			start += settled
			passed += settled
			end = min(end+step, len(frame))
		}
		if s != (RequestScanner{}) {
			t.Fatalf("scanner is not ready: %+v", s)
		}
	}
}

package resp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// readReplies cuts b into replies, with "more" or "invalid" for what is left.
func readReplies(b []byte) (got []string) {
	var s ReplyScanner
	for {
		n, st := s.Scan(b)
		switch st {
		case NeedMore:
			return append(got, "more")
		case Complete:
			got = append(got, string(b[:n]))
			b = b[n:]
		default:
			return append(got, "invalid")
		}
	}
}

// readReplySteps is readReplies for bytes that arrive in pieces of the given sizes. Between scans the bytes
// move to a fresh buffer.
func readReplySteps(t *testing.T, stream []byte, sizes []byte) (got []string) {
	var s ReplyScanner
	start, end := 0, 0
	for turn := 0; ; {
		b := slices.Clone(stream[start:end])
		n, st := s.Scan(b)
		switch st {
		case NeedMore:
			if end == len(stream) {
				return append(got, "more")
			}
			if s.Need() < 1 || s.Settled() > len(b) {
				t.Fatalf("%q: need %d, settled %d", b, s.Need(), s.Settled())
			}
			end = min(end+max(1, int(sizes[turn%len(sizes)])), len(stream))
			turn++
		case Complete:
			if s != (ReplyScanner{}) {
				t.Fatalf("scanner is not ready after %q: %+v", b[:n], s)
			}
			got = append(got, string(b[:n]))
			start += n
		default:
			if _, again := s.Scan(b); again != Invalid {
				t.Fatalf("after a fault %q scans as %d", b, again)
			}
			return append(got, "invalid")
		}
	}
}

// One reply each, of every type that Redis 7.0, 8.0 or Valkey 9.1 sends.
var replyFrames = []string{
	"+OK\r\n", "+\r\n", "+PONG\r\n", "-ERR unknown command\r\n", "+a\rb\nc\r\n",
	":0\r\n", ":1000\r\n", ":-1\r\n", ":+1\r\n", ":9223372036854775807\r\n", ":-9223372036854775808\r\n",
	"$0\r\n\r\n", "$3\r\nabc\r\n", "$12\r\n0123456789ab\r\n", "$2\r\n\r\n\r\n", "$-1\r\n",
	"$100\r\n" + strings.Repeat("x", 100) + "\r\n",
	"*0\r\n", "*-1\r\n", "*2\r\n$-1\r\n*-1\r\n", "*1\r\n*1\r\n*1\r\n:1\r\n", "*10\r\n" + strings.Repeat(":1\r\n", 10),
	"%1\r\n$1\r\na\r\n:1\r\n", "%0\r\n", "~2\r\n:1\r\n:2\r\n", "~0\r\n",
	">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
	",3.25\r\n", ",inf\r\n", ",-inf\r\n", ",nan\r\n", "#t\r\n", "#f\r\n", "_\r\n", "(12345678901234567890123\r\n",
	"=7\r\ntxt:a b\r\n", "!5\r\nERR x\r\n",
	"|1\r\n$1\r\nk\r\n:1\r\n+OK\r\n",
	"|1\r\n$1\r\nk\r\n*1\r\n:1\r\n|1\r\n+a\r\n+b\r\n*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n", "|0\r\n_\r\n",
}

var replyFaults = []string{
	"OK\r\n", "\r\n\r\n", "$x\r\n", "$-2\r\n", "$-0\r\n", "$01\r\n\r\n", "$+1\r\n", "$\r\nx\r\n",
	"$3\r\nabcXX", "$1\rX1\r\n", "=-1\r\n", "!-1\r\n",
	"$9999999999999999999\r\n", "$1099511627777\r\n", "*x\r\n", "*-2\r\n", "*\r\n", "*1\n:1\r\n", "%-1\r\n",
	"~-1\r\n", ">-1\r\n", "|-1\r\n", "*01\r\n",
	"*1099511627777\r\n", ":\r\n", ":x\r\n", ":-\r\n", ":1x\r\n", ":1\rx", ":123456789012345678901\r\n",
	"#x\r\n", "#tt\r\n", "_x\r\n", "_\rx",
	"$?\r\n;1\r\na\r\n;0\r\n", "*?\r\n", ".\r\nx", "*2\r\n:1\r\nx\r\n", strings.Repeat("*1099511627776\r\n", 1<<16+1),
}

func TestReplyFrames(t *testing.T) {
	for _, f := range replyFrames {
		if got := readReplies([]byte(f)); !slices.Equal(got, []string{f, "more"}) {
			t.Errorf("%.60q reads as %.60q", f, got)
		}
		for cut := range len(f) {
			if got := readReplies([]byte(f[:cut])); !slices.Equal(got, []string{"more"}) {
				t.Errorf("%.60q cut to %d bytes reads as %.60q", f, cut, got)
			}
		}
	}
}

func TestReplyFaults(t *testing.T) {
	for _, f := range replyFaults {
		if got := readReplies([]byte(f)); !slices.Equal(got, []string{"invalid"}) {
			t.Errorf("%.60q reads as %.60q", f, got)
		}
		if got := readReplies([]byte("+OK\r\n" + f)); !slices.Equal(got, []string{"+OK\r\n", "invalid"}) {
			t.Errorf("+OK and %.60q read as %.60q", f, got)
		}
		if len(f) > 1000 {
			continue
		}
		if got := readReplySteps(t, []byte(f), []byte{1}); !slices.Equal(got, []string{"invalid"}) {
			t.Errorf("%q reads byte by byte as %.60q", f, got)
		}
	}
}

// C05 from the node's side.
func TestReplySplitAtEveryByte(t *testing.T) {
	stream := []byte(strings.Join(replyFrames, ""))
	want := append(slices.Clone(replyFrames), "more")
	for step := 1; step < 256; step++ {
		if got := readReplySteps(t, stream, []byte{byte(step)}); !slices.Equal(got, want) {
			t.Fatalf("%d bytes at a time: %q", step, got)
		}
	}
}

// J06: depth costs neither stack nor time.
func TestContract_SEC4_DeepReply(t *testing.T) {
	const depth = 100_000
	for _, level := range []string{"*1\r\n", "%1\r\n+k\r\n", "|1\r\n+k\r\n", "~1\r\n"} {
		b := []byte(strings.Repeat(level, depth) + ":1\r\n")
		if level[0] == '|' {
			b = append(b, strings.Repeat(":1\r\n", depth)...)
		}
		var s ReplyScanner
		if n := testing.AllocsPerRun(20, func() {
			if n, st := s.Scan(b); st != Complete || n != len(b) {
				t.Errorf("%q: status %d, %d of %d bytes", level, st, n, len(b))
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", level, n)
		}
	}
}

// J10: nulls and empties in a row take no byte too many or too few.
func TestNullRepliesInARow(t *testing.T) {
	frames := []string{"$-1\r\n", "*-1\r\n", "*0\r\n", "*2\r\n$-1\r\n*-1\r\n", "$0\r\n\r\n", "_\r\n", ":1\r\n"}
	if got := readReplies([]byte(strings.Join(frames, ""))); !slices.Equal(got, append(frames, "more")) {
		t.Errorf("%q", got)
	}
}

func TestReplyAnnouncedSizesTakeNoMemory(t *testing.T) {
	for _, in := range []string{"*1000000000\r\n", "$1000000000\r\n", "%1000000000\r\n+a\r\n"} {
		b := []byte(in)
		if n := testing.AllocsPerRun(10, func() {
			var s ReplyScanner
			if _, st := s.Scan(b); st != NeedMore {
				t.Errorf("%q: status %d", in, st)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", in, n)
		}
	}
}

func TestReplyNeedIsExactForAString(t *testing.T) {
	reply := "*2\r\n:1\r\n$10\r\n0123456789\r\n"
	var s ReplyScanner
	body := strings.Index(reply, "0123")
	for have := range len(reply) {
		if _, st := s.Scan([]byte(reply[:have])); st != NeedMore {
			t.Fatalf("%d bytes: status %d", have, st)
		}
		if need := s.Need(); have >= body && need != len(reply)-have || need > len(reply)-have {
			t.Errorf("%d of %d bytes: need %d", have, len(reply), need)
		}
	}
}

func TestReplyStreams(t *testing.T) {
	reply := []byte("*83\r\n$300\r\n" + strings.Repeat("v", 300) + "\r\n:1\r\n")
	for i := range 81 {
		reply = AppendSimple(reply, strings.Repeat("s", i))
	}
	for step := 1; step < 40; step++ {
		var s ReplyScanner
		start, end := 0, 0
		for {
			n, st := s.Scan(reply[start:end])
			if st == Complete {
				if start+n != len(reply) || s != (ReplyScanner{}) {
					t.Fatalf("step %d: ends at %d of %d, %+v", step, start+n, len(reply), s)
				}
				break
			}
			if st != NeedMore || end == len(reply) {
				t.Fatalf("step %d: status %d at %d", step, st, end)
			}
			need, settled := s.Need(), s.Settled()
			s.Discard(settled)
			if s.Need() != need {
				t.Fatalf("step %d: need %d before and %d after", step, need, s.Need())
			}
			start += settled
			end = min(end+step, len(reply))
		}
	}
}

func addReplySeeds(f *testing.F) {
	for i, frame := range slices.Concat(replyFrames, replyFaults) {
		if len(frame) < 1000 {
			f.Add([]byte(frame), []byte{byte(i)})
		}
	}
	f.Add([]byte(strings.Join(replyFrames, "")), []byte{1, 2, 3})
}

// Every reply is measured as the slow twin measures it, whole and in pieces. The scanner may find a fault
// before it sees the end of the line.
func FuzzReplyScanner(f *testing.F) {
	addReplySeeds(f)
	f.Fuzz(func(t *testing.T, stream []byte, sizes []byte) {
		for b := stream; ; {
			var s ReplyScanner
			n, st := s.Scan(b)
			wantN, want := twinReply(b)
			if st == Invalid && want == NeedMore {
				_, want = twinReply(append(slices.Clone(b), "\r\n"...))
			}
			if st != want || n != wantN {
				t.Fatalf("%q: status %d, %d bytes; the twin says %d, %d", b, st, n, want, wantN)
			}
			if st != Complete {
				break
			}
			b = b[n:]
		}
		if len(sizes) > 0 {
			whole, pieces := readReplies(stream), readReplySteps(t, stream, sizes)
			if !slices.Equal(whole, pieces) {
				t.Fatalf("%q read whole is %q, in pieces of %v %q", stream, whole, sizes, pieces)
			}
		}
	})
}

// appendTree writes a reply of any shape that the bytes of plan choose.
func appendTree(dst []byte, p Proto, plan *[]byte, depth int) []byte {
	next := func() int {
		if len(*plan) == 0 {
			return 0
		}
		c := (*plan)[0]
		*plan = (*plan)[1:]
		return int(c)
	}
	children := func(n int) []byte {
		for range n {
			dst = appendTree(dst, p, plan, depth+1)
		}
		return dst
	}
	kind, v := next()%16, next()
	if depth > 6 {
		kind %= 10
	}
	switch kind {
	case 0:
		return AppendSimple(dst, strings.Repeat("\rs", v))
	case 1:
		return AppendError(dst, fmt.Sprintf("ERR %d\r\n", v))
	case 2:
		return AppendInt(dst, int64(v-128)<<(v%56))
	case 3:
		return AppendBulkString(dst, strings.Repeat("\r\n", v))
	case 4:
		return AppendNull(dst, p)
	case 5:
		return AppendNullArray(dst, p)
	case 6:
		return AppendDouble(dst, p, float64(v)/7)
	case 7:
		return AppendBool(dst, p, v > 127)
	case 8:
		return AppendBigNumber(dst, p, strings.Repeat("9", v))
	case 9:
		return AppendVerbatim(dst, p, "txt", strings.Repeat("v", v))
	case 10, 11:
		dst = AppendArray(dst, v%5)
		return children(v % 5)
	case 12:
		dst = AppendMap(dst, p, v%4)
		return children(v % 4 * 2)
	case 13:
		dst = AppendSet(dst, p, v%5)
		return children(v % 5)
	case 14:
		dst = AppendPush(dst, p, v%5)
		return children(v % 5)
	default:
		dst = AppendBulkHeader(dst, v)
		return append(append(dst, strings.Repeat("b", v)...), "\r\n"...)
	}
}

// Whatever the writers write is one reply to the scanner, to its last byte.
func FuzzReplyRoundTrip(f *testing.F) {
	f.Add([]byte{10, 4, 3, 7, 12, 2, 2, 200, 6, 5, 8, 9, 7, 255, 14, 3}, true)
	f.Add([]byte{11, 2, 0, 3, 1, 9}, false)
	f.Fuzz(func(t *testing.T, plan []byte, resp3 bool) {
		p := RESP2
		if resp3 {
			p = RESP3
		}
		reply := appendTree(nil, p, &plan, 0)
		want := []string{string(reply), string(reply), "more"}
		if got := readReplies(append(reply, reply...)); !slices.Equal(got, want) {
			t.Fatalf("%q twice reads as %q", reply, got)
		}
	})
}

package pipe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/resp"
	"mithril/src/ring"
)

// largeFrom is from how many bytes on replies are large here.
const largeFrom = 20

func newLargeRig(t testing.TB, key Key) *rig {
	r := newRig(t, key)
	r.p.Init(key, largeFrom)
	return r
}

// taken is what came of one reply.
type taken struct {
	text  string // with the number of its owner
	large bool
	parts int // 0 when it came whole
}

// taker takes replies off a pipe and decides what becomes of large ones.
type taker struct {
	*rig
	whole func(owner ring.Token) bool
	taken []taken
	now   taken // the reply that comes in parts
}

// take takes all that is in and tells how it ended.
func (x *taker) take() (Progress, string) {
	for {
		reply, got, reason := x.next()
		text := ""
		if got == Got || got == Part || got == LastPart {
			text = string(x.a.Bytes(reply.Bytes))
		}
		switch got {
		case Large:
			x.large(reply)
			continue
		case Part, LastPart:
			if x.now.parts == 0 {
				x.now.text = fmt.Sprintf("%d:", reply.Owner)
			}
			x.now.text += text
			x.now.parts++
			if !x.p.Parting() && got == Part || x.p.Parting() && got == LastPart || text == "" {
				x.Fatalf("progress %d with %q, parting %v", got, text, x.p.Parting())
			}
			if got == Part {
				continue
			}
		case Got:
			if x.now.parts > 0 {
				x.Fatalf("%q came whole, after %d parts", text, x.now.parts)
			}
			x.now.text = fmt.Sprintf("%d:%s", reply.Owner, text)
		default:
			return got, reason
		}
		x.a.Release(reply.Frame.Block)
		x.taken, x.now = append(x.taken, x.now), taken{}
	}
}

// large decides about a reply; until it is decided, the pipe says the same again.
func (x *taker) large(reply Reply) {
	if again, got, _ := x.next(); got != Large || again.Owner != reply.Owner || x.p.Asked().Owner != reply.Owner {
		x.Fatalf("a large reply for %d is for %d the next time, progress %d", reply.Owner, again.Owner, got)
	}
	if x.now.large {
		x.Fatalf("the reply for %d is large twice", reply.Owner)
	}
	x.now.large = true
	if x.whole(reply.Owner) {
		x.p.TakeWhole()
	} else {
		x.p.TakeParts()
	}
}

// largeReplies have, where they may be cut, bytes that begin a reply of another kind.
var largeReplies = []string{
	"$30\r\n" + strings.Repeat(">", 30) + "\r\n",
	"$30\r\n" + strings.Repeat("-", 30) + "\r\n",
	"$30\r\n" + strings.Repeat("+OK\r\n", 6) + "\r\n",
	"$30\r\n" + strings.Repeat("\r\n", 15) + "\r\n",
	"=34\r\ntxt:" + strings.Repeat("$1\r\na\r\n-", 3) + "123456\r\n",
	"*4\r\n$12\r\n>>>>>>>>>>>>\r\n-ERR x\r\n:1\r\n$1\r\n-\r\n",
	"%2\r\n+a\r\n*2\r\n:1\r\n:2\r\n+b\r\n$20\r\n--------------------\r\n",
	"|1\r\n+ttl\r\n:1\r\n$25\r\n>>>>>-----$$$$$*****+++++\r\n",
	"*-1\r\n", ":1\r\n", "$18\r\n-----------------\r\r\n",
}

// TestContract_PROTO7_LargeRepliesInPartsAreTheSame: whatever is large, wherever it is cut,
// whether or not it is collected, and with pushes between, each request gets its reply.
func TestContract_PROTO7_LargeRepliesInPartsAreTheSame(t *testing.T) {
	const push = ">2\r\n$30\r\ninvalidate--------------------\r\n_\r\n"
	r := rand.New(rand.NewPCG(1, 1))
	for round := range 600 {
		x := &taker{rig: newLargeRig(t, Key{Proto: resp.RESP3}).ready(), whole: func(o ring.Token) bool { return round%3 == 0 && o%2 == 0 }}
		var stream string
		var want []string
		for i := range 1 + r.IntN(5) {
			reply := largeReplies[r.IntN(len(largeReplies))]
			stream += reply
			if r.IntN(3) == 0 {
				stream += push
			}
			want = append(want, fmt.Sprintf("%d:%s", i, reply))
			x.push(i, false, "GET", "k")
		}
		x.sent()
		for most := 1 + r.IntN(40); stream != ""; {
			n := min(1+r.IntN(most), len(stream))
			x.node(stream[:n])
			stream = stream[n:]
			if got, reason := x.take(); got != Waiting {
				t.Fatalf("progress %d, %s", got, reason)
			}
		}
		if x.now != (taken{}) {
			t.Fatalf("left over: %+v", x.now)
		}
		for i, got := range x.taken {
			switch size := len(want[i]) - 2; {
			case got.text != want[i]:
				t.Fatalf("%d: %q, want %q", i, got.text, want[i])
			case got.large && size <= largeFrom, got.parts > 0 != (got.large && !x.whole(ring.Token(i))):
				t.Fatalf("%q of %d bytes: large %v, %d parts", got.text, size, got.large, got.parts)
			}
		}
		if x.close(); len(x.taken) != len(want) {
			t.Fatalf("%d replies of %d", len(x.taken), len(want))
		}
	}
}

// TestLargeIsMoreThanItsSize: the announced size decides as soon as it is known.
func TestLargeIsMoreThanItsSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Progress
	}{
		{"$13\r\n", Waiting},                     // 20 bytes
		{"$14\r\n", Large},                       // 21
		{"*1\r\n$9\r\n", Waiting},                // 19
		{"*1\r\n$11\r\n", Large},                 // 22
		{"*20\r\n:1\r\n:1\r\n:1\r\n:", Waiting},  // 18 received
		{"*20\r\n:1\r\n:1\r\n:1\r\n:1\r", Large}, // 20 received, and one more to come
		{"*20\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", Large},
		{"$14\r\n12345678901234\r\n", Got}, // all there: nothing to decide
		{"-ERR " + strings.Repeat("x", 40), Waiting},
		{">1\r\n$40\r\n", Waiting},
		{"+" + strings.Repeat("x", 40), Large},
	} {
		r := newLargeRig(t, Key{Proto: resp.RESP3}).ready()
		r.push(1, false, "GET", "k")
		r.sent()
		r.node(c.in)
		reply, got, reason := r.next()
		if got != c.want || got == Large && reply.Owner != 1 {
			t.Errorf("%q: progress %d for %d (%s), want %d", c.in, got, reply.Owner, reason, c.want)
		}
		if got == Got {
			r.a.Release(reply.Frame.Block)
		}
		r.close()
	}
}

// TestRepliesForNobodyAreNotLarge: those to the greeting and to ASKING are for the pipe
// itself, one that nobody asked for breaks it.
func TestRepliesForNobodyAreNotLarge(t *testing.T) {
	r := newLargeRig(t, Key{Proto: resp.RESP3})
	r.push(1, true, "GET", "k")
	r.connect(Credentials{})
	r.sent()
	step := func(text string, want Progress) {
		t.Helper()
		r.node(text)
		if _, got, reason := r.next(); got != want {
			t.Fatalf("%q: progress %d (%s), want %d", text, got, reason, want)
		}
	}
	step("%1\r\n$6\r\nserver\r\n$30\r\nredis-redis-redis", Waiting)
	step("-redis-redis-\r\n", Greeted)
	r.sent()
	step("$30\r\nthe reply to ASKING is ", Waiting)
	step("strange\r\n", Waiting)
	step("$30\r\nthe reply to GET", Large)
	x := &taker{rig: r, whole: func(ring.Token) bool { return false }}
	r.node(" is long -----\r\n")
	if got, _ := x.take(); got != Waiting || len(x.taken) != 1 || !x.taken[0].large {
		t.Fatalf("progress %d, %+v", got, x.taken)
	}
	r.push(2, false, "GET", "k")
	step("$30\r\nnobody", Waiting)
	step(" has asked for this one.\r\n", Broken)
	r.p.Close(r.a)
}

// TestALargeReplyIsDecidedOnOnce: anything else is a mistake of the caller.
func TestALargeReplyIsDecidedOnOnce(t *testing.T) {
	for _, twice := range []func(*Pipe){(*Pipe).TakeWhole, (*Pipe).TakeParts} {
		r := newLargeRig(t, Key{}).ready()
		r.push(1, false, "GET", "k")
		r.sent()
		r.node("$30\r\n")
		r.next()
		r.p.TakeParts()
		if !panics(func() { twice(&r.p) }) {
			t.Error("a large reply is decided on twice")
		}
		r.close()
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestBrokenInsideALargeReply: the request is still there, and may have been executed.
func TestBrokenInsideALargeReply(t *testing.T) {
	for _, c := range []struct{ first, then string }{
		{"$30\r\n123456789", strings.Repeat("x", 21) + "XX"},
		{"*2\r\n$30\r\n", strings.Repeat("x", 30) + "\r\nwhat?\r\n"},
	} {
		r := newLargeRig(t, Key{}).ready()
		r.push(1, false, "GET", "k")
		r.push(2, false, "GET", "k")
		r.sent()
		x := &taker{rig: r, whole: func(ring.Token) bool { return false }}
		r.node(c.first)
		if got, _ := x.take(); got != Waiting || !x.now.large {
			t.Fatalf("progress %d, %+v", got, x.now)
		}
		r.node(c.then)
		if got, reason := x.take(); got != Broken || reason != "the node's reply is not RESP" {
			t.Fatalf("progress %d, %q", got, reason)
		}
		if !r.p.Parting() {
			t.Error("what was given of the reply is forgotten")
		}
		if lost := r.close(); fmt.Sprint(lost) != "[1:true 2:true]" {
			t.Errorf("lost %v", lost)
		}
	}
}

// TestASettledPipeGoesOn: a pipe that is not read now keeps no receive chunk, and goes on
// where it was.
func TestASettledPipeGoesOn(t *testing.T) {
	r := newLargeRig(t, Key{}).ready()
	r.push(1, false, "GET", "k")
	r.sent()
	x := &taker{rig: r, whole: func(ring.Token) bool { return false }}
	reply := "$300\r\n" + strings.Repeat("0123456789", 30) + "\r\n"
	for rest := reply; rest != ""; rest = rest[min(50, len(rest)):] {
		chunk, ok := r.a.TakeReturned()
		if !ok {
			t.Fatal("a receive chunk has not come back")
		}
		n := copy(r.a.Bytes(r.a.Whole(chunk)), rest[:min(50, len(rest))])
		r.p.Put(r.a.Received(chunk, n))
		if len(rest) == len(reply) || len(rest) < 100 {
			if got, _ := x.take(); got != Waiting {
				t.Fatalf("progress %d", got)
			}
		}
		if !r.p.Settle(r.a) {
			t.Fatal("no memory")
		}
	}
	if got, _ := x.take(); got != Waiting || len(x.taken) != 1 || x.taken[0].text != "1:"+reply {
		t.Fatalf("progress %d, %+v", got, x.taken)
	}
	r.close()
}

// begin begins a request for owner i; extend goes on with it.
func (r *rig) begin(i int, text string) {
	frame, ok := r.a.Copy([]byte(text))
	if !ok || !r.p.Begin(r.a, int64(i), Request{Owner: ring.Token(i), Seq: uint32(i), Frame: frame}, Prefix{}) {
		r.Fatal("begin failed")
	}
}

func (r *rig) extend(now int64, text string, last bool) bool {
	part, ok := r.a.Copy([]byte(text))
	if !ok {
		r.Fatal("no memory")
	}
	defer r.a.Release(part.Block)
	return r.p.Extend(r.a, now, part, last)
}

// TestContract_PROTO7_ARequestInPartsIsOne: whenever it is sent, the node gets it as it was.
func TestContract_PROTO7_ARequestInPartsIsOne(t *testing.T) {
	value := strings.Repeat("0123456789", 3*buf.CopyBytesMax/10)
	want := string(resp.AppendCommand(nil, "SET", "k", value))
	for _, size := range []int{1000, buf.CopyBytesMax, 2 * buf.CopyBytesMax, len(want) - 10} {
		for sends := range 3 {
			r := newRig(t, Key{}).ready()
			r.push(1, false, "PING")
			got := strings.TrimPrefix(r.sent(), "*1\r\n$4\r\nPING\r\n")
			r.begin(2, want[:10])
			for at := 10; at < len(want); at += size {
				if !r.p.Begun() {
					t.Fatal("whole before its last part")
				}
				end := min(at+size, len(want))
				if !r.extend(int64(at), want[at:end], end == len(want)) {
					t.Fatal("no memory")
				}
				if sends > 0 && at/size%sends == 0 {
					got += r.sent()
				}
			}
			if got += r.sent(); got != want || r.p.Begun() {
				t.Fatalf("%d bytes of %d are sent in parts of %d, begun %v", len(got), len(want), size, r.p.Begun())
			}
			r.push(3, false, "PING")
			r.sent()
			r.node("+1\r\n+2\r\n+3\r\n")
			r.expect("1:+1\r\n", "2:+2\r\n", "3:+3\r\n")
			r.close()
		}
	}
}

// TestContract_REDIR5_NoNodeExecutesABegunRequest: lost before its end was given to the
// pipe, it has not been executed, however much of it was sent; those before it may have.
func TestContract_REDIR5_NoNodeExecutesABegunRequest(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *rig)
		want string
	}{
		{"begun", func(r *rig) {}, "[1:true 2:false]"},
		{"begun and sent", func(r *rig) { r.sent() }, "[1:true 2:false]"},
		{"extended and sent", func(r *rig) { r.extend(3, "a", false); r.sent() }, "[1:true 2:false]"},
		{"whole", func(r *rig) { r.extend(3, "a\r\n", true) }, "[1:true 2:false]"},
		{"whole and sent", func(r *rig) { r.extend(3, "a\r\n", true); r.sent() }, "[1:true 2:true]"},
		{"alone", func(r *rig) { r.sent(); r.node("+1\r\n"); r.expect("1:+1\r\n") }, "[2:false]"},
	} {
		r := newRig(t, Key{}).ready()
		r.push(1, false, "GET", "k")
		r.sent()
		r.begin(2, "*2\r\n$3\r\nGET\r\n$1\r\n")
		c.do(r)
		if lost := r.close(); fmt.Sprint(lost) != c.want {
			t.Errorf("%s: lost %v, want %v", c.name, lost, c.want)
		}
	}
}

// TestContract_REDIR5_AnEndWithoutMemoryIsNoEnd: it has not reached the node.
func TestContract_REDIR5_AnEndWithoutMemoryIsNoEnd(t *testing.T) {
	r := newRig(t, Key{}).ready()
	r.begin(1, "*2\r\n$3\r\nGET\r\n$2000\r\n")
	r.sent()
	end := strings.Repeat("k", 2000) + "\r\n"
	part, _ := r.a.Copy([]byte(end))
	blocks := []buf.Block{part.Block}
	for _, size := range []int{256 << 10, 1 << 10, 64} {
		for {
			b, ok := r.a.Alloc(size)
			if !ok {
				break
			}
			blocks = append(blocks, b)
		}
	}
	if r.p.Extend(r.a, 2, part, true) {
		t.Fatal("there is memory left")
	}
	for _, b := range blocks {
		r.a.Release(b)
	}
	if lost := r.close(); fmt.Sprint(lost) != "[1:false]" {
		t.Errorf("lost %v", lost)
	}
}

// TestAnsweredBeforeItIsWhole: the reply is the request's; the pipe remembers that its rest
// is missing and takes no other request.
func TestAnsweredBeforeItIsWhole(t *testing.T) {
	r := newRig(t, Key{}).ready()
	r.begin(1, "*2\r\n$3\r\nGET\r\n")
	r.sent()
	if at, ok := r.p.Oldest(); !ok || at != 1 {
		t.Errorf("asked at %d, %v", at, ok)
	}
	r.extend(7, "$1", false)
	if at, _ := r.p.Oldest(); at != 7 {
		t.Errorf("asked at %d, want the time of its last part", at)
	}
	r.node("-ERR no\r\n")
	r.expect("1:-ERR no\r\n")
	if !r.p.Begun() || r.p.Len() != 0 {
		t.Errorf("begun %v, %d requests", r.p.Begun(), r.p.Len())
	}
	frame, _ := r.a.Copy([]byte("*1\r\n$4\r\nPING\r\n"))
	if !panics(func() { r.p.Push(r.a, 8, &Request{Frame: frame}, Prefix{}) }) {
		t.Error("another request is taken")
	}
	r.p.Close(r.a)
	if !panics(func() { r.extend(9, "x", true) }) {
		t.Error("a closed pipe takes a part")
	}
}

// TestPartsNeedABeginning: without one they are a mistake of the caller.
func TestPartsNeedABeginning(t *testing.T) {
	r := newRig(t, Key{}).ready()
	if !panics(func() { r.extend(1, "x", true) }) {
		t.Error("a part of nothing is taken")
	}
	r.push(1, false, "PING")
	if !panics(func() { r.extend(1, "x", true) }) {
		t.Error("a whole request is extended")
	}
	r.close()
}

// TestDisownedRequestsAreNobodys: the newest only, whatever becomes of it.
func TestDisownedRequestsAreNobodys(t *testing.T) {
	r := newRig(t, Key{}).ready()
	r.push(1, false, "GET", "k")
	r.begin(2, "*2\r\n$3\r\nGET\r\n")
	r.p.Disown()
	r.sent()
	r.node("+1\r\n")
	r.expect("1:+1\r\n")
	if lost := r.close(); !slices.Equal(lost, []string{"0:false"}) {
		t.Errorf("lost %v", lost)
	}
	if !panics(func() { r.p.Disown() }) {
		t.Error("there was nothing to disown")
	}
}

// TestOthersBehind: those who wait behind the next reply and are not the one who gets it.
func TestOthersBehind(t *testing.T) {
	for _, c := range []struct {
		owners []int
		want   bool
	}{
		{[]int{1}, false},
		{[]int{1, 1, 1}, false},
		{[]int{1, 0, 1}, false}, // nobody waits for the second
		{[]int{1, 2}, true},
		{[]int{1, 1, 0, 2}, true},
		{[]int{0, 1}, true},
	} {
		r := newLargeRig(t, Key{}).ready()
		for _, owner := range c.owners {
			r.push(owner, false, "GET", "k")
		}
		if got := r.p.OthersBehind(); got != c.want {
			t.Errorf("requests of %v: others wait behind the first: %v", c.owners, got)
		}
		r.sent()
		r.node("$30\r\n0123456789")
		if _, got, _ := r.next(); got != Large || r.p.Coming() != 37 {
			t.Errorf("progress %d, %d bytes are coming", got, r.p.Coming())
		}
		r.close()
	}
}

package pipe

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/resp"
	"mithril/src/ring"
)

// rig is a pipe with a node at its other end that only the test moves.
type rig struct {
	testing.TB
	a *buf.Arena
	p Pipe
}

func newRig(t testing.TB, key Key) *rig {
	a, err := buf.NewArena(buf.HeapMemory(make([]byte, 4<<20)), 4)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, a: a}
	r.p.Init(key, 1<<20)
	return r
}

// next is Next for tests.
func (r *rig) next() (reply Reply, got Progress, reason string) {
	got, reason = r.p.Next(r.a, &reply)
	return reply, got, reason
}

// ready brings the pipe to Ready.
func (r *rig) ready() *rig {
	r.connect(Credentials{})
	r.sent()
	r.node("%0\r\n")
	if _, got, reason := r.next(); got != Greeted {
		r.Fatalf("greeting: %d %s", got, reason)
	}
	return r
}

func (r *rig) connect(c Credentials) {
	if !r.p.Connected(r.a, c) {
		r.Fatal("no memory for the greeting")
	}
}

// push queues a request made of words for owner i.
func (r *rig) push(i int, ask bool, words ...string) {
	var before Prefix
	if ask {
		before = AskingPrefix
	}
	r.pushBehind(i, before, words...)
}

// pushBehind is push with something that goes before.
func (r *rig) pushBehind(i int, before Prefix, words ...string) {
	frame, ok := r.a.Copy(resp.AppendCommand(nil, words...))
	if !ok || !r.p.Push(r.a, int64(i), &Request{Owner: ring.Token(i), Seq: uint32(i), Frame: frame}, before) {
		r.Fatal("push failed")
	}
}

// sent hands what may be sent to the node, and returns it.
func (r *rig) sent() string {
	if !r.p.MaySend() {
		return ""
	}
	var b strings.Builder
	g := r.p.Sendable()
	for _, s := range g.Slices() {
		b.Write(r.a.Bytes(s))
	}
	r.p.Flushed()
	g.Drop(r.a)
	return b.String()
}

// node makes the node say something.
func (r *rig) node(text string) {
	s, ok := r.a.Copy([]byte(text))
	if !ok {
		r.Fatal("no memory")
	}
	r.p.Put(s)
}

// replies takes all replies that are in: owner and text of each.
func (r *rig) replies() (got []string, last Progress, reason string) {
	for {
		reply, progress, why := r.next()
		if progress != Got {
			return got, progress, why
		}
		got = append(got, fmt.Sprintf("%d:%s", reply.Owner, r.a.Bytes(reply.Bytes)))
		r.a.Release(reply.Frame.Block)
	}
}

func (r *rig) expect(want ...string) {
	r.Helper()
	if got, last, reason := r.replies(); fmt.Sprint(got) != fmt.Sprint(want) || last != Waiting {
		r.Fatalf("replies %q then %d (%s), want %q", got, last, reason, want)
	}
}

// close ends the pipe and checks that it held nothing more.
func (r *rig) close() (lost []string) {
	r.p.Close(r.a)
	for {
		q, sent, ok := r.p.Pop()
		if !ok {
			break
		}
		lost = append(lost, fmt.Sprintf("%d:%v", q.Owner, sent))
		r.a.Release(q.Frame.Block)
	}
	if r.a.Live() != 0 {
		r.Errorf("%d blocks still referenced", r.a.Live())
	}
	return lost
}

func TestGreetingMatchesTheKey(t *testing.T) {
	for _, c := range []struct {
		key  Key
		cred Credentials
		want string
		n    uint8
	}{
		{Key{Proto: resp.RESP2}, Credentials{}, "HELLO 2 SETNAME mithril", 1},
		{Key{Proto: resp.RESP3}, Credentials{Pass: "pw"}, "HELLO 3 AUTH default pw SETNAME mithril", 1},
		{Key{Proto: resp.RESP2, DB: 12}, Credentials{User: "u", Pass: "pw"}, "HELLO 2 AUTH u pw SETNAME mithril|SELECT 12", 2},
		{Key{Proto: resp.RESP2, ReadOnly: true}, Credentials{}, "HELLO 2 SETNAME mithril|READONLY", 2},
	} {
		var want []byte
		for _, command := range strings.Split(c.want, "|") {
			want = resp.AppendCommand(want, strings.Fields(command)...)
		}
		got, n := c.key.AppendGreeting(nil, c.cred)
		if string(got) != string(want) || n != c.n {
			t.Errorf("%+v: %q (%d commands), want %q (%d)", c.key, got, n, want, c.n)
		}
	}
}

func TestRequestsWaitForTheGreeting(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2, ReadOnly: true})
	r.push(1, false, "GET", "a")
	if r.sent() != "" {
		t.Fatal("sent before the connection stood")
	}
	r.connect(Credentials{})
	if got := r.sent(); !strings.Contains(got, "HELLO") || strings.Contains(got, "GET") {
		t.Fatalf("first bytes %q, want the greeting alone", got)
	}
	r.node("*0\r\n")
	if _, got, _ := r.next(); got != Waiting || r.p.State() != Greeting {
		t.Fatal("greeted by half of the greeting's replies")
	}
	r.node("+OK\r\n")
	if _, got, _ := r.next(); got != Greeted || r.p.State() != Ready {
		t.Fatal("not greeted by all replies to the greeting")
	}
	if got := r.sent(); got != string(resp.AppendCommand(nil, "GET", "a")) {
		t.Fatalf("sent %q", got)
	}
	r.node("$-1\r\n")
	r.expect("1:$-1\r\n")
	r.close()
}

func TestRefusedGreetingBreaksThePipe(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2})
	r.push(7, false, "GET", "a")
	r.connect(Credentials{Pass: "wrong"})
	r.sent()
	r.node("-WRONGPASS invalid username-password pair or user is disabled.\r\n")
	_, got, reason := r.next()
	if got != Broken || reason != "WRONGPASS invalid username-password pair or user is disabled." {
		t.Fatalf("%d %q", got, reason)
	}
	if lost := r.close(); fmt.Sprint(lost) != "[7:false]" {
		t.Fatalf("lost %v, want the request back as never sent", lost)
	}
}

func TestRepliesPairInOrderHoweverTheyAreSplit(t *testing.T) {
	stream := "+OK\r\n$5\r\na\r\nbc\r\n*2\r\n$-1\r\n*-1\r\n:7\r\n-ERR no\r\n"
	want := []string{"1:+OK\r\n", "2:$5\r\na\r\nbc\r\n", "3:*2\r\n$-1\r\n*-1\r\n", "4::7\r\n", "5:-ERR no\r\n"}
	for step := 1; step <= len(stream); step++ {
		r := newRig(t, Key{Proto: resp.RESP2}).ready()
		for i := 1; i <= 5; i++ {
			r.push(i, false, "GET", fmt.Sprint(i))
		}
		r.sent()
		var got []string
		for at := 0; at < len(stream); at += step {
			r.node(stream[at:min(at+step, len(stream))])
			some, last, reason := r.replies()
			if last != Waiting {
				t.Fatalf("step %d: %s", step, reason)
			}
			got = append(got, some...)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("step %d: %q, want %q", step, got, want)
		}
		r.close()
	}
}

func TestContract_REDIR1_AskingIsAGroup(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2}).ready()
	r.push(1, false, "GET", "a")
	r.push(2, true, "GET", "b")
	r.push(3, false, "GET", "c")
	want := string(resp.AppendCommand(nil, "GET", "a")) + string(resp.AppendCommand(nil, "ASKING")) +
		string(resp.AppendCommand(nil, "GET", "b")) + string(resp.AppendCommand(nil, "GET", "c"))
	if got := r.sent(); got != want {
		t.Fatalf("sent %q, want %q", got, want)
	}
	r.node("+1\r\n+OK\r\n+2\r\n+3\r\n")
	r.expect("1:+1\r\n", "2:+2\r\n", "3:+3\r\n")
	r.close()
}

func TestFramesStayAsTheyWereSent(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2}).ready()
	long := strings.Repeat("x", 3*buf.CopyBytesMax)
	r.push(1, true, "SET", "a", "b")
	r.push(2, true, "SET", "a", long)
	r.sent()
	r.node("+OK\r\n-MOVED 1 a:1\r\n+OK\r\n-MOVED 1 a:1\r\n")
	for _, want := range [][]byte{resp.AppendCommand(nil, "SET", "a", "b"), resp.AppendCommand(nil, "SET", "a", long)} {
		reply, got, _ := r.next()
		if got != Got || string(r.a.Bytes(reply.Frame)) != string(want) {
			t.Fatalf("frame %q, want %q", r.a.Bytes(reply.Frame), want)
		}
		r.a.Release(reply.Frame.Block)
	}
	r.expect()
	r.close()
}

func TestPushesAnswerNothing(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP3}).ready()
	r.push(1, false, "GET", "a")
	r.sent()
	r.node(">2\r\n+invalidate\r\n_\r\n+x\r\n>1\r\n+y\r\n")
	r.expect("1:+x\r\n")
	r.close()
}

func TestRepliesNobodyAskedForBreakThePipe(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2}).ready()
	r.node("-ERR max number of clients reached\r\n")
	if _, got, _ := r.next(); got != Broken {
		t.Fatal("a reply to nothing was taken")
	}
	r.close()

	r = newRig(t, Key{Proto: resp.RESP2}).ready()
	r.push(1, false, "GET", "a")
	r.node("$1\r\nx\r\n")
	if _, got, _ := r.next(); got != Broken {
		t.Fatal("a reply to a request that was never sent was taken")
	}
	r.close()

	r = newRig(t, Key{Proto: resp.RESP2}).ready()
	r.push(1, false, "GET", "a")
	r.sent()
	r.node("what?\r\n")
	if _, got, _ := r.next(); got != Broken {
		t.Fatal("bytes that are not RESP were taken")
	}
	r.close()
}

func TestContract_REDIR5_LostRequestsTellWhetherTheyWereSent(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2}).ready()
	r.push(1, false, "INCR", "a")
	r.push(2, false, "INCR", "a")
	r.sent()
	r.push(3, false, "INCR", "a")
	r.node(":1\r\n:")
	r.expect("1::1\r\n")
	if lost := r.close(); fmt.Sprint(lost) != "[2:true 3:false]" {
		t.Fatalf("lost %v", lost)
	}
}

func TestFullUntilHalfEmpty(t *testing.T) {
	r := newRig(t, Key{Proto: resp.RESP2}).ready()
	for i := range PendingMax {
		if r.p.Full() {
			t.Fatalf("full with %d requests", i)
		}
		r.push(i, false, "GET", "a")
	}
	r.sent()
	for i := range PendingMax {
		if full := r.p.Len() >= PendingMax; r.p.Full() != full {
			t.Fatalf("Full is %v with %d requests", !full, r.p.Len())
		}
		if half := r.p.Len() <= PendingMax/2; r.p.HalfEmpty() != half {
			t.Fatalf("HalfEmpty is %v with %d requests", !half, r.p.Len())
		}
		r.node("+x\r\n")
		r.expect(fmt.Sprintf("%d:+x\r\n", i))
	}
	r.close()
}

func TestStateTableHasNoWayBack(t *testing.T) {
	for from := Connecting; from < states; from++ {
		for to := Connecting; to < states; to++ {
			joins := from == Connecting && to == Ready
			if want := to > from && (to == Closed || to == from+1 || joins); from.CanBecome(to) != want {
				t.Errorf("%s to %s: allowed %v, want %v", from, to, !want, want)
			}
		}
	}
}

// TestWhatWasNotReadIsNotOwed: while nobody reads it is not the node that is waited for.
func TestWhatWasNotReadIsNotOwed(t *testing.T) {
	r := newRig(t, Key{}).ready()
	if _, ok := r.p.Oldest(); ok {
		t.Fatal("something is owed")
	}
	r.push(3, false, "GET", "a") // at 3
	r.push(9, false, "GET", "b")
	r.sent()
	for _, c := range []struct {
		readOn, want int64
		reply        string
	}{{0, 3, ""}, {5, 5, "+a\r\n"}, {5, 9, ""}, {12, 12, ""}} {
		r.p.ReadOn(c.readOn)
		if at, ok := r.p.Oldest(); !ok || at != c.want {
			t.Errorf("read on at %d: owed since %d, want %d", c.readOn, at, c.want)
		}
		if c.reply != "" {
			r.node(c.reply)
			r.replies()
		}
	}
	r.close()
}

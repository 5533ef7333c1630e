package session

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
	"mithril/src/slot"
)

// streamFrom is from how many bytes on requests are passed on here.
const streamFrom = 100

// upload is a session whose client and worker the test plays. The worker takes everything
// at once; what the node gets of each request stands in got.
type upload struct {
	testing.TB
	*Session
	env  *Env
	got  []string
	told strings.Builder // what the client gets
	end  bool            // of the last of got
}

func newUpload(t *testing.T, password string) *upload {
	u := &upload{TB: t, env: testEnv(t, command.Version{Engine: "redis", Major: 7, Minor: 0}, password), end: true}
	u.env.StreamFrom = streamFrom
	u.Session = newTestSession(u.env)
	return u
}

// receive gives the session bytes and serves what it offers.
func (u *upload) receive(text string) {
	s, ok := u.env.Arena.Copy([]byte(text))
	if !ok {
		u.Fatal("no memory")
	}
	u.Put(u.env, s)
	u.serve()
}

func (u *upload) serve() {
	for {
		in := u.Next(u.env)
		if in.Kind == Nothing {
			u.read()
			return
		}
		u.take(in)
	}
}

// take does what a worker does with what is on offer.
func (u *upload) take(in Intent) {
	text := string(u.env.Arena.Bytes(in.Frame))
	if u.end == (in.Kind == Part) {
		u.Fatalf("offered kind %d with %q behind %q", in.Kind, text, u.got)
	}
	switch in.Kind {
	case Part:
		u.got[len(u.got)-1] += text
		u.end = in.Last
		u.Took(u.env)
		return
	case Begin:
		text = fmt.Sprintf("begin %s %d: %s", in.Command.Name, in.Slot, text)
	case BeginAny:
		text = fmt.Sprintf("begin %s anywhere: %s", in.Command.Name, text)
	default:
		text = fmt.Sprintf("whole %s: %s", in.Command.Name, text)
	}
	u.end = in.Kind != Begin && in.Kind != BeginAny
	u.got = append(u.got, text)
	u.Accept(u.env, in.Command)
}

// read lets the client read what there is.
func (u *upload) read() {
	out := u.Out().Bytes()
	for _, s := range u.Out().Slices() {
		u.told.Write(u.env.Arena.Bytes(s))
	}
	u.Out().Sent(u.env.Arena, out)
	u.Sent(u.env, out)
}

// reply answers a request.
func (u *upload) reply(seq uint32, text string) {
	s, _ := u.env.Arena.Copy([]byte(text))
	u.Answer(u.env, seq, s)
	u.env.Arena.Release(s.Block)
	u.serve()
}

// expect compares what has happened: what the nodes got, and what the client.
func (u *upload) expect(told string, got ...string) {
	u.Helper()
	if u.told.String() != told || fmt.Sprintf("%q", u.got) != fmt.Sprintf("%q", got) {
		u.Errorf("the client gets %q, want %q\nthe nodes get\n%q, want\n%q", u.told.String(), told, u.got, got)
	}
}

// free checks that nothing is left.
func (u *upload) free() {
	u.Helper()
	u.Free(u.env)
	if n := u.env.Arena.Live(); n > 0 {
		u.Errorf("%d blocks are left", n)
	}
}

func begun(name, key, frame string) string {
	return fmt.Sprintf("begin %s %d: %s", name, slot.Of([]byte(key)), frame)
}

var (
	longValue = strings.Repeat("v\r\n$*", 60)
	setFrame  = string(resp.AppendCommand(nil, "SET", "k", longValue))
	getFrame  = string(resp.AppendCommand(nil, "GET", "k"))
)

// TestContract_PROTO7_WhatIsPassedOn: large requests of every shape, cut anywhere, reach the
// node as they are, as they arrive if their beginning tells where they go. The request behind
// is the next one.
func TestContract_PROTO7_WhatIsPassedOn(t *testing.T) {
	const passed, collected, anywhere = "k", "", "*"
	many := []string{"RPUSH", "k"}
	for i := range 80 {
		many = append(many, strings.Repeat("v", i%3))
	}
	for _, c := range []struct {
		name string
		to   string // how it is offered: passed, collected or anywhere
		args []string
	}{
		{"set", passed, []string{"SET", "k", longValue}},
		{"set", passed, []string{"set", "k", longValue, "EX", "100"}},
		{"set", collected, []string{"SET", longValue, "v"}}, // the key is what is long
		{"setrange", passed, []string{"SETRANGE", "k", "0", longValue}},
		{"hset", passed, []string{"HSET", "k", longValue, longValue, "f", ""}},
		{"rpush", passed, many},
		{"xgroup|create", passed, []string{"XGROUP", "CREATE", "k", longValue, "$"}},
		{"lolwut", anywhere, []string{"LOLWUT", "VERSION", longValue}},
		{"eval", collected, []string{"EVAL", longValue, "1", "k"}},
		{"mset", collected, []string{"MSET", "k", longValue, "a", "b"}},
		{"del", collected, []string{"DEL", "k", longValue}},
	} {
		frame := string(resp.AppendCommand(nil, c.args...))
		var want string
		switch c.to {
		case passed:
			want = begun(c.name, "k", frame)
		case anywhere:
			want = "begin " + c.name + " anywhere: " + frame
		case collected:
			want = "whole " + c.name + ": " + frame
		}
		stream := frame + getFrame
		for step := 1; step <= len(frame)+1; step = step*5/4 + 1 {
			u := newUpload(t, "")
			for at := 0; at < len(stream); at += step {
				u.receive(stream[at:min(at+step, len(stream))])
			}
			if step > len(frame) {
				want = "whole " + c.name + ": " + frame // it was there at once
			}
			if step >= len(frame)*3/4 && u.got[0] != want {
				want = "whole " + c.name + ": " + frame // too little came first
			}
			if u.expect("", want, "whole get: "+getFrame); u.env.Counters.Commands != 2 {
				t.Errorf("%d commands are counted", u.env.Counters.Commands)
			}
			if u.free(); t.Failed() {
				t.Fatalf("%q in steps of %d", c.args, step)
			}
		}
	}
}

// TestContract_PROTO7_WhatTheProxyAnswersItself is collected and answered as a short one is.
func TestContract_PROTO7_WhatTheProxyAnswersItself(t *testing.T) {
	for _, c := range []struct {
		before, password string
		args             []string
		want             string
	}{
		{"", "", []string{"NOSUCH", longValue}, "-ERR unknown command 'NOSUCH', with args beginning with: '" + strings.Repeat("v  $*", 25) + "v  ' \r\n"},
		{"", "", []string{"GET", "k", longValue}, "-ERR wrong number of arguments for 'get' command\r\n"},
		{"", "", []string{"XGROUP", "NOSUCH", longValue}, "-ERR unknown subcommand 'NOSUCH'. Try XGROUP HELP.\r\n"},
		{"", "", []string{"ECHO", longValue}, "$300\r\n" + longValue + "\r\n"},
		{"", "", []string{"PUBLISH", "c", longValue}, "-ERR 'publish' is not supported by this proxy\r\n"},
		{"", testPassword, []string{"SET", "k", longValue}, errNoAuth},
		{"MULTI\r\n", "", []string{"SET", "k", longValue}, "-ERR 'multi' is not supported by this proxy\r\n" + errInBlock},
	} {
		frame := string(resp.AppendCommand(nil, c.args...))
		for _, step := range []int{1, 7, 64, len(frame) - 1} {
			u := newUpload(t, c.password)
			if c.before != "" {
				u.receive(c.before)
			}
			for at := 0; at < len(frame); at += step {
				u.receive(frame[at:min(at+step, len(frame))])
			}
			u.expect(c.want)
			u.free()
		}
	}
}

// TestContract_SEC4_AnnouncedIsNotReceived: only a good part of a large request begins it.
func TestContract_SEC4_AnnouncedIsNotReceived(t *testing.T) {
	u := newUpload(t, "")
	u.env.StreamFrom = 16 << 10
	u.receive("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\n")
	u.receive(strings.Repeat("v", 900))
	u.expect("")
	u.receive(strings.Repeat("v", 200))
	u.expect("", begun("set", "k", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$500000000\r\n"+strings.Repeat("v", 1100)))
	u.free()
}

// TestLargeIsMoreThanItsLimit: up to it requests are kept whole.
func TestLargeIsMoreThanItsLimit(t *testing.T) {
	for _, size := range []int{streamFrom - 1, streamFrom, streamFrom + 1} {
		header := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$70\r\n"
		frame := strings.Replace(header, "70", fmt.Sprint(size-len(header)-2), 1) + strings.Repeat("v", size-len(header)-2) + "\r\n"
		u := newUpload(t, "")
		u.receive(frame[:50])
		if u.Passing() != (size > streamFrom) || len(frame) != size {
			t.Errorf("passing a request of %d bytes: %v", len(frame), u.Passing())
		}
		u.free()
	}
}

// TestACollectedRequestIsTheOnlyOne: the next one is passed on again.
func TestACollectedRequestIsTheOnlyOne(t *testing.T) {
	eval := string(resp.AppendCommand(nil, "EVAL", longValue, "1", "k"))
	u := newUpload(t, "")
	u.receive(eval[:200])
	u.receive(eval[200:])
	u.receive(setFrame[:50])
	u.expect("", "whole eval: "+eval, begun("set", "k", setFrame[:50]))
	u.free()
}

// TestAPassingRequestKeepsNoReceiveChunk: what is left of a part moves elsewhere.
func TestAPassingRequestKeepsNoReceiveChunk(t *testing.T) {
	u := newUpload(t, "")
	arena, err := buf.NewArena(make(buf.HeapMemory, 1<<20), 1)
	if err != nil {
		t.Fatal(err)
	}
	u.env.Arena = arena
	for at := 0; at < len(setFrame); {
		chunk, ok := arena.TakeReturned()
		if !ok {
			t.Fatalf("the receive chunk is kept after %d bytes of %d", at, len(setFrame))
		}
		n := copy(arena.Bytes(arena.Whole(chunk)), setFrame[at:])
		if at < len(setFrame)-1 {
			n = len(setFrame) - 1 - at // up to the middle of the last line end
		}
		u.Put(u.env, arena.Received(chunk, n))
		u.serve()
		at += n
	}
	u.expect("", begun("set", "k", setFrame))
	u.free()
}

// TestContract_PROTO7_PassingKeepsNothing: however long it is, the session keeps little of
// a request.
func TestContract_PROTO7_PassingKeepsNothing(t *testing.T) {
	const parts, partBytes = 300, 1000
	u := newUpload(t, "")
	u.receive(fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n12345678", 8+parts*partBytes))
	for range parts {
		u.receive(strings.Repeat("v", partBytes))
		if n := u.env.Arena.UsedBytes(); n > 4<<10 {
			t.Fatalf("%d bytes are kept", n)
		}
	}
	u.receive("\r\n")
	if u.expect("", u.got...); !u.end || len(u.got[0]) < parts*partBytes {
		t.Errorf("%d bytes are passed on, to their end: %v", len(u.got[0]), u.end)
	}
	u.free()
}

// TestABegunRequestCanWait: held before it is accepted, it is offered again, with what has
// come meanwhile.
func TestABegunRequestCanWait(t *testing.T) {
	for _, c := range []struct {
		more string
		want string
	}{
		{"", begun("set", "k", setFrame[:50])},
		{setFrame[50:60], begun("set", "k", setFrame[:60])},
		{setFrame[50:], "whole set: " + setFrame},
	} {
		u := newUpload(t, "")
		u.receive(getFrame)
		s, _ := u.env.Arena.Copy([]byte(setFrame[:50]))
		u.Put(u.env, s)
		if in := u.Next(u.env); in.Kind != Begin {
			t.Fatalf("offered kind %d", in.Kind)
		}
		u.HoldForOrder()
		u.serve()
		if c.more != "" {
			u.receive(c.more)
		}
		u.expect("", "whole get: "+getFrame)
		u.reply(0, "$-1\r\n")
		u.expect("$-1\r\n", "whole get: "+getFrame, c.want)
		if u.Passing() != (c.want[0] == 'b') {
			t.Errorf("passing %v after %q", u.Passing(), c.want)
		}
		u.free()
	}
}

// TestAPassingRequestCanWait: held between its parts, it keeps what comes, and goes on.
func TestAPassingRequestCanWait(t *testing.T) {
	u := newUpload(t, "")
	u.receive(setFrame[:50])
	u.HoldForPipe()
	for at := 50; at < len(setFrame); at += 50 {
		u.receive(setFrame[at:min(at+50, len(setFrame))])
	}
	u.receive(getFrame)
	u.expect("", begun("set", "k", setFrame[:50]))
	u.PipeHasRoom()
	u.serve()
	u.expect("", begun("set", "k", setFrame), "whole get: "+getFrame)
	u.free()
}

// TestNothingHoldsAPassingRequest: neither redirects nor output nor credit do, because
// its connection waits for it.
func TestNothingHoldsAPassingRequest(t *testing.T) {
	u := newUpload(t, "")
	u.env.Output.Soft = 10
	u.receive(getFrame + setFrame[:50])
	u.credit, u.typical = 1, ExpectedBytesMax
	u.Bounce(0)
	u.unsent = 1000
	u.receive(setFrame[50:])
	u.unsent = 0
	u.expect("", "whole get: "+getFrame, begun("set", "k", setFrame))
	u.free()
}

// TestContract_PROTO7_CutOff: a request whose end never comes has no reply; those before it
// have theirs, and then the session is done.
func TestContract_PROTO7_CutOff(t *testing.T) {
	ends := map[string]func(u *upload){
		"the client ends":              func(u *upload) { u.End(); u.serve() },
		"the client ends with a part":  func(u *upload) { u.End(); u.receive(setFrame[50:90]) },
		"the process stops":            func(u *upload) { u.Drain(u.env) },
		"the client ends in a line":    func(u *upload) { u.receive(setFrame[50 : len(setFrame)-1]); u.End(); u.serve() },
		"the process stops, then ends": func(u *upload) { u.Drain(u.env); u.End(); u.serve() },
	}
	for name, end := range ends {
		for _, early := range []bool{false, true} { // it was answered before
			u := newUpload(t, "")
			u.receive(getFrame + getFrame + setFrame[:50])
			want := "+a\r\n+b\r\n"
			if early {
				u.reply(2, "-ERR early\r\n")
				want += "-ERR early\r\n"
			}
			end(u)
			if u.State() != Draining || u.Passing() || u.Done() {
				t.Errorf("%s: %v, passing %v, done %v", name, u.State(), u.Passing(), u.Done())
			}
			u.reply(1, "+b\r\n")
			u.reply(0, "+a\r\n")
			if u.told.String() != want || !u.Done() {
				t.Errorf("%s, answered early: %v: the client gets %q, want %q, done %v", name, early, u.told.String(), want, u.Done())
			}
			u.free()
		}
	}
}

// TestContract_PROTO1_ViolationInALargeRequest is answered after the replies before it,
// with the wording that a short one gets, and is the end.
func TestContract_PROTO1_ViolationInALargeRequest(t *testing.T) {
	begin := "*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$200\r\n" + strings.Repeat("v", 100)
	for _, c := range []struct{ then, want string }{
		{strings.Repeat("v", 100) + "XX", "-ERR Protocol error: invalid CRLF in request\r\n"},
		{strings.Repeat("v", 100) + "\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{strings.Repeat("v", 100) + "\r\nGET k\r\n", "-ERR Protocol error: expected '$', got 'G'\r\n"},
	} {
		for _, step := range []int{1, 3, 200} {
			for _, early := range []string{"", "-ERR early\r\n"} { // its own reply, if it has one
				u := newUpload(t, "")
				u.receive(getFrame + begin)
				if early != "" {
					u.reply(1, early)
				}
				for at := 0; at < len(c.then); at += step {
					u.receive(c.then[at:min(at+step, len(c.then))])
				}
				u.reply(0, "+a\r\n")
				if u.expect("+a\r\n"+early+c.want, u.got...); !u.Done() || u.env.Counters.ProtocolErrors != 1 {
					t.Errorf("done %v, %d violations are counted", u.Done(), u.env.Counters.ProtocolErrors)
				}
				u.free()
			}
		}
	}
}

// TestAnsweredEarly: an error may come before a request is whole. Its rest is read and
// leads nowhere; the next request is served.
func TestAnsweredEarly(t *testing.T) {
	u := newUpload(t, "")
	u.receive(getFrame + setFrame[:50])
	u.reply(1, "-ERR no\r\n")
	u.expect("", "whole get: "+getFrame, begun("set", "k", setFrame[:50]))
	u.receive(setFrame[50:90])
	u.reply(0, "+a\r\n")
	u.expect("+a\r\n-ERR no\r\n", "whole get: "+getFrame, begun("set", "k", setFrame[:90]))
	u.receive(setFrame[90:] + getFrame)
	u.expect("+a\r\n-ERR no\r\n", "whole get: "+getFrame, begun("set", "k", setFrame), "whole get: "+getFrame)
	u.reply(2, "+c\r\n")
	u.expect("+a\r\n-ERR no\r\n+c\r\n", u.got...)
	u.free()
}

// TestContract_PIPE4_PartsGoOutInOrder: replies that are in wait behind the last part.
func TestContract_PIPE4_PartsGoOutInOrder(t *testing.T) {
	u := newUpload(t, "")
	u.receive(getFrame + getFrame + getFrame)
	long := strings.Repeat("v", 2*buf.CopyBytesMax)
	part := func(seq uint32, text string, last bool) {
		s, _ := u.env.Arena.Copy([]byte(text))
		defer u.env.Arena.Release(s.Block)
		u.AnswerPart(u.env, seq, s, last)
		u.read()
	}
	for _, ahead := range []uint32{1, 2, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a part of reply %d goes out before reply 0", ahead)
				}
			}()
			part(ahead, "x", false)
		}()
	}
	u.told.Reset()
	u.reply(2, "+2\r\n")
	part(0, "$5000\r\n", false)
	part(0, long, false)
	u.reply(1, "$2\r\n11\r\n")
	part(0, strings.Repeat("w", 904), false)
	u.expect("$5000\r\n"+long+strings.Repeat("w", 904), u.got...)
	if u.Pending() != 3 || !u.IsNext(0) || u.IsNext(1) {
		t.Errorf("%d pending, next is 0: %v, 1: %v", u.Pending(), u.IsNext(0), u.IsNext(1))
	}
	part(0, "\r\n", true)
	u.expect("$5000\r\n"+long+strings.Repeat("w", 904)+"\r\n$2\r\n11\r\n+2\r\n", u.got...)
	if u.Pending() != 0 || u.IsNext(3) {
		t.Errorf("%d pending", u.Pending())
	}
	if u.typical < 2000 || u.partial != 0 {
		t.Errorf("a reply in parts of %d bytes is not noticed: typical %d, partial %d", 5009, u.typical, u.partial)
	}
	u.free()
}

// TestPartsCountAsOutput: a client that does not read them is given up at the hard limit,
// with what is parked counted too.
func TestPartsCountAsOutput(t *testing.T) {
	u := newUpload(t, "")
	u.env.Output.Hard = 1000
	u.receive(getFrame + getFrame)
	u.reply(1, strings.Repeat("p", 300))
	s, _ := u.env.Arena.Copy([]byte(strings.Repeat("v", 300)))
	for range 2 {
		if u.AnswerPart(u.env, 0, s, false); u.State() != Plain {
			t.Fatalf("%v: %s", u.State(), u.Why())
		}
	}
	u.AnswerPart(u.env, 0, s, false)
	if u.State() != Dead || u.Why() != "output limit reached" {
		t.Errorf("%v: %s", u.State(), u.Why())
	}
	u.AnswerPart(u.env, 0, s, true)
	u.env.Arena.Release(s.Block)
	u.free()
}

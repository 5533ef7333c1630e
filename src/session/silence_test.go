package session

import (
	"fmt"
	"strings"
	"testing"

	"mithril/src/resp"
)

var (
	replyOff  = string(resp.AppendCommand(nil, "CLIENT", "REPLY", "OFF"))
	replySkip = string(resp.AppendCommand(nil, "CLIENT", "REPLY", "SKIP"))
)

// TestContract_PROTO6_SilentRepliesAreOwedToNobody: whatever is answered, in one piece or in parts, early
// or in turn, nothing waits for the client or stays; and it earns credit by each reply, as ever.
func TestContract_PROTO6_SilentRepliesAreOwedToNobody(t *testing.T) {
	long := fmt.Sprintf("$%d\r\n%s\r\n", 10_000, strings.Repeat("v", 10_000))
	u := newUpload(t, "")
	u.env.Output = OutputLimit{Soft: 1000, Hard: 1000}
	u.receive(replyOff + strings.Repeat(getFrame, 4) + "NOSUCH\r\n")
	nothing := func(when string) {
		t.Helper()
		if u.unsent != 0 || u.env.Owed != 0 || u.Out().Bytes() != 0 {
			t.Errorf("%s: %d bytes wait, of %d in all", when, u.unsent, u.env.Owed)
		}
	}
	credit := u.credit
	u.reply(3, long)
	u.reply(2, "-ERR wrong\r\n")
	nothing("early")
	if u.typical < 4000 {
		t.Errorf("replies of %d bytes are expected", u.typical)
	}
	for i, last := range []bool{false, false, true} {
		part, _ := u.env.Arena.Copy([]byte(long[i*3000 : (i+1)*3000]))
		u.AnswerPart(u.env, 1, part, last)
		u.env.Arena.Release(part.Block)
		nothing("in parts")
	}
	if u.Pending() != 2 || u.credit != credit+3 {
		t.Errorf("%d are not answered, and %d more may be open", u.Pending(), u.credit-credit)
	}
	part, _ := u.env.Arena.Copy([]byte(long[:3000]))
	u.AnswerPart(u.env, 4, part, false)
	u.env.Arena.Release(part.Block)
	if u.Begun(4) != 3000 {
		t.Errorf("%d bytes of a reply have been given, not 3000", u.Begun(4))
	}
	u.reply(4, "-ERR lost\r\n") // its node has gone
	if u.Begun(4) != 0 || u.partial != 0 || u.Pending() != 0 {
		t.Errorf("%d bytes of a reply are left, %d requests", u.partial, u.Pending())
	}
	nothing("in the end")
	if errors := u.env.Counters.ErrorReplies; errors != 3 {
		t.Errorf("%d errors are counted, not 3", errors)
	}
	u.expect("", "whole get: "+getFrame, "whole get: "+getFrame, "whole get: "+getFrame, "whole get: "+getFrame)
	if u.State() != Plain {
		t.Errorf("the session is %v: %s", u.State(), u.Why())
	}
	u.free()
}

// TestContract_PROTO6_EarlySilentRepliesAreFreed: with the session, like those that go out.
func TestContract_PROTO6_EarlySilentRepliesAreFreed(t *testing.T) {
	u := newUpload(t, "")
	u.receive(getFrame + replySkip + getFrame + getFrame)
	u.reply(2, "$1\r\nb\r\n")
	u.reply(3, "$1\r\nc\r\n")
	u.free()
}

// TestContract_PROTO6_SkippedLargeRequest: CLIENT REPLY SKIP is spent on one request that comes in parts,
// and not on the next one.
func TestContract_PROTO6_SkippedLargeRequest(t *testing.T) {
	for cut := 1; cut < len(setFrame); cut += 7 {
		u := newUpload(t, "")
		u.receive(replySkip + setFrame[:cut])
		u.receive(setFrame[cut:] + "PING\r\n")
		u.reply(1, replyOK)
		u.receive("PING\r\n")
		if u.told.String() != "+PONG\r\n+PONG\r\n" {
			t.Errorf("cut at %d: the client gets %q", cut, u.told.String())
		}
		u.free()
	}
}

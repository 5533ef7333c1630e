package session

import (
	"fmt"
	"strings"
	"testing"
)

// opened is how many requests a session with many in its inbox opens.
func opened(s *Session) (n uint32) {
	for w := &s.window; s.mayOpenMore(); n++ {
		w.push(false)
	}
	return n
}

// TestContract_PIPE5_OpenRequestsAreBounded: whatever the session has learned, it opens at
// least one and at most its credit, expects little more than ExpectedBytesMax, and is let go
// on where it may open another one.
func TestContract_PIPE5_OpenRequestsAreBounded(t *testing.T) {
	for credit := uint32(creditMin); credit <= OutstandingMax; credit = credit*3/2 + 1 {
		for typical := 0; typical <= 1<<30; typical = typical*3/2 + 1 {
			s := &Session{credit: credit, typical: typical}
			n := opened(s)
			if n < 1 || n > credit || n > 1 && uint64(n-1)*uint64(typical) >= ExpectedBytesMax {
				t.Fatalf("credit %d, replies of %d bytes: %d requests are open", credit, typical, n)
			}
			if n < credit && uint64(n)*uint64(typical) < ExpectedBytesMax {
				t.Fatalf("credit %d, replies of %d bytes: only %d requests are open", credit, typical, n)
			}
			if may := s.mayOpen(); may < 1 || may > n || may+1 < n {
				t.Fatalf("credit %d, replies of %d bytes: %d requests are open, it says it may have %d", credit, typical, n, may)
			}
			s.hold = HoldWindow
			released := false
			for range n {
				if released = s.Release(&Env{}); released {
					break
				}
				s.window.head++
			}
			if s.window.empty() {
				released = s.Release(&Env{}) || released
			}
			if !released || !s.mayOpenMore() || s.window.len() > n/2 {
				t.Fatalf("credit %d, replies of %d bytes: of %d open requests it goes on with %d, %v", credit, typical, n, s.window.len(), released)
			}
		}
	}
}

// TestContract_PIPE5_CreditGrowsByReplies: to its limit and not beyond.
func TestContract_PIPE5_CreditGrowsByReplies(t *testing.T) {
	u := newUpload(t, "")
	if n := opened(newUpload(t, "").Session); n != creditMin {
		t.Errorf("a new session opens %d requests", n)
	}
	for seq := uint32(0); seq < 100; seq++ {
		u.receive(getFrame)
		u.reply(seq, "$-1\r\n")
		u.got = nil
	}
	if n := opened(u.Session); n != creditMin+100 {
		t.Errorf("after 100 replies it opens %d requests", n)
	}
	for range 2 * OutstandingMax {
		u.learn(5)
	}
	if u.credit != OutstandingMax {
		t.Errorf("its credit is %d in the end", u.credit)
	}
}

// TestContract_PIPE5_LargeRepliesCount: a session that is answered at length has few requests
// open soon, and many again when its replies have become short.
func TestContract_PIPE5_LargeRepliesCount(t *testing.T) {
	const size = 1 << 20
	s := &Session{credit: 1000}
	for range 4 {
		s.learn(size)
	}
	if n := opened(s); n < ExpectedBytesMax/size || n > ExpectedBytesMax/size*5/4 {
		t.Errorf("%d replies of %d bytes are expected", n, size)
	}
	s.learn(1 << 30)
	if s.typical < 1<<28 {
		t.Errorf("a reply of 1 GB makes %d bytes typical", s.typical)
	}
	s.window.head = s.window.tail
	if n := opened(s); n != 1 {
		t.Errorf("%d replies of a gigabyte are expected", n)
	}
	replies := 0
	for ; s.mayOpen() < s.credit; replies++ {
		if s.learn(5); replies == 1000 {
			t.Fatalf("after %d short replies %d bytes are typical", replies, s.typical)
		}
	}
	if replies < 50 {
		t.Errorf("a reply of a gigabyte is forgotten after %d short ones", replies)
	}
	for _, c := range []struct {
		typical int
		heavy   bool
	}{{5, false}, {256 << 10, false}, {256<<10 + 1, true}} {
		if s.typical = c.typical; s.Heavy(256<<10) != c.heavy {
			t.Errorf("with replies of %d bytes heavy is %v", c.typical, !c.heavy)
		}
	}
}

// TestTheFirstLargeRepliesAreFew: who asks for many at once gets credit by and by.
func TestTheFirstLargeRepliesAreFew(t *testing.T) {
	const size = 300 << 10
	u := newUpload(t, "")
	u.receive(strings.Repeat(getFrame, 100))
	if len(u.got) != creditMin || u.Holding() != HoldWindow {
		t.Fatalf("%d are open, holding %d", len(u.got), u.Holding())
	}
	for seq := range uint32(100) {
		s, _ := u.env.Arena.Copy([]byte(fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("v", size))))
		u.Answer(u.env, seq, s)
		u.env.Arena.Release(s.Block)
		u.read()
		u.serve()
		if n := u.Pending(); n > creditMin+int(seq)+1 || n*size > ExpectedBytesMax*5/4 {
			t.Fatalf("%d are open after %d replies", n, seq+1)
		}
	}
	if len(u.got) != 100 {
		t.Errorf("%d requests are served", len(u.got))
	}
	u.free()
}

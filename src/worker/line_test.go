package worker

import (
	"net/netip"
	"testing"

	"mithril/src/pipe"
	"mithril/src/ring"
)

// TestALostPipeIsNotReadOn: a pipe that was stopped because much is lent, and then lost, is not
// read on when less is, though its socket is not closed yet.
func TestALostPipeIsNotReadOn(t *testing.T) {
	w := newBureau(t, 2)[0]
	p := &w.peers[1]
	n := w.nodeAt(netip.MustParseAddrPort("10.0.0.1:7000"))
	b := w.pipeFor(n, pipe.Key{Node: uint32(n.index)})
	w.stopReading(b, stoppedFull)
	p.wait(b)
	w.losePipe(b, "")
	if w.pipes.get(b.end.token) == nil {
		t.Fatal("the pipe is gone though its connect is under way")
	}
	if w.goOnWith(p); b.State() != pipe.Closed {
		t.Errorf("the pipe is %v", b.State())
	}
}

// TestRepliesOfTwoFarPipesAreTwoLetters: replies that lie side by side go in one letter if they
// are for one far pipe.
func TestRepliesOfTwoFarPipesAreTwoLetters(t *testing.T) {
	w := newBureau(t, 2)[0]
	far := [3]uint32{7, 7, 8}
	replies, ok := w.Arena.Copy([]byte("+A\r\n+B\r\n+C\r\n"))
	if !ok {
		t.Fatal("out of memory")
	}
	lines := map[uint32]*line{}
	for _, f := range far {
		if lines[f] == nil {
			line, token := w.lines.take()
			line.peer, line.far, line.token = &w.peers[1], ring.MakeToken(ring.KindPipe, 1, f), token
			lines[f] = line
		}
	}
	for i, f := range far {
		if !w.handBack(lines[f].token, replies.Sub(uint32(4*i), 4), 1) {
			t.Fatal("out of memory")
		}
	}
	w.sendLetters()
	in := w.Post.queues[1]
	for i, want := range []string{"+A\r\n+B\r\n", "+C\r\n"} {
		in.Look()
		l := in.Take()
		if l == nil || string(w.Arena.Bytes(l.data)) != want {
			t.Fatalf("letter %d: %+v", i, l)
		}
	}
}

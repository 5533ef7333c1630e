package sys

import (
	"testing"

	"mithril/src/ring"
)

func TestAcceptReceiveAndSend(t *testing.T) {
	conformance(t, rigOptions{}, func(r *rig) {
		s, peer := r.pair()
		r.arm(s, sessionToken)
		write(r, peer, []byte("ping"))
		if got := r.receive(sessionToken, 4); string(got) != "ping" {
			r.Fatalf("received %q", got)
		}
		r.send(s, sessionToken, []byte("pong"))
		if got := readFull(r, peer, 4); string(got) != "pong" {
			r.Fatalf("the peer got %q", got)
		}
		if got, want := r.Peer(s).String(), peer.LocalAddr().String(); got != want {
			r.Errorf("Peer is %s, want %s", got, want)
		}
		r.finish(s, sessionToken, true)
		if rest := readAll(r, peer); len(rest) > 0 {
			r.Errorf("the peer got %q after the reply", rest)
		}
		r.nothingElse()
	})
}

var _ ring.Ring = (*Uring)(nil)

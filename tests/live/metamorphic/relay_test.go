package metamorphic

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"mithril/tools/testbed"
)

// relays stand between a proxy and the nodes of a cluster and cut what they pass on.
type relays struct {
	mu    sync.Mutex
	conns []net.Conn
}

// startRelays returns the arguments that make a proxy use new relays.
func startRelays(t *testing.T, c *testbed.Cluster) (args []string) {
	t.Helper()
	r := &relays{}
	t.Cleanup(r.close)
	for i, addr := range c.Addrs() {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go r.serve(listener, addr, uint64(i))
		args = append(args, "--address-map", addr+"="+listener.Addr().String(), "--bootstrap", listener.Addr().String())
	}
	return args
}

func (r *relays) serve(listener net.Listener, addr string, seed uint64) {
	for n := uint64(0); ; n += 2 {
		front, err := listener.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("tcp4", addr)
		if err != nil {
			front.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, front, back)
		r.mu.Unlock()
		go pass(back, front, rand.New(rand.NewPCG(seed, n)))
		go pass(front, back, rand.New(rand.NewPCG(seed, n+1)))
	}
}

func (r *relays) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
}

// pass hands on what it reads, all of it in pieces and some of it byte by byte.
func pass(to, from net.Conn, random *rand.Rand) {
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		c := cutter{Rand: random, cut: pieces, pauseOne: pauseRelay}
		if random.IntN(8) == 0 {
			c.cut = bytewise
		}
		if c.write(to, b[:n]) != nil || err != nil {
			return
		}
	}
}

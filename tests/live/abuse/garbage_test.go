package abuse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// garbageTime is how long garbage is sent in one test.
const garbageTime = 2 * time.Second

// requests are what mutate works on.
var requests = [][]byte{
	command("SET", "k", "v"), command("GET", "k"), command("MGET", "a", "b", "c", "k"), command("MSET", "a", 1, "b", 2), command("DEL", "a", "b"),
	command("PING"), command("ECHO", "hello"), command("HELLO", 3), command("HELLO", 2), command("RESET"), command("QUIT"), command("SELECT", 0),
	command("EVAL", "return {1,{2,'x'}}", 1, "k"), command("XREAD", "COUNT", 1, "STREAMS", "s", 0), command("SORT", "l", "BY", "nosort", "STORE", "m"),
	command("INFO"), command("CLUSTER", "SLOTS"), command("CONFIG", "GET", "*"), command("SET", "big", long(40_000)), command("GET", "big"),
	[]byte("PING\r\n"), []byte("SET k \"a\\x41 b\"\r\n"), []byte("*0\r\n"), []byte("*-1\r\n"), []byte("\r\n"), repeat(50, "GET", "k"),
}

func command(args ...any) []byte { return testbed.AppendCommand(nil, args...) }

var numbers = []string{"-1", "0", "2147483647", "2147483648", "536870912", "536870913", "99999999999999999999", "+3", "04", " 3", "1000000"}

// mutate changes a stream in one place.
func mutate(r *rand.Rand, b []byte) []byte {
	i := r.IntN(len(b))
	switch r.IntN(6) {
	case 0:
		b[i] = byte(r.Uint32())
	case 1:
		b = slices.Delete(b, i, i+1)
	case 2:
		b = slices.Insert(b, i, byte(r.Uint32()))
	case 3:
		b = b[:i+1]
	case 4:
		b = slices.Insert(b, i, []byte(numbers[r.IntN(len(numbers))])...)
	case 5:
		b[i] = "*$\r\n:+-_%~>|#,(!="[r.IntN(17)]
	}
	return b
}

// sendGarbage has a client send requests, some of them mutated, in pieces, and leave in
// one of the ways there are.
func sendGarbage(t *testing.T, p *harness.Proxy, r *rand.Rand) {
	c, err := net.Dial("tcp4", p.Addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	var b []byte
	for range 1 + r.IntN(10) {
		request := bytes.Clone(requests[r.IntN(len(requests))])
		for range r.IntN(3) {
			request = mutate(r, request)
		}
		b = append(b, request...)
	}
	for len(b) > 0 {
		n := 1 + r.IntN(len(b))
		if _, err := c.Write(b[:n]); err != nil {
			return // the proxy has closed, which it may
		}
		b = b[n:]
	}
	switch r.IntN(3) {
	case 0:
		c.(*net.TCPConn).SetLinger(0)
	case 1:
		c.(*net.TCPConn).CloseWrite()
		time.Sleep(time.Millisecond)
	}
}

// Whatever clients send, others get their own replies, all the time.
func TestGarbageOfClients(t *testing.T) {
	eachEngine(t, nil, func(t *testing.T, e *harness.Env, p *harness.Proxy) {
		var senders sync.WaitGroup
		end := time.Now().Add(garbageTime)
		for i := range 3 {
			senders.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(end.UnixNano())))
				for time.Now().Before(end) && !t.Failed() {
					sendGarbage(t, p, r)
				}
			})
		}
		c := p.Dial(t)
		for i := 0; time.Now().Before(end); i++ {
			key, value := fmt.Sprint("mine", i%50), fmt.Sprint(i, long(i%3000))
			mustDo(t, c, "SET", key, value)
			got, err := c.Pipeline([]any{"GET", key}, []any{"ECHO", value}, []any{"MGET", key, "none", key})
			if want := []any{value, value, []any{value, nil, value}}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("round %d: %.100v, %v\nwant %.100v", i, got, err, want)
			}
		}
		senders.Wait()
	})
}

// notices are what garbled nodes say.
var notices = []string{
	"-MOVED 0 127.0.0.1:1\r\n", "-MOVED 99999 1:1\r\n", "-MOVED 1 :0\r\n", "-ASK 5 ?:1\r\n", "*-1\r\n", "$-1\r\n", "*0\r\n", ">2\r\n+a\r\n+b\r\n", "|1\r\n+k\r\n+v\r\n",
	"%1\r\n+a\r\n+b\r\n", "*2\r\n$1\r\na\r\n", "$1099511627776\r\n", "*1099511627776\r\n", "*9999999999999999999\r\n", "+\r\n", "-\r\n", "\r\n", "_\r\n", "=7\r\ntxt:abc\r\n",
	strings.Repeat("*1\r\n", 1000), "-TRYAGAIN x\r\n", "-ERR max number of clients reached\r\n", "-NOAUTH x\r\n",
}

// garble forwards what a node says and now and then something else.
func garble(r *rand.Rand, to, from net.Conn, until time.Time) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		b := buffer[:n]
		if n > 0 && time.Now().Before(until) && r.IntN(10) == 0 {
			notice := []byte(notices[r.IntN(len(notices))])
			switch r.IntN(4) {
			case 0:
				b = mutate(r, bytes.Clone(b))
			case 1:
				b = slices.Insert(bytes.Clone(b), r.IntN(n+1), notice...)
			case 2:
				b = notice
			case 3:
				b, err = b[:r.IntN(n)], net.ErrClosed
			}
		}
		if _, failed := to.Write(b); failed != nil || err != nil {
			return
		}
	}
}

// startGarblers puts one in front of every node until a time. It returns the proxy's
// arguments that make it use them.
func startGarblers(t *testing.T, c *testbed.Cluster, until time.Time) (args []string) {
	t.Helper()
	for i, addr := range c.Addrs() {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for n := uint64(0); ; n++ {
				front, err := l.Accept()
				if err != nil {
					return
				}
				back, err := net.Dial("tcp4", addr)
				if err != nil {
					front.Close()
					continue
				}
				go garble(rand.New(rand.NewPCG(uint64(i), n)), back, front, time.Time{})
				go garble(rand.New(rand.NewPCG(uint64(i), n)), front, back, until)
			}
		}()
		args = append(args, "--address-map", addr+"="+l.Addr().String())
		if i == 0 {
			args = append(args, "--bootstrap", l.Addr().String())
		}
	}
	return args
}

// Whatever nodes say, every request gets one reply, none of them a redirect, and all is
// well when the nodes are.
func TestGarbageOfNodes(t *testing.T) {
	for _, engine := range harness.IOEngines {
		t.Run(engine, func(t *testing.T) { harness.One(t, testbed.Valkey91, engine, garbageOfNodes) })
	}
}

func garbageOfNodes(t *testing.T, e *harness.Env) {
	until := time.Now().Add(garbageTime)
	args := startGarblers(t, e.Cluster, until)
	p := harness.Start(t, harness.Options{
		Engine: e.Engine, Checked: true, NoWait: true, Args: append(args, "--backend-timeout-ms", "300"),
	})
	c, broken := p.Dial(t), 0
	for i := 0; time.Now().Before(until); i++ {
		// A garbled reply may be anything, but the proxy's own stay in their places.
		key := fmt.Sprint("k", i%100)
		c.Send("ECHO", fmt.Sprint("before ", i))
		c.Send("SET", key, long(i%5000))
		c.Send("MGET", key, "k1", "k2", "none")
		c.Send("DEL", key, "k3")
		c.Send("ECHO", fmt.Sprint("behind ", i))
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		first, last := bulk(fmt.Sprint("before ", i)), bulk(fmt.Sprint("behind ", i))
		replies, err := readTo(c.NetConn(), last)
		if errors.Is(err, io.EOF) {
			// The beginning of a large reply had been passed on when its node went wrong.
			broken++
			harness.Eventually(t, patience, "the reason of the close", func() error {
				if n := p.LinesWith("lost inside a reply"); n < broken {
					return fmt.Errorf("the log has it %d times, want %d", n, broken)
				}
				return nil
			})
			c = p.Dial(t)
			continue
		}
		if err != nil || !bytes.HasPrefix(replies, first) {
			t.Fatalf("round %d: %.200q, %v", i, replies, err)
		}
		for _, redirect := range []string{"\r\n-MOVED ", "\r\n-ASK "} {
			if bytes.Contains(replies, []byte(redirect)) {
				t.Fatalf("round %d: %.200q", i, replies)
			}
		}
	}
	harness.Eventually(t, patience, "service when nodes are well again", func() error {
		for i := range 50 {
			if got, err := c.Do("SET", fmt.Sprint("well", i), i); err != nil || got != "OK" {
				return fmt.Errorf("SET answers %v, %v", got, err)
			}
		}
		return nil
	})
}

func bulk(text string) []byte { return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text) }

// readTo reads up to an ending that nothing is sent behind.
func readTo(c net.Conn, ending []byte) (got []byte, err error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	buffer := make([]byte, 64<<10)
	for !bytes.HasSuffix(got, ending) {
		n, err := c.Read(buffer)
		got = append(got, buffer[:n]...)
		if err != nil {
			return got, err
		}
	}
	return got, nil
}

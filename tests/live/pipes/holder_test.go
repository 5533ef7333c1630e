package pipes

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"testing"

	"mithril/src/slot"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// holders are the nodes of a cluster that stores nothing: each takes GET
// alone, and answers it with its key when it is told to.
type holders []*holder

type holder struct {
	addr string
	tag  string // a hash tag of one of its slots

	mu    sync.Mutex
	may   int    // how many requests may be answered
	owed  []owed // unanswered requests, oldest first
	conns int    // that have brought requests
}

// line is a connection of the proxy.
type line struct {
	*bufio.Writer
	used bool // it has brought a request
}

type owed struct {
	line *line
	key  string
}

// hold starts nodes that share the slots evenly.
func hold(t *testing.T, nodes int) holders {
	t.Helper()
	var all holders
	var listeners []net.Listener
	slots := fmt.Sprintf("*%d\r\n", nodes)
	for i := range nodes {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		port := l.Addr().(*net.TCPAddr).Port
		first, last := i*slot.Count/nodes, (i+1)*slot.Count/nodes-1
		slots += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%040d\r\n", first, last, port, port)
		all, listeners = append(all, &holder{addr: l.Addr().String(), tag: tag(first)}), append(listeners, l)
	}
	for i, h := range all {
		go h.accept(listeners[i], slots)
	}
	return all
}

// start starts a proxy in front of the nodes.
func (all holders) start(t *testing.T, engine string, l harness.Layout, args ...string) *harness.Proxy {
	t.Helper()
	p := harness.Start(t, harness.Options{
		Engine: engine, Workers: l.Workers, Sharding: l.Sharding, Checked: true, NoWait: true,
		Args: append([]string{"--bootstrap", all[0].addr}, args...),
	})
	c := p.Dial(t)
	defer c.Close()
	for _, h := range all {
		h.answer(true)
		key := h.key(0)
		harness.Eventually(t, harness.Patience, "the slots to be served", func() error {
			if got, err := c.Do("GET", key); err != nil || got != key {
				return fmt.Errorf("%v, %v", got, err)
			}
			return nil
		})
		h.answer(false)
	}
	return p
}

// trusted connects as a client that has had so many replies of a node, and so may have as many
// requests open. The first node holds nothing back meanwhile.
func (all holders) trusted(t *testing.T, p *harness.Proxy, replies int) *testbed.Conn {
	t.Helper()
	const together = 1000
	h := all[0]
	h.answer(true)
	defer h.answer(false)
	c := p.Dial(t)
	for done := 0; done < replies; done += together {
		for i := range together {
			c.Send("GET", h.key(i))
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for i := range together {
			if got, err := c.Receive(); err != nil || got != h.key(i) {
				t.Fatalf("GET %s: %v, %v", h.key(i), got, err)
			}
		}
	}
	return c
}

// key is one of the keys of a node.
func (h *holder) key(i int) string { return fmt.Sprintf("%s%07d", h.tag, i) }

func (h *holder) accept(l net.Listener, slots string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go h.serve(c, slots)
	}
}

func (h *holder) serve(conn net.Conn, slots string) {
	defer conn.Close()
	l := &line{Writer: bufio.NewWriter(conn)}
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		h.take(l, args, slots, in.Buffered() == 0)
	}
}

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) (args []string, err error) {
	var count, size int
	if _, err := fmt.Fscanf(in, "*%d\r\n", &count); err != nil {
		return nil, err
	}
	for range count {
		if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		arg := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, arg); err != nil {
			return nil, err
		}
		args = append(args, string(arg[:size]))
	}
	return args, nil
}

// take takes a command, the last one that has come or not: GET is a client's, all others are the
// proxy's own.
func (h *holder) take(l *line, args []string, slots string, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch strings.ToUpper(args[0]) {
	case "GET":
		if !l.used {
			l.used = true
			h.conns++
		}
		h.owed = append(h.owed, owed{l, args[1]})
	case "CLUSTER":
		if strings.EqualFold(args[1], "SLOTS") {
			l.WriteString(slots)
		} else {
			l.WriteString("-ERR unknown subcommand\r\n")
		}
	case "COMMAND":
		l.WriteString("-ERR unknown command\r\n")
	case "INFO":
		l.WriteString("$32\r\n# Server\r\nredis_version:7.0.15\r\n\r\n")
	default:
		l.WriteString("+OK\r\n")
	}
	if last {
		h.give()
		l.Flush()
	}
}

// release answers the next n requests, those that are held back first.
func (h *holder) release(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.may += n
	h.give()
}

// answer makes the node answer from now on, at once, or hold requests back.
func (h *holder) answer(free bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.may = 0
	if free {
		h.may = math.MaxInt
	}
	h.give()
}

// give answers what may be answered.
func (h *holder) give() {
	n := min(h.may, len(h.owed))
	for _, o := range h.owed[:n] {
		fmt.Fprintf(o.line, "$%d\r\n%s\r\n", len(o.key), o.key)
		h.may--
	}
	for _, o := range h.owed[:n] {
		o.line.Flush() // an error shows when the line is read
	}
	h.owed = h.owed[n:]
}

// used is how many connections have brought requests.
func (h *holder) used() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conns
}

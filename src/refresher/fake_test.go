package refresher

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeNode is a scripted server on loopback. Its script is replies by command ("CLUSTER SLOTS"); what it lacks is answered
// with an error.
type fakeNode struct {
	t        testing.TB
	addr     string
	port     int
	listener net.Listener

	mu      sync.Mutex
	replies map[string]string
	pass    string // AUTH's arguments that are accepted; "" asks for none
	silent  bool   // reads and never answers
	asked   map[string]int
	conns   map[net.Conn]bool
	serving sync.WaitGroup
}

func newFakeNode(t testing.TB) *fakeNode {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{
		t: t, addr: listener.Addr().String(), port: listener.Addr().(*net.TCPAddr).Port, listener: listener,
		replies: map[string]string{}, asked: map[string]int{}, conns: map[net.Conn]bool{},
	}
	n.serving.Go(n.accept)
	t.Cleanup(n.stop)
	return n
}

func (n *fakeNode) accept() {
	for {
		conn, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.mu.Lock()
		n.conns[conn] = true
		n.mu.Unlock()
		n.serving.Go(func() { n.serve(conn) })
	}
}

// stop makes the address refuse connections and ends the open ones.
func (n *fakeNode) stop() {
	n.listener.Close()
	n.mu.Lock()
	for conn := range n.conns {
		conn.Close()
	}
	n.mu.Unlock()
	n.serving.Wait()
}

func (n *fakeNode) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	authenticated := false
	for {
		command, err := readCommand(reader)
		if err != nil {
			return
		}
		n.mu.Lock()
		name := strings.ToUpper(strings.Join(command, " "))
		if command[0] == "AUTH" {
			name = "AUTH"
			authenticated = strings.Join(command[1:], " ") == n.pass
		}
		n.asked[name]++
		reply, known := n.replies[name]
		silent := n.silent
		switch {
		case name == "AUTH" && authenticated:
			reply = "+OK\r\n"
		case name == "AUTH":
			reply = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
		case n.pass != "" && !authenticated:
			reply = "-NOAUTH Authentication required.\r\n"
		case !known:
			reply = "-ERR unknown command\r\n"
		}
		n.mu.Unlock()
		if silent {
			continue
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

func readCommand(reader *bufio.Reader) ([]string, error) {
	count, err := readSize(reader)
	if err != nil {
		return nil, err
	}
	var command []string
	for range count {
		size, err := readSize(reader)
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(reader, word); err != nil {
			return nil, err
		}
		command = append(command, string(word[:size]))
	}
	return command, nil
}

func readSize(reader *bufio.Reader) (int, error) {
	text, err := reader.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text[1:]))
}

func (n *fakeNode) script(command, reply string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.replies[command] = reply
}

func (n *fakeNode) setSilent(silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = silent
}

// count answers how often a command came.
func (n *fakeNode) count(command string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[command]
}

// span is a slot range of a scripted map: first and last slot and the nodes that have it, the primary first.
type span struct {
	first, last int
	nodes       []named
}

// named is a node as a scripted map calls it.
type named struct {
	host string
	port int
	id   string
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// slotMap writes CLUSTER SLOTS.
func slotMap(spans ...span) string {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(spans))
	for _, s := range spans {
		fmt.Fprintf(&text, "*%d\r\n:%d\r\n:%d\r\n", 2+len(s.nodes), s.first, s.last)
		for _, n := range s.nodes {
			fmt.Fprintf(&text, "*4\r\n%s:%d\r\n%s*0\r\n", bulk(n.host), n.port, bulk(n.id+strings.Repeat("0", 40-len(n.id))))
		}
	}
	return text.String()
}

// as names a node by its real address.
func (n *fakeNode) as(id string) named { return named{"127.0.0.1", n.port, id} }

// serveMap scripts all that a node of a working Redis cluster answers.
func (n *fakeNode) serveMap(clusterEpoch int, spans ...span) {
	n.script("CLUSTER SLOTS", slotMap(spans...))
	n.script("CLUSTER INFO", bulk(fmt.Sprintf("cluster_state:ok\r\ncluster_current_epoch:%d\r\n", clusterEpoch)))
	n.script("INFO SERVER", bulk("# Server\r\nredis_version:7.0.15\r\n"))
}

// whole is a map in which one node has every slot.
func (n *fakeNode) whole(id string) span { return span{0, 16383, []named{n.as(id)}} }

// logBook keeps log lines.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// count answers how many lines contain text.
func (b *logBook) count(text string) (lines int) {
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, text) {
			lines++
		}
	}
	return lines
}

// rig is a running refresher.
type rig struct {
	*Refresher
	t         testing.TB
	log       *logBook
	published chan struct{} // a token after each publication, as far as they fit
}

const (
	testTimeout = 2 * time.Second  // a conversation
	patience    = 15 * time.Second // until a condition that is awaited counts as failed
)

// start runs a refresher until the test ends.
func start(t testing.TB, options Options) *rig {
	t.Helper()
	log := &logBook{}
	options.Log = slog.New(slog.NewTextHandler(log, nil))
	options.Rand = rand.New(rand.NewPCG(7, 7))
	if options.Timeout == 0 {
		options.Timeout = testTimeout
	}
	if options.Period == 0 {
		options.Period = time.Hour
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{Refresher: New(options), t: t, log: log, published: make(chan struct{}, 1000)}
	r.Subscribe(func() { r.published <- struct{}{} })
	ended := make(chan struct{})
	go func() {
		r.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("log:\n%s", log)
		}
	})
	return r
}

// await polls until condition holds.
func (r *rig) await(what string, condition func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			r.t.Fatalf("no %s within %v; map %v, stats %+v\nlog:\n%s", what, patience, r.Current(), r.Stats(), r.log)
		}
		time.Sleep(time.Millisecond)
	}
}

// refresh wishes and waits for a fetch that began after the call to end, well or not.
func (r *rig) refresh() {
	r.t.Helper()
	begun := r.Stats().Fetches
	r.Wish()
	r.await("end of a new fetch", func() bool {
		stats := r.Stats()
		return stats.Refreshes+stats.Failures > begun
	})
}

// awaitMap waits for the first map.
func (r *rig) awaitMap() {
	r.await("map, and the end of its fetch", func() bool { return r.Current() != nil && r.Stats().Refreshes > 0 })
}

// addrs answers the addresses of the published nodes.
func (r *rig) addrs() (addrs []string) {
	for _, node := range r.Current().Nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

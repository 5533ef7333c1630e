package cluster

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// fake is a node that follows a script: what real nodes do not do on demand. It tells the
// map that it is given and answers every other command as the script says.
type fake struct {
	addr     string
	port     int
	listener net.Listener

	mu       sync.Mutex
	slots    string                  // reply to CLUSTER SLOTS
	commands string                  // reply to COMMAND
	answer   func(args []any) string // reply to a command with keys
	asked    map[string]int          // commands by name, and "CLUSTER SLOTS"
	conns    map[net.Conn]bool       // connections that are open
	dialed   int                     // connections so far that have asked for more than the map
}

// newFake starts a fake that owns every slot and stores nothing.
func newFake(t *testing.T) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{addr: l.Addr().String(), port: l.Addr().(*net.TCPAddr).Port, listener: l, asked: map[string]int{}, conns: map[net.Conn]bool{}}
	f.slots = slotsReply(slotRange{0, 16383, f.port})
	f.commands = "-ERR unknown command\r\n"
	f.answer = func([]any) string { return "$-1\r\n" }
	go f.accept()
	t.Cleanup(f.stop)
	return f
}

// slotRange is an entry of CLUSTER SLOTS: a primary on loopback and its slots.
type slotRange struct{ first, last, port int }

// slotsReply is a reply to CLUSTER SLOTS.
func slotsReply(ranges ...slotRange) string {
	text := fmt.Sprintf("*%d\r\n", len(ranges))
	for _, r := range ranges {
		text += fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$40\r\n%040d\r\n", r.first, r.last, r.port, r.port)
	}
	return text
}

func (f *fake) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns[c] = true
		f.mu.Unlock()
		go f.serve(c)
	}
}

// stop makes the address refuse connections and ends the open ones.
func (f *fake) stop() {
	f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.Close()
	}
}

func (f *fake) serve(c net.Conn) {
	defer c.Close()
	in := testbed.NewConn(c)
	in.SetTimeout(harness.Patience)
	first := true
	for {
		frame, err := in.Receive()
		args, ok := frame.([]any)
		if err != nil || !ok {
			return
		}
		if _, err := c.Write([]byte(f.reply(args, &first))); err != nil {
			return
		}
	}
}

// reply answers one command. first is true until a connection has served a client.
func (f *fake) reply(args []any, first *bool) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := strings.ToUpper(args[0].(string))
	if name == "CLUSTER" {
		name += " " + strings.ToUpper(args[1].(string))
	}
	f.asked[name]++
	switch name {
	case "HELLO", "AUTH", "ASKING":
		return "+OK\r\n"
	case "CLUSTER SLOTS":
		return f.slots
	case "CLUSTER SHARDS", "CLUSTER INFO":
		return "-ERR unknown subcommand\r\n"
	case "COMMAND":
		return f.commands
	case "INFO":
		return "$32\r\n# Server\r\nredis_version:7.0.15\r\n\r\n"
	}
	if *first {
		*first = false
		f.dialed++
	}
	return f.answer(args)
}

// tell changes the map that the fake tells.
func (f *fake) tell(slots string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots = slots
}

// script changes how the fake answers commands with keys.
func (f *fake) script(answer func(args []any) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// times is how often a command has come.
func (f *fake) times(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[name]
}

// servedConns is how many connections have served clients.
func (f *fake) servedConns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dialed
}

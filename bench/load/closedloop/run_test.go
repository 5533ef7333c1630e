package closedloop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mithril/tools/testbed"
)

// short is a run against addr that takes little time.
func short(addr string) Config {
	return Config{
		Addr: addr, Conns: 7, Pipeline: 4, ValueBytes: 32, Keys: 50, Mix: []Op{Set, Get, MGet10}, Threads: 2,
		Warmup: 20 * time.Millisecond, Window: 200 * time.Millisecond,
	}
}

// calls returns how often the node has executed a command, from INFO commandstats.
func calls(t *testing.T, node *testbed.Conn, command string) (count int64) {
	t.Helper()
	info, err := node.Do("INFO", "commandstats")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(info.(string), "cmdstat_"+command+":calls=")
	if found {
		fmt.Sscanf(rest, "%d", &count)
	}
	return count
}

func TestRunCountsWhatTheServerExecutes(t *testing.T) {
	node := testbed.RunNode(t, testbed.NodeOptions{})
	conn := testbed.MustDial(t, node.Addr())
	config := short(node.Addr())
	if err := Fill(config.Addr, config.Keys, config.ValueBytes); err != nil {
		t.Fatal(err)
	}
	if size, err := conn.Do("DBSIZE"); size != int64(config.Keys) {
		t.Fatalf("filled %v keys, %v, want %d", size, err, config.Keys)
	}
	executed := func() int64 { return calls(t, conn, "set") + calls(t, conn, "get") + calls(t, conn, "mget") }
	var opened, closed int64
	before := executed()
	config.OpenWindow = func() { opened = executed() }
	config.CloseWindow = func() { closed = executed() }
	result, err := Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	// Requests may be executed and not yet counted at both edges; the edges themselves take a moment.
	slack := int64(config.Conns*config.Pipeline) + result.Commands/4
	if d := closed - opened - result.Commands; d < -slack || d > slack || result.Commands == 0 {
		t.Errorf("counted %d commands, the server %d", result.Commands, closed-opened)
	}
	total := executed() - before
	if total%int64(config.Pipeline) != 0 {
		t.Errorf("the server executed %d commands, which is no whole number of batches of %d", total, config.Pipeline)
	}
	if sets, gets := calls(t, conn, "set")-int64(config.Keys), calls(t, conn, "get"); sets < total/4 || gets < total/4 {
		t.Errorf("of %d commands %d were SET and %d GET", total, sets, gets)
	}
	if result.Nulls != 0 {
		t.Errorf("%d replies lacked a value", result.Nulls)
	}
	if result.P50Us <= 0 || result.P50Us > result.P99Us || result.P99Us > result.P999Us || result.P999Us > result.MaxUs {
		t.Errorf("latencies are not in order: %+v", result)
	}
	if result.Seconds < config.Window.Seconds() || result.PerSecond*result.Seconds < float64(result.Commands)-1 {
		t.Errorf("the window is %+v", result)
	}
}

func TestMissingValuesAreCounted(t *testing.T) {
	node := testbed.RunNode(t, testbed.NodeOptions{})
	config := short(node.Addr())
	config.Mix = []Op{Get}
	result, err := Run(t.Context(), config)
	if err != nil || result.Nulls == 0 || result.Nulls > result.Commands {
		t.Errorf("%+v, %v, want every value missing", result, err)
	}
}

func TestBatchesBeyondTheSocketBuffers(t *testing.T) {
	node := testbed.RunNode(t, testbed.NodeOptions{})
	config := short(node.Addr())
	config.ValueBytes, config.Keys, config.Pipeline, config.Conns = 4<<20, 4, 6, 2
	if err := Fill(config.Addr, config.Keys, config.ValueBytes); err != nil {
		t.Fatal(err)
	}
	if result, err := Run(t.Context(), config); err != nil || result.Commands == 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestErrorReplyEndsTheRun(t *testing.T) {
	node := testbed.RunNode(t, testbed.NodeOptions{})
	if _, err := testbed.MustDial(t, node.Addr()).Do("LPUSH", "key:000000000003", "x"); err != nil {
		t.Fatal(err)
	}
	config := short(node.Addr())
	config.Mix = []Op{Get}
	_, err := Run(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), `error reply "-WRONGTYPE Operation against a key`) {
		t.Errorf("error %v", err)
	}
}

func TestLostServerEndsTheRun(t *testing.T) {
	node := testbed.RunNode(t, testbed.NodeOptions{})
	config := short(node.Addr())
	config.Window = time.Minute
	config.OpenWindow = func() { node.Kill() }
	if _, err := Run(t.Context(), config); err == nil {
		t.Error("the run ends without an error")
	}
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	want := "connection 0: connect to " + addr + ": connection refused"
	if _, err := Run(t.Context(), short(addr)); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// answering listens for one connection and answers every read after a delay. It returns the address, and whether
// an answer is due.
func answering(t *testing.T, delay time.Duration, answer string) (string, *atomic.Bool) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var due atomic.Bool
	go func() {
		conn, err := listener.Accept()
		buffer := make([]byte, 4096)
		for err == nil {
			if _, err = conn.Read(buffer); err == nil {
				due.Store(true)
				time.Sleep(delay)
				due.Store(false)
				_, err = conn.Write([]byte(answer))
			}
		}
	}()
	return listener.Addr().String(), &due
}

func TestOutstandingRepliesAreAwaited(t *testing.T) {
	addr, due := answering(t, 150*time.Millisecond, "+OK\r\n")
	config := short(addr)
	config.Conns, config.Pipeline, config.Mix = 1, 1, []Op{Set}
	if result, err := Run(t.Context(), config); err != nil || result.Commands != 1 {
		t.Errorf("%+v, %v, want one command", result, err)
	}
	if due.Load() {
		t.Error("the run ended before its last reply")
	}
}

func TestRepliesOutOfPlaceEndTheRun(t *testing.T) {
	for answer, want := range map[string]string{
		":1\r\n":         "a reply of kind ':' came with 1 outstanding, want '+' of set",
		"+OK\r\n+OK\r\n": "a reply of kind '+' came with 0 outstanding, want '+' of set",
		"$2\r\nOK\r\n":   "a reply of kind '$' came with 1 outstanding, want '+' of set",
	} {
		addr, _ := answering(t, 0, answer)
		config := short(addr)
		config.Conns, config.Pipeline, config.Mix = 1, 1, []Op{Set}
		if _, err := Run(t.Context(), config); err == nil || err.Error() != "connection 0: "+want {
			t.Errorf("%q: error %v, want %s", answer, err, want)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	node := testbed.RunNode(t, testbed.NodeOptions{})
	config := short(node.Addr())
	config.Window = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, config); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestBadConfigsAreNamed(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"connections: 0 is not in 1..60000":                                                        func(c *Config) { c.Conns = 0 },
		"pipeline: 65537 is not in 1..65536":                                                       func(c *Config) { c.Pipeline = 65537 },
		"value size: 0 is not in 1..536870912":                                                     func(c *Config) { c.ValueBytes = 0 },
		"keys: -1 is not in 1..1000000000":                                                         func(c *Config) { c.Keys = -1 },
		"threads: 65 is not in 1..64":                                                              func(c *Config) { c.Threads = 65 },
		"the mix is empty: name one of set, get, mget10, mget100, mset100":                         func(c *Config) { c.Mix = nil },
		"a window of 0s after 20ms: the window must be longer than 0 and the warm-up not negative": func(c *Config) { c.Window = 0 },
	} {
		config := short("127.0.0.1:1")
		change(&config)
		if _, err := Run(t.Context(), config); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

package process

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// valueBytes is the size of the replies that the clients below do not read.
const valueBytes = 100 << 10

// askTooMuch asks for n replies of valueBytes, which is more than sockets hold, and reads
// none.
func askTooMuch(t *testing.T, p *harness.Proxy, n int) *testbed.Conn {
	t.Helper()
	c := p.Dial(t)
	harness.MustDo(t, c, "SET", "big", strings.Repeat("x", valueBytes))
	for range n {
		c.Send("GET", "big")
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitClosing waits until the proxy has closed its side and has said why.
func awaitClosing(t *testing.T, p *harness.Proxy, why string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "the proxy to log "+why, func() error {
		for line := range strings.Lines(p.Log()) {
			if strings.Contains(line, `msg="client closed"`) && strings.Contains(line, why) {
				return nil
			}
		}
		return errors.New("it has not")
	})
	if err := p.AwaitNoClients(); err != nil {
		t.Error(err)
	}
}

// awaitInfo waits until INFO has a line.
func awaitInfo(t *testing.T, p *harness.Proxy, line string) {
	t.Helper()
	c := p.Dial(t)
	defer c.Close()
	harness.Eventually(t, harness.Patience, "INFO to tell "+line, func() error {
		if info := harness.MustDo(t, c, "INFO").(string); !strings.Contains(info, "\r\n"+line+"\r\n") {
			return errors.New("it does not:\n" + info)
		}
		return nil
	})
}

func TestOutputLimitHard(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--client-output-buffer-limit", "normal", "4mb", "0", "0"}})
		askTooMuch(t, p, 400)
		awaitClosing(t, p, `reason="output limit reached"`)
		harness.MustDo(t, p.Dial(t), "GET", "big")
		awaitInfo(t, p, "client_output_buffer_limit_disconnections:1")
	})
}

func TestOutputLimitSoft(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--client-output-buffer-limit", "normal", "1gb", "1mb", "1"}})
		c := askTooMuch(t, p, 300)
		awaitClosing(t, p, `reason="output limit reached: over the soft level without progress"`)
		if _, err := c.Receive(); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a reply that was sent before: %v", err)
		}
		awaitInfo(t, p, "client_output_buffer_limit_disconnections:1")
	})
}

// Over the soft limit a client's requests are left unread. They are served when it has
// read its replies.
func TestOutputLimitSoftStopsReading(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		const asked = 300
		p := e.Start(t, harness.Options{Args: []string{"--client-output-buffer-limit", "normal", "1gb", "1mb", "60"}})
		c, other := askTooMuch(t, p, asked), p.Dial(t)
		harness.MustDo(t, other, "SET", "n", "0")
		sent := int64(0)
		harness.Eventually(t, harness.Patience, "requests to be left unread", func() error {
			c.Send("INCR", "n")
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			sent++
			served, err := strconv.ParseInt(harness.MustDo(t, other, "GET", "n").(string), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if sent-served < 50 {
				return fmt.Errorf("%d of %d are served", served, sent)
			}
			return nil
		})
		for i := range asked {
			if got, err := c.Receive(); err != nil || len(got.(string)) != valueBytes {
				t.Fatalf("reply %d: %v", i, err)
			}
		}
		for i := range sent {
			if got, err := c.Receive(); err != nil || got != i+1 {
				t.Fatalf("reply %d: %v, %v", asked+i, got, err)
			}
		}
	})
}

// TestContract_OBS1_PrivateConnections: a request that is passed on as it arrives takes a connection that
// is not shared.
func TestContract_OBS1_PrivateConnections(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Workers: 1})
		c := p.Dial(t)
		harness.MustDo(t, c, "SET", "a", "1")
		awaitInfo(t, p, "private_conns:0")
		value := strings.Repeat("x", 2<<20)
		c.Send("SET", "a", value)
		c.Send("SET", "b", value) // at another node
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := c.Receive(); err != nil || got != "OK" {
				t.Fatalf("%v, %v", got, err)
			}
		}
		awaitInfo(t, p, "private_conns:2") // those that nobody needs are kept for 10 s
	})
}

// TestQueryBufferLimitAbove32Bits: a limit that does not fit a frame's offsets is no small one.
func TestQueryBufferLimitAbove32Bits(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--query-buffer-limit", "4gb"}})
		harness.MustDo(t, p.Dial(t), "SET", "a", strings.Repeat("x", 2<<20))
	})
}

// query-buffer-limit bounds one request; a server closes such a client without a word.
func TestQueryBufferLimit(t *testing.T) {
	eachEngineWithCluster(t, func(t *testing.T, e *harness.Env) {
		p := e.Start(t, harness.Options{Args: []string{"--query-buffer-limit", "1mb"}})
		c := p.Dial(t)
		harness.MustDo(t, c, "SET", "a", strings.Repeat("x", 1<<20-100))
		c.Send("GET", "b")
		c.Send("SET", "a", strings.Repeat("y", 2<<20))
		c.Send("SET", "b", "1")
		err := c.Flush() // the proxy may have closed before it has got everything
		if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		if got := rest(t, c); got != "$-1\r\n-ERR Protocol error: too big request\r\n" {
			t.Errorf("got %q", got)
		}
		other := p.Dial(t)
		if got := harness.MustDo(t, other, "GET", "b"); got != nil {
			t.Errorf("what follows a protocol error is executed: b is %v", got)
		}
		if got := harness.MustDo(t, other, "GET", "a").(string); strings.Contains(got, "y") {
			t.Error("the request that was too big is executed")
		}
	})
}

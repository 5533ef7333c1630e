package harness

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mithril/tools/testbed"
)

// I/O engines of the proxy.
const (
	IOUring = "io_uring"
	Epoll   = "epoll"
	Auto    = "auto"
)

const (
	serveTimeout = 15 * time.Second // from the start until keys of every shard are served
	stopTimeout  = 15 * time.Second // from SIGTERM; open sessions have shutdown-timeout-secs
	closeTimeout = 5 * time.Second  // from a client's close until the proxy has closed too
	logTailLines = 30
)

// TB is what the helpers need of testing.TB.
type TB interface {
	testbed.TB
	Errorf(format string, args ...any)
	Failed() bool
	Logf(format string, args ...any)
	Name() string
}

// Options describe one proxy.
type Options struct {
	Cluster  *testbed.Cluster // whose nodes are the bootstrap; nil: Args name them
	Engine   string           // IOUring, Epoll or Auto; "" is Auto
	Workers  int              // 0: as many as the test's layout has
	Sharding string           // backend-sharding; "": as the test's layout says
	Password string           // requirepass
	Checked  bool             // run the build with the tag invariants
	NoWait   bool             // return when the port is open; with a Cluster Start else waits until keys are served
	Args     []string         // further arguments: "--key", "value", ...
}

// Proxy is a running proxy on loopback.
type Proxy struct {
	Addr string // host:port
	PID  int

	port     int
	ports    testbed.Ports
	layout   Layout
	password string
	child    *child
	stopped  bool
}

// Start starts a proxy and waits until it serves. It is stopped when the test ends, and
// the test fails if it has not behaved; see Stop.
func Start(tb TB, options Options) *Proxy {
	tb.Helper()
	server := ""
	if options.Cluster != nil {
		server = options.Cluster.Engine.Name
	}
	options.fill(layoutFor(tb, server, options.Engine))
	p, err := launch(options)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() {
		if err := p.Stop(); err != nil {
			tb.Errorf("%v", err)
		}
		p.logOfFailed(tb)
	})
	return p
}

// logOfFailed shows a failed test what its proxy has logged.
func (p *Proxy) logOfFailed(tb TB) {
	if tb.Failed() {
		tb.Logf("log of the proxy, layout %v:\n%s", p.layout, p.LogTail())
	}
}

// StartAt starts a checked proxy that bootstraps from an address and returns when its port
// is open, whether there is a cluster or not.
func StartAt(tb TB, engine, bootstrap string, args ...string) *Proxy {
	tb.Helper()
	return Start(tb, Options{Engine: engine, Checked: true, NoWait: true, Args: append([]string{"--bootstrap", bootstrap}, args...)})
}

// launch is Start without a test. The options have a layout.
func launch(options Options) (*Proxy, error) {
	path, err := Binary(options.Checked)
	if err != nil {
		return nil, err
	}
	ports, err := testbed.FreePorts(1)
	if err != nil {
		return nil, err
	}
	p := &Proxy{port: ports.Base, ports: ports, layout: Layout{options.Workers, options.Sharding}, password: options.Password}
	p.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port))
	p.child, err = spawn(path, options.args(p.port))
	if err != nil {
		ports.Release()
		return nil, err
	}
	p.PID = p.child.pid()
	if err := p.awaitService(&options); err != nil {
		p.child.end(stopTimeout)
		ports.Release()
		return nil, fmt.Errorf("%w\nlog of the proxy:\n%s", err, p.LogTail())
	}
	return p, nil
}

// fill takes from a layout what the options leave open.
func (o *Options) fill(l Layout) {
	if o.Workers == 0 {
		o.Workers = l.Workers
	}
	if o.Sharding == "" {
		o.Sharding = l.Sharding
	}
}

func (o *Options) args(port int) []string {
	engine := o.Engine
	if engine == "" {
		engine = Auto
	}
	args := []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--io-engine", engine,
		"--worker-threads", strconv.Itoa(o.Workers), "--backend-sharding", o.Sharding,
	}
	if o.Cluster != nil {
		args = append(args, "--bootstrap", strings.Join(o.Cluster.Addrs(), ","))
	}
	if o.Password != "" {
		args = append(args, "--requirepass", o.Password)
	}
	return append(args, o.Args...)
}

// awaitService waits until the port is open and, in front of a cluster, until every shard
// answers, and then until it has no client. It gives up when the process has ended.
func (p *Proxy) awaitService(o *Options) error {
	err := poll(serveTimeout, "the proxy to serve", func() error {
		if !p.child.running() {
			return hopeless{fmt.Errorf("it has ended with %v", p.child.cmd.ProcessState)}
		}
		c, err := p.dial()
		if err != nil || o.NoWait {
			if c != nil {
				c.Close()
			}
			return err
		}
		defer c.Close()
		if o.Cluster == nil {
			_, err := c.Do("PING")
			return err
		}
		return servesEverySlot(c)
	})
	if err != nil || o.NoWait {
		return err
	}
	return p.AwaitNoClients()
}

// servesEverySlot asks for keys spread so that every shard of any sensible cluster has
// one.
func servesEverySlot(c *testbed.Conn) error {
	for i := range 64 {
		if _, err := c.Do("EXISTS", fmt.Sprint("harness:", i)); err != nil {
			return err
		}
	}
	return nil
}

// dial connects and authenticates.
func (p *Proxy) dial() (*testbed.Conn, error) {
	c, err := testbed.Dial(p.Addr)
	if err != nil || p.password == "" {
		return c, err
	}
	if _, err := c.Do("AUTH", p.password); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Dial connects to the proxy, with the password if there is one. The connection is closed
// when the test ends.
func (p *Proxy) Dial(tb TB) *testbed.Conn {
	tb.Helper()
	c, err := p.dial()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// DialFresh is Dial without the password.
func (p *Proxy) DialFresh(tb TB) *testbed.Conn {
	tb.Helper()
	return testbed.MustDial(tb, p.Addr)
}

// DialProto is Dial with HELLO 2 or 3 in front.
func (p *Proxy) DialProto(tb TB, proto int) *testbed.Conn {
	tb.Helper()
	return Hello(tb, p.Dial(tb), proto)
}

// Hello switches a connection to a protocol.
func Hello(tb TB, c *testbed.Conn, proto int) *testbed.Conn {
	tb.Helper()
	if _, err := c.Do("HELLO", proto); err != nil {
		tb.Fatalf("HELLO %d: %v", proto, err)
	}
	return c
}

// Log is everything that the proxy has written to standard output and standard error.
func (p *Proxy) Log() string { return p.child.log.String() }

// LogTail is the end of Log.
func (p *Proxy) LogTail() string {
	lines := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}

// LinesWith counts the lines of Log that have all the words.
func (p *Proxy) LinesWith(words ...string) (n int) {
	for line := range strings.Lines(p.Log()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			n++
		}
	}
	return n
}

// Running reports whether the process exists.
func (p *Proxy) Running() bool { return p.child.running() }

// Signal sends a signal to the process.
func (p *Proxy) Signal(sig os.Signal) error { return p.child.cmd.Process.Signal(sig) }

// RSS is the resident memory of the process in bytes, 0 if it has ended.
func (p *Proxy) RSS() int64 {
	kb, err := procStatus(p.PID, "VmRSS")
	if err != nil {
		return 0
	}
	return kb << 10
}

// PeakRSS is the highest RSS that the process has had since it started.
func (p *Proxy) PeakRSS() int64 {
	kb, err := procStatus(p.PID, "VmHWM")
	if err != nil {
		return 0
	}
	return kb << 10
}

// Descriptors counts the open files of the process, 0 if it has ended.
func (p *Proxy) Descriptors() int {
	n, _ := procDescriptors(p.PID)
	return n
}

// Clients counts the client connections that the proxy has not closed.
func (p *Proxy) Clients() int {
	established, closeWait, _ := openSockets(p.port)
	return established + closeWait
}

// AwaitNoClients waits until every connection that its client has closed is closed by the
// proxy too.
func (p *Proxy) AwaitNoClients() error {
	return poll(closeTimeout, "the proxy to close its clients' connections", func() error {
		established, closeWait, err := openSockets(p.port)
		if err == nil && established+closeWait > 0 {
			err = fmt.Errorf("%d are open and %d in CLOSE_WAIT", established, closeWait)
		}
		return err
	})
}

// Healthy returns nil for a running proxy that has logged no panic.
func (p *Proxy) Healthy() error {
	if !p.Running() {
		return fmt.Errorf("the proxy has ended with %v; its log:\n%s", p.child.cmd.ProcessState, p.LogTail())
	}
	return p.noPanic()
}

// crashWords begin a line of the log when the Go runtime gives up.
var crashWords = []string{"panic:", "fatal error:", "runtime:", "unexpected fault", "SIG"}

func (p *Proxy) noPanic() error {
	for line := range strings.Lines(p.Log()) {
		for _, word := range crashWords {
			if strings.HasPrefix(line, word) {
				return fmt.Errorf("the proxy has logged %q", line)
			}
		}
	}
	return nil
}

// Stop ends the proxy with SIGTERM. It returns what the proxy did wrong in its life: a
// panic, client connections that it kept, an exit status other than 0, or no end at all.
func (p *Proxy) Stop() error {
	if p.stopped {
		return nil
	}
	p.stopped = true
	defer p.ports.Release()
	if !p.Running() {
		return fmt.Errorf("the proxy had ended before it was told to, with %v; its log:\n%s", p.child.cmd.ProcessState, p.LogTail())
	}
	leak := p.AwaitNoClients()
	status, err := p.child.end(stopTimeout)
	if err == nil && status != 0 {
		err = fmt.Errorf("the proxy ended with status %d, want 0", status)
	}
	return errors.Join(leak, err, p.noPanic())
}

// Kill ends the proxy at once, for tests that are not about its end.
func (p *Proxy) Kill() {
	p.stopped = true
	p.child.cmd.Process.Signal(syscall.SIGKILL)
	<-p.child.exited
	p.ports.Release()
}

// AwaitExit waits until the process has ended by itself and returns its exit status.
// Stop does nothing afterwards.
func (p *Proxy) AwaitExit(timeout time.Duration) (status int, err error) {
	select {
	case <-p.child.exited:
	case <-time.After(timeout):
		return -1, fmt.Errorf("the proxy was not gone after %v", timeout)
	}
	if !p.stopped {
		p.stopped = true
		p.ports.Release()
	}
	return p.child.cmd.ProcessState.ExitCode(), nil
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"mithril/tools/testbed"
)

// Servers are the server releases of the matrix, in the order in which it runs them.
var Servers = []string{testbed.Redis70, testbed.Redis80, testbed.Valkey91}

// IOEngines are the proxy's I/O engines of the matrix.
var IOEngines = []string{IOUring, Epoll}

// Env is one cell of the matrix, with one layout. Its servers are empty when the test begins.
type Env struct {
	Server  string           // name of the server release
	Engine  string           // the proxy's I/O engine
	Layout  Layout           // the proxy's, and of those that Start starts
	Cluster *testbed.Cluster // three primaries, three replicas
	Lone    *testbed.Node    // a standalone node of the same release
	Proxy   *Proxy           // in front of Cluster, shared by the tests of the cell
}

// servers are the servers of one release, kept until Main ends.
type servers struct {
	once    sync.Once
	cluster *testbed.Cluster
	lone    *testbed.Node
	err     error
	proxies map[kind]*Proxy

	disturbances int64 // of the cluster, when the proxies were started
}

// kind tells the shared proxies in front of one cluster apart.
type kind struct {
	engine string
	layout Layout
}

// kept has the servers that the tests of this process have asked for, by release. Tests
// that use them do not run in parallel.
var kept = func() map[string]*servers {
	m := map[string]*servers{}
	for _, name := range Servers {
		m[name] = &servers{proxies: map[kind]*Proxy{}}
	}
	return m
}()

// Main is the body of TestMain: it runs the tests and stops what they shared.
func Main(m *testing.M) {
	status := m.Run()
	for _, name := range Servers {
		if err := kept[name].stop(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			status = max(status, 1)
		}
	}
	removeBuilds()
	os.Exit(status)
}

// Matrix runs a test as subtests server/engine, for every server release with every I/O
// engine.
func Matrix(t *testing.T, test func(t *testing.T, e *Env)) {
	t.Helper()
	for _, server := range Servers {
		t.Run(server, func(t *testing.T) {
			EachEngine(t, func(t *testing.T, engine string) { run(t, server, engine, test) })
		})
	}
}

// Each runs a test once for every server release, with the io_uring engine: for what does
// not depend on the I/O engine.
func Each(t *testing.T, test func(t *testing.T, e *Env)) {
	t.Helper()
	for _, server := range Servers {
		t.Run(server, func(t *testing.T) { run(t, server, IOUring, test) })
	}
}

// EachEngine runs a test as subtests, with every I/O engine.
func EachEngine(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range IOEngines {
		t.Run(engine, func(t *testing.T) { test(t, engine) })
	}
}

// One runs a test in one cell of the matrix.
func One(t *testing.T, server, engine string, test func(t *testing.T, e *Env)) {
	t.Helper()
	run(t, server, engine, test)
}

// run prepares a cell and judges its proxy after the test.
func run(t *testing.T, server, engine string, test func(t *testing.T, e *Env)) {
	t.Helper()
	s := kept[server]
	s.once.Do(func() { s.err = s.start(server) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	k := kind{engine, layoutFor(t, server, engine)}
	p, err := s.proxy(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	e := &Env{Server: server, Engine: engine, Layout: k.layout, Cluster: s.cluster, Lone: s.lone, Proxy: p}
	e.Flush(t)
	t.Cleanup(func() {
		if err := e.Proxy.Healthy(); err != nil {
			delete(s.proxies, k)
			e.Proxy.Kill()
			t.Errorf("%v", err)
		} else if err := e.Proxy.AwaitNoClients(); err != nil {
			delete(s.proxies, k)
			e.Proxy.Kill()
			t.Errorf("%v", err)
		}
		e.Proxy.logOfFailed(t)
		e.logOfFailed(t)
	})
	test(t, e)
}

// logOfFailed shows a failed test what the nodes of its cluster have logged, and how one of
// them sees it: the cluster is one that earlier tests have used, and elects by itself.
func (e *Env) logOfFailed(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, n := range e.Cluster.Nodes() {
		t.Logf("log of the node %s, %s:\n%s", n.Addr(), n.State(), n.LogTail())
	}
	for _, n := range e.Cluster.Nodes() {
		if c, err := n.Dial(); err == nil {
			nodes, err := c.Do("CLUSTER", "NODES")
			t.Logf("CLUSTER NODES at %s: %v, %v", n.Addr(), err, nodes)
			c.Close()
		}
	}
}

func (s *servers) start(server string) error {
	ctx := context.Background()
	var err error
	if s.cluster, err = testbed.Start(ctx, testbed.Options{Engine: server}); err != nil {
		return err
	}
	s.lone, err = testbed.StartNode(ctx, testbed.NodeOptions{Engine: server})
	return err
}

// proxy returns the shared proxy of a kind. None outlives a disturbance of the cluster: an idle
// one may have taken its map while a slot was elsewhere or a node was down.
func (s *servers) proxy(ctx context.Context, k kind) (*Proxy, error) {
	if n := s.cluster.Disturbances(); n != s.disturbances {
		s.disturbances = n
		if err := errors.Join(s.cluster.WaitOK(ctx), s.stopProxies()); err != nil {
			return nil, err
		}
	}
	if p := s.proxies[k]; p != nil {
		return p, nil
	}
	options := Options{Cluster: s.cluster, Engine: k.engine, Checked: true}
	options.fill(k.layout)
	p, err := launch(options)
	if err == nil {
		s.proxies[k] = p
	}
	return p, err
}

func (s *servers) stopProxies() error {
	var errs []error
	for k, p := range s.proxies {
		errs = append(errs, p.Stop())
		delete(s.proxies, k)
	}
	return errors.Join(errs...)
}

func (s *servers) stop() error {
	err := s.stopProxies()
	if s.cluster != nil {
		s.cluster.Stop()
	}
	if s.lone != nil {
		s.lone.Stop()
	}
	return err
}

// Start starts another proxy in front of the cell's cluster, for this test alone.
func (e *Env) Start(tb TB, options Options) *Proxy {
	tb.Helper()
	options.Cluster, options.Engine, options.Checked = e.Cluster, e.Engine, true
	options.fill(e.Layout)
	return Start(tb, options)
}

// Flush empties the cell's servers.
func (e *Env) Flush(tb TB) {
	tb.Helper()
	for _, n := range append(e.Cluster.Nodes(), e.Lone) {
		if err := flush(n); err != nil {
			tb.Fatalf("%v", err)
		}
	}
}

// flush empties a primary; a replica follows its own.
func flush(n *testbed.Node) error {
	c, err := n.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Do("FLUSHALL"); err != nil && err != testbed.Error("READONLY You can't write against a read only replica.") {
		return fmt.Errorf("node %s: FLUSHALL: %w", n.Addr(), err)
	}
	return nil
}

// DialLone connects to the lone node.
func (e *Env) DialLone(tb TB) *testbed.Conn {
	tb.Helper()
	return testbed.MustDial(tb, e.Lone.Addr())
}

// Owner connects to the primary that owns a key.
func (e *Env) Owner(tb TB, key string) *testbed.Conn {
	tb.Helper()
	c, err := e.owner(key)
	if err != nil {
		tb.Fatalf("owner of key %q: %v", key, err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

func (e *Env) owner(key string) (*testbed.Conn, error) {
	var last error
	for _, n := range e.Cluster.Nodes() {
		c, err := n.Dial()
		if err != nil {
			return nil, err
		}
		if _, last = c.Do("EXISTS", key); last == nil {
			return c, nil
		}
		c.Close()
	}
	return nil, last
}

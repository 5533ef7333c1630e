package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"mithril/src/resp"
	"mithril/tools/testbed"
)

// liveNodes holds one lone server per version, started at first use.
var liveNodes = func() map[Version]func() (*testbed.Node, error) {
	m := map[Version]func() (*testbed.Node, error){}
	for _, v := range Versions {
		m[v] = sync.OnceValues(func() (*testbed.Node, error) {
			node, err := testbed.StartNode(context.Background(), testbed.NodeOptions{Engine: engineOf(v)})
			if err == nil {
				toStop(node)
			}
			return node, err
		})
	}
	return m
}()

// engineOf is the name under which the test bed has a version.
func engineOf(v Version) string { return fmt.Sprintf("%s%d.%d", v.Engine, v.Major, v.Minor) }

// started are servers and clusters that the tests share.
var (
	startedMu sync.Mutex
	started   []stopper
)

type stopper interface{ Stop() error }

func toStop(s stopper) {
	startedMu.Lock()
	defer startedMu.Unlock()
	started = append(started, s)
}

// liveReplicas holds per version the replica of a cluster with one primary, started at first use.
var liveReplicas = func() map[Version]func() (*testbed.Node, error) {
	m := map[Version]func() (*testbed.Node, error){}
	for _, v := range Versions {
		m[v] = sync.OnceValues(func() (*testbed.Node, error) {
			c, err := testbed.Start(context.Background(), testbed.Options{Engine: engineOf(v), Primaries: 1})
			if err != nil {
				return nil, err
			}
			toStop(c)
			return c.Nodes()[1], nil
		})
	}
	return m
}()

// dialReplica connects to a replica of the version that a table describes.
func dialReplica(t *testing.T, table *Table) *testbed.Conn {
	t.Helper()
	var starting sync.WaitGroup // a cluster takes its seconds to form
	for _, start := range liveReplicas {
		starting.Go(func() { start() })
	}
	starting.Wait()
	node, err := liveReplicas[table.Version()]()
	if err != nil {
		t.Fatal(err)
	}
	return testbed.MustDial(t, node.Addr())
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, servers := range started {
		servers.Stop()
	}
	os.Exit(code)
}

// dialLive connects to the server that a table describes.
func dialLive(t *testing.T, table *Table, proto resp.Proto) *testbed.Conn {
	t.Helper()
	node, err := liveNodes[table.Version()]()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := node.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Do("HELLO", int(proto)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchange sends requests in batches and returns the bytes of each reply.
func exchange(t *testing.T, conn *testbed.Conn, requests [][]string) (replies []string) {
	t.Helper()
	for batch := range slices.Chunk(requests, 100) {
		var out []byte
		for _, words := range batch {
			out = resp.AppendCommand(out, words...)
		}
		if err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		for _, words := range batch {
			reply, err := conn.DoRaw(nil, 1)
			if err != nil {
				t.Fatalf("%q: %v", words, err)
			}
			replies = append(replies, string(reply))
		}
	}
	return replies
}

// rawReply returns the bytes of a server's reply to one request.
func rawReply(t *testing.T, conn *testbed.Conn, words ...string) string {
	t.Helper()
	reply, err := conn.DoRaw(resp.AppendCommand(nil, words...), 1)
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return string(reply)
}

// readOnlyConn lets a testbed.Conn read bytes that no server sent.
type readOnlyConn struct {
	net.Conn
	r io.Reader
}

func (c *readOnlyConn) Read(b []byte) (int, error)        { return c.r.Read(b) }
func (c *readOnlyConn) SetReadDeadline(_ time.Time) error { return nil }

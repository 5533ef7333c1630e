package command

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
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
			engine := fmt.Sprintf("%s%d.%d", v.Engine, v.Major, v.Minor)
			node, err := testbed.StartNode(context.Background(), testbed.NodeOptions{Engine: engine})
			if err == nil {
				started = append(started, node)
			}
			return node, err
		})
	}
	return m
}()

var started []*testbed.Node

func TestMain(m *testing.M) {
	code := m.Run()
	for _, node := range started {
		node.Stop()
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

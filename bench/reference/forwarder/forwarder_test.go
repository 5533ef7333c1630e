package forwarder

import (
	"bytes"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// serve runs a forwarder in front of a cluster and returns its address.
func serve(t *testing.T, cluster *testbed.Cluster) string {
	t.Helper()
	f, err := New(t.Context(), append([]string{"127.0.0.1:1"}, cluster.Addrs()...))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go f.Serve(listener)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func TestForwarder(t *testing.T) {
	cluster := testbed.RunCluster(t, testbed.Options{Replicas: testbed.NoReplicas})
	addr := serve(t, cluster)
	for name, test := range map[string]func(*testing.T, *testbed.Conn){
		"order":    testOrder,
		"mget":     testMGet,
		"large":    testLarge,
		"keyless":  testKeyless,
		"errors":   testErrors,
		"protocol": testProtocolError,
	} {
		t.Run(name, func(t *testing.T) { test(t, testbed.MustDial(t, addr)) })
	}
	t.Run("lost node", func(t *testing.T) { testLostNode(t, cluster, testbed.MustDial(t, addr)) })
}

// testOrder sends far more than the queues hold, to all shards, before it reads.
func testOrder(t *testing.T, c *testbed.Conn) {
	const count = 20000
	go func() {
		for i := range count {
			c.Send("SET", fmt.Sprint("order", i), i)
			c.Send("GET", fmt.Sprint("order", i))
		}
		c.Flush()
	}()
	for i := range count {
		if reply, err := c.Receive(); reply != "OK" || err != nil {
			t.Fatalf("SET %d answers %v, %v", i, reply, err)
		}
		if reply, err := c.Receive(); reply != fmt.Sprint(i) || err != nil {
			t.Fatalf("GET %d answers %v, %v", i, reply, err)
		}
	}
}

func testMGet(t *testing.T, c *testbed.Conn) {
	for _, key := range []string{"a", "b", "c", "d", "{t}1", "{t}2"} {
		if _, err := c.Do("SET", key, "value of "+key); err != nil {
			t.Fatal(err)
		}
	}
	c.Do("LPUSH", "list", "x")
	for keys, want := range map[string][]any{
		"a":              {"value of a"},
		"{t}2 {t}0 {t}1": {"value of {t}2", nil, "value of {t}1"},
		"d nil1 a b {t}1 a list c {t}2 nil2 b": {
			"value of d", nil, "value of a", "value of b", "value of {t}1", "value of a", nil, "value of c", "value of {t}2", nil, "value of b",
		},
	} {
		command := []any{"mget"}
		for _, key := range strings.Fields(keys) {
			command = append(command, key)
		}
		if got, err := c.Do(command...); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("MGET %s answers %q, %v", keys, got, err)
		}
	}
}

func testLarge(t *testing.T, c *testbed.Conn) {
	value := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<18))
	for range 3 {
		if reply, err := c.Do("SET", "large", value); reply != "OK" || err != nil {
			t.Fatalf("SET answers %v, %v", reply, err)
		}
		if reply, err := c.Do("GET", "large"); reply != value || err != nil {
			t.Fatalf("GET answers %d bytes, %v", len(fmt.Sprint(reply)), err)
		}
	}
	want := []any{value, nil, value}
	if got, err := c.Do("MGET", "large", "no", "large"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("MGET differs, %v", err)
	}
}

func testKeyless(t *testing.T, c *testbed.Conn) {
	replies, err := c.Pipeline([]any{"PING"}, []any{"SET", "k", "v"}, []any{"ping"}, []any{"GET", "k"})
	if err != nil || !reflect.DeepEqual(replies, []any{"PONG", "OK", "PONG", "v"}) {
		t.Errorf("the pipeline answers %v, %v", replies, err)
	}
	if reply, err := c.Do("TIME"); err != nil || len(reply.([]any)) != 2 {
		t.Errorf("TIME answers %v, %v", reply, err)
	}
}

func testErrors(t *testing.T, c *testbed.Conn) {
	_, err := c.Do("NOSUCH", "a")
	if reply, ok := err.(testbed.Error); !ok || !strings.HasPrefix(string(reply), "ERR unknown command 'NOSUCH'") {
		t.Errorf("an unknown command answers %v", err)
	}
	if reply, err := c.Do("PING"); reply != "PONG" || err != nil {
		t.Errorf("after an error PING answers %v, %v", reply, err)
	}
}

func testProtocolError(t *testing.T, c *testbed.Conn) {
	if err := c.Write([]byte("*2\r\n$3\r\nGET\r\n$4\r\nnone\r\n+what\r\n")); err != nil {
		t.Fatal(err)
	}
	if reply, err := c.Receive(); reply != nil || err != nil {
		t.Errorf("the request before answers %v, %v", reply, err)
	}
	if reply, err := c.Receive(); err != nil || !strings.HasPrefix(fmt.Sprint(reply), "ERR protocol error: ") {
		t.Errorf("the bad request answers %v, %v", reply, err)
	}
	if reply, err := c.Receive(); err == nil {
		t.Errorf("the connection stays open and answers %v", reply)
	}
}

// testLostNode must come last.
func testLostNode(t *testing.T, cluster *testbed.Cluster, c *testbed.Conn) {
	if err := cluster.Kill(0); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for i := range 50 {
		reply, err := c.Do("SET", fmt.Sprint("lost", i), "x")
		switch {
		case err == testbed.Error(strings.TrimSuffix(lostReply[1:], "\r\n")):
			lost++
		case err != nil || reply != "OK":
			t.Fatalf("SET %d answers %v, %v", i, reply, err)
		}
	}
	if lost == 0 || lost == 50 {
		t.Errorf("%d of 50 keys answer that their node is lost", lost)
	}
}

func TestMGetJoinsErrors(t *testing.T) {
	for name, test := range map[string]struct{ first, second, want string }{
		"good":         {"*1\r\n$1\r\nx\r\n", "*1\r\n$-1\r\n", "*2\r\n$1\r\nx\r\n$-1\r\n"},
		"first error":  {"-ERR a\r\n", "-ERR b\r\n", "-ERR a\r\n"},
		"second error": {"*1\r\n$1\r\nx\r\n", "-ERR b\r\n", "-ERR b\r\n"},
		"too short":    {"*1\r\n$1\r\nx\r\n", "*0\r\n", "-ERR MGET: protocol error: header \"\"\r\n"},
		"cut":          {"*1\r\n$1\r\nx\r\n", "*1\r\n$5\r\nx\r\n", "-ERR MGET: protocol error: a value of 5 bytes ends behind its reply\r\n"},
	} {
		first, second := &request{reply: []byte(test.first)}, &request{reply: []byte(test.second)}
		r := &request{parts: []*request{first, second}, owners: []*request{first, second}}
		if r.join(); string(r.reply) != test.want {
			t.Errorf("%s: %q, want %q", name, r.reply, test.want)
		}
	}
}

func TestBadSlotMapsAreRefused(t *testing.T) {
	node := []any{"h", int64(1)}
	if ranges, err := parseSlots([]any{[]any{int64(0), int64(slotLast), node, []any{"replica", int64(2)}}}); err != nil || !reflect.DeepEqual(ranges, []slotRange{{0, slotLast, "h:1"}}) {
		t.Errorf("a good map is %v, %v", ranges, err)
	}
	for _, reply := range []any{
		"text", []any{"row"}, []any{[]any{int64(0), int64(1)}}, []any{[]any{int64(0), int64(slotLast + 1), node}},
		[]any{[]any{int64(-1), int64(1), node}}, []any{[]any{int64(0), int64(1), []any{nil, int64(1)}}}, []any{[]any{int64(0), int64(1), []any{"h"}}},
	} {
		if ranges, err := parseSlots(reply); err == nil {
			t.Errorf("%v gives %v", reply, ranges)
		}
	}
	if _, err := connect(t.Context(), nil); err == nil || err.Error() != "slot 0 has no primary" {
		t.Errorf("an empty map: %v", err)
	}
}

const slotLast = 16383

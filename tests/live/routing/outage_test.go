package routing

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// ofEveryShard are requests that need an answer of every primary.
var ofEveryShard = [][]any{
	{"KEYS", "*"}, {"DBSIZE"}, {"RANDOMKEY"}, {"FLUSHALL"}, {"FLUSHDB", "ASYNC"}, {"LASTSAVE"}, {"MEMORY", "PURGE"}, {"SCRIPT", "EXISTS", "x"},
	{"SCRIPT", "LOAD", "return 1"}, {"SCRIPT", "FLUSH"},
}

// TestContract_ROUTE3_DeadPrimary kills a primary that nobody replaces. What concerns every
// shard is answered with one error that names it, what concerns the others goes on, and a
// request is never answered from a part of the shards.
func TestContract_ROUTE3_DeadPrimary(t *testing.T) {
	cluster := testbed.RunCluster(t, testbed.Options{Replicas: testbed.NoReplicas, Config: []string{"cluster-require-full-coverage no"}})
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Checked: true})
		c := p.Dial(t)
		fill(t, c, spread(30))
		victim := cluster.Nodes()[1]
		if err := victim.Kill(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Restart(context.WithoutCancel(t.Context()), victim.Index); err != nil {
				t.Error(err)
			}
			if err := cluster.WaitOK(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		for _, proto := range []int{2, 3} {
			c := p.DialProto(t, proto)
			for _, request := range ofEveryShard {
				wantOutage(t, c, victim, request)
			}
			other := tagOfSlot(100) // of the first shard
			outage := wantOutage(t, c, victim, []any{"DBSIZE"})
			replies, err := c.Pipeline([]any{"SET", other, "v"}, []any{"DBSIZE"}, []any{"GET", other}, []any{"PING"})
			if err != nil || len(replies) != 4 || replies[0] != "OK" || !strings.Contains(fmt.Sprint(replies[1]), victim.Addr()) ||
				replies[2] != "v" || replies[3] != "PONG" {
				t.Errorf("behind %v: %v, %v", outage, replies, err)
			}
		}
		walkMeetsOutage(t, p.Dial(t), victim)
	})
}

// wantOutage sends a request whose reply must be one error that names the node.
func wantOutage(t *testing.T, c *testbed.Conn, victim *testbed.Node, request []any) error {
	t.Helper()
	began := time.Now()
	reply, err := c.Do(request...)
	if e, isError := err.(testbed.Error); !isError || !strings.Contains(string(e), "node "+victim.Addr()+" ") {
		t.Errorf("%v: %v, %v, want an error that names %s", request, reply, err, victim.Addr())
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%v took %v", request, took)
	}
	return err
}

// walkMeetsOutage scans up to the shard whose primary is dead. There the walk gets an error,
// with which it can be tried again, and does not end as though it were complete.
func walkMeetsOutage(t *testing.T, c *testbed.Conn, victim *testbed.Node) {
	t.Helper()
	cursor := "0"
	for range callsMax {
		reply, err := c.Do("SCAN", cursor)
		if err != nil {
			if !strings.Contains(err.Error(), victim.Addr()) {
				t.Errorf("SCAN %s: %v, want an error that names %s", cursor, err, victim.Addr())
			}
			return
		}
		if cursor = reply.([]any)[0].(string); cursor == "0" {
			t.Error("SCAN ends although a shard is missing")
			return
		}
	}
	t.Error("SCAN does not end")
}

// TestContract_ROUTE3_HangingPrimary stops a primary that has accepted the request. With a
// backend-timeout-ms the session gets its error then and goes on.
func TestContract_ROUTE3_HangingPrimary(t *testing.T) {
	cluster := testbed.RunCluster(t, testbed.Options{Replicas: testbed.NoReplicas, Config: []string{"cluster-node-timeout 60000"}})
	const timeout = 200 * time.Millisecond
	harness.EachEngine(t, func(t *testing.T, engine string) {
		p := harness.Start(t, harness.Options{
			Cluster: cluster, Engine: engine, Checked: true, Args: []string{"--backend-timeout-ms", fmt.Sprint(timeout.Milliseconds())},
		})
		victim := cluster.Nodes()[2]
		resume := func() {
			if err := victim.Resume(); err != nil {
				t.Error(err)
			}
		}
		for _, request := range append([][]any{{"SCAN", "0", "COUNT", 1000}}, ofEveryShard...) {
			c, bystander := p.Dial(t), p.Dial(t)
			do(t, c, "DBSIZE") // the connections are there
			if err := victim.Pause(); err != nil {
				t.Fatal(err)
			}
			if request[0] == "SCAN" {
				walkMeetsOutage(t, c, victim)
				resume()
				continue
			}
			c.Send(request...)
			c.Send("PING")
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			other := tagOfSlot(100) // of the first shard
			if do(t, bystander, "SET", other, "v"); do(t, bystander, "GET", other) != "v" {
				t.Error("another session is disturbed")
			}
			reply, err := c.Receive()
			resume()
			if e, isError := reply.(testbed.Error); err != nil || !isError || !strings.Contains(string(e), victim.Addr()) {
				t.Errorf("%v: %v, %v, want an error that names %s", request, reply, err, victim.Addr())
			}
			if reply, err := c.Receive(); err != nil || reply != "PONG" {
				t.Errorf("behind %v: %v, %v", request, reply, err)
			}
			awaitDo(t, c, "DBSIZE")
		}
	})
}

// awaitDo waits until a command is not answered with an error.
func awaitDo(t *testing.T, c *testbed.Conn, args ...any) {
	t.Helper()
	harness.Eventually(t, harness.Patience, fmt.Sprint(args, " to succeed"), func() error {
		_, err := c.Do(args...)
		return err
	})
}

// TestCase_B09_BroadcastWithADeadReplica: what replicas are told too succeeds without them.
func TestCase_B09_BroadcastWithADeadReplica(t *testing.T) {
	const library = "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		const index = 3 // of the first shard
		if role := do(t, testbed.MustDial(t, e.Cluster.Nodes()[index].Addr()), "ROLE").([]any)[0]; role != "slave" {
			t.Fatalf("node %d is a %v", index, role)
		}
		c := e.Proxy.Dial(t)
		succeed := func(when string) {
			for _, request := range [][]any{
				{"SCRIPT", "LOAD", "return 1"}, {"FUNCTION", "LOAD", library}, {"FUNCTION", "DELETE", "lib"}, {"FLUSHALL"}, {"SCRIPT", "FLUSH"},
				{"FUNCTION", "FLUSH"}, {"KEYS", "*"}, {"DBSIZE"},
			} {
				began := time.Now()
				if reply, err := c.Do(request...); err != nil || time.Since(began) > 2*time.Second {
					t.Errorf("%s: %v: %v, %v after %v", when, request, reply, err, time.Since(began))
				}
			}
		}
		succeed("with every replica")
		if err := e.Cluster.Kill(index); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Cluster.Restart(context.WithoutCancel(t.Context()), index); err != nil {
				t.Error(err)
			}
			if err := e.Cluster.WaitOK(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		for i := range 5 {
			succeed(fmt.Sprint("with a dead replica, time ", i))
		}
	})
}

// TestCase_B09_BroadcastWithAHangingReplica: a replica that neither answers nor ends holds up
// what it is told too for a moment, and nothing else.
func TestCase_B09_BroadcastWithAHangingReplica(t *testing.T) {
	const (
		index  = 3 // of the first shard
		within = 4 * time.Second
	)
	cluster := testbed.RunCluster(t, testbed.Options{Config: []string{"cluster-node-timeout 60000"}})
	harness.EachEngine(t, func(t *testing.T, engine string) {
		c := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Checked: true}).Dial(t)
		if err := cluster.Pause(index); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Resume(index); err != nil {
				t.Error(err)
			}
		})
		for _, request := range [][]any{{"FLUSHALL"}, {"KEYS", "*"}, {"SCRIPT", "LOAD", "return 1"}, {"FUNCTION", "FLUSH"}, {"SCRIPT", "FLUSH"}} {
			began := time.Now()
			if reply, err := c.Do(request...); err != nil || time.Since(began) > within {
				t.Errorf("%v: %v, %v after %v", request, reply, err, time.Since(began))
			}
		}
	})
}

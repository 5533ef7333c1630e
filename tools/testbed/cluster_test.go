package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestCluster runs one cluster of each engine through everything that the
// test bed does to clusters.
func TestCluster(t *testing.T) {
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			c := RunCluster(t, Options{Engine: engine, Password: "secret", Config: []string{"maxmemory 64mb"}})
			checkFresh(t, c)
			checkLegacyMove(t, c)
			checkAbortedMove(t, c)
			checkAtomicMove(t, c)
			checkFailover(t, c)
			checkKillRestart(t, c)
			checkPause(t, c)
		})
	}
}

// checkFresh looks at a cluster as Start leaves it.
func checkFresh(t *testing.T, c *Cluster) {
	t.Helper()
	slots := 0
	for i, s := range c.Status() {
		role := Replica
		if i < 3 {
			role = Primary
		}
		if s.Index != i || s.Shard != i%3 || s.Role != role || s.State != Running || !s.OK || len(s.ID) != 40 || s.PID == 0 {
			t.Fatalf("node %d is %+v, want a serving %s of shard %d", i, s, role, i%3)
		}
		for _, r := range s.Slots {
			slots += r.Last - r.First + 1
		}
	}
	if slots != SlotCount {
		t.Fatalf("the primaries own %d slots, want %d", slots, SlotCount)
	}
	for _, node := range c.Nodes() {
		reply, err := node.do("CLUSTER", "SLOTS")
		if text := fmt.Sprint(reply); err != nil || strings.Count(text, "127.0.0.1") != 6 {
			t.Fatalf("CLUSTER SLOTS of node %d has not all six nodes: %s, %v", node.Index, text, err)
		}
	}
	n := mustNode(t, c, 5)
	if value, err := n.config("maxmemory"); err != nil || value != "67108864" {
		t.Fatalf("maxmemory is %q, %v: the further configuration line did not arrive", value, err)
	}
	reply, err := MustDial(t, n.Addr()).Do("PING")
	if want := Error("NOAUTH Authentication required."); err != want {
		t.Fatalf("PING without the password: %v, %v, want %v", reply, err, want)
	}
	if _, err := c.Node(6); err == nil || err.Error() != "no node 6: the cluster has nodes 0 to 5" {
		t.Fatalf("Node(6): %v", err)
	}
	if _, err := c.Primary(3); err == nil || err.Error() != "no shard 3: the cluster has shards 0 to 2" {
		t.Fatalf("Primary(3): %v", err)
	}
}

// The slot of the hash tag {a}, in the last shard of two or three.
const slotOfA = 15495

// checkLegacyMove moves a slot with its keys there and back.
func checkLegacyMove(t *testing.T, c *Cluster) {
	t.Helper()
	const keys = 5
	source, target := dialNode(t, c, 2), dialNode(t, c, 0)
	for i := range keys {
		mustDo(t, source, "SET", fmt.Sprint("{a}", i), i)
	}
	var steps []string
	move := Move{Slot: slotOfA, From: 2, To: 0, Batch: 2, Hook: func(step MoveStep) error {
		steps = append(steps, step.String())
		if step != MoveMigrating {
			return nil
		}
		want := Error(fmt.Sprintf("ASK %d %s", slotOfA, mustNode(t, c, 0).Addr()))
		if reply, err := source.Do("GET", "{a}missing"); err != want {
			t.Errorf("GET of a missing key while the slot migrates: %v, %v, want %v", reply, err, want)
		}
		return nil
	}}
	if err := c.MoveSlotLegacy(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	const want = "importing migrating batch batch batch emptied target-owns source-gave-up agreed"
	if got := strings.Join(steps, " "); got != want {
		t.Fatalf("steps %q, want %q", got, want)
	}
	for i := range keys {
		if reply, err := target.Do("GET", fmt.Sprint("{a}", i)); reply != fmt.Sprint(i) {
			t.Fatalf("key %d at the target: %v, %v", i, reply, err)
		}
	}
	if err := c.MoveSlotLegacy(t.Context(), move); err == nil || !strings.Contains(err.Error(), "slot 15495 is not owned by shard 2") {
		t.Fatalf("second move: %v", err)
	}
	if err := c.MoveSlotLegacy(t.Context(), Move{Slot: slotOfA, From: 0, To: 2}); err != nil {
		t.Fatal(err)
	}
	if reply, err := source.Do("GET", "{a}4"); reply != "4" {
		t.Fatalf("key back at the source: %v, %v", reply, err)
	}
}

// checkAbortedMove leaves a slot half moved, and then moves it whole.
func checkAbortedMove(t *testing.T, c *Cluster) {
	t.Helper()
	stop := errors.New("stop here")
	move := Move{Slot: slotOfA, From: 2, To: 1, Batch: 1, Hook: func(step MoveStep) error {
		if step == MoveBatch {
			return stop
		}
		return nil
	}}
	if err := c.MoveSlotLegacy(t.Context(), move); !errors.Is(err, stop) {
		t.Fatalf("aborted move: %v, want %v", err, stop)
	}
	if n := mustDo(t, dialNode(t, c, 2), "CLUSTER", "COUNTKEYSINSLOT", slotOfA); n != int64(4) {
		t.Fatalf("the source has %v keys of the half-moved slot, want 4", n)
	}
	move.Hook = nil
	if err := c.MoveSlotLegacy(t.Context(), move); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveSlotLegacy(t.Context(), Move{Slot: slotOfA, From: 1, To: 2}); err != nil {
		t.Fatal(err)
	}
}

// checkAtomicMove moves two slots there and back where the engine can.
func checkAtomicMove(t *testing.T, c *Cluster) {
	t.Helper()
	err := c.MoveSlotsAtomic(t.Context(), slotOfA, slotOfA+1, 2, 0)
	if !c.Engine.AtomicMigration() {
		if err == nil || !strings.Contains(err.Error(), "has no CLUSTER MIGRATESLOTS") {
			t.Fatalf("atomic move: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := dialNode(t, c, 0).Do("GET", "{a}4"); reply != "4" {
		t.Fatalf("key at the target: %v, %v", reply, err)
	}
	if err := c.MoveSlotsAtomic(t.Context(), slotOfA, slotOfA+1, 0, 2); err != nil {
		t.Fatal(err)
	}
	if reply, err := dialNode(t, c, 2).Do("GET", "{a}4"); reply != "4" {
		t.Fatalf("key back at the source: %v, %v", reply, err)
	}
}

// checkFailover replaces a primary, and takes it back as a client would.
func checkFailover(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n, err := c.WaitFailover(ctx, 0, 0); err == nil || !strings.HasSuffix(err.Error(), "node 0 is still its primary") {
		t.Fatalf("waiting for a failover that nobody asked for: node %d, %v", n, err)
	}
	first, err := c.Failover(t.Context(), 0)
	if err != nil || first != 3 || c.Status()[3].Role != Primary {
		t.Fatalf("failover: node %d, %v, want node 3 as primary", first, err)
	}
	if err := c.WaitOK(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustDo(t, dialNode(t, c, 0), "CLUSTER", "FAILOVER")
	second, err := c.WaitFailover(t.Context(), 0, 3)
	if err != nil || second != 0 || c.Status()[0].Role != Primary {
		t.Fatalf("failover by a client: node %d, %v, want node 0 as primary", second, err)
	}
}

// checkKillRestart lets the cluster replace a killed primary and takes the
// old one back as a replica.
func checkKillRestart(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	if s := c.Status()[1]; s.State != Down || s.Role != "" {
		t.Fatalf("killed node: %+v", s)
	}
	if err := c.Kill(1); err == nil || err.Error() != "node "+mustNode(t, c, 1).Addr()+" is down" {
		t.Fatalf("second kill: %v", err)
	}
	next, err := c.WaitFailover(t.Context(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if next != 4 {
		t.Fatalf("node %d took over, want 4", next)
	}
	if _, err := c.Failover(t.Context(), 1); err == nil || err.Error() != "shard 1 has no running replica to fail over to" {
		t.Fatalf("failover without a replica: %v", err)
	}
	if err := c.Restart(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitOK(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := c.Status()[1]; s.State != Running || s.Role != Replica {
		t.Fatalf("restarted node: %+v", s)
	}
}

func checkPause(t *testing.T, c *Cluster) {
	t.Helper()
	conn := dialNode(t, c, 2)
	if err := c.Pause(2); err != nil {
		t.Fatal(err)
	}
	conn.SetTimeout(50 * time.Millisecond)
	if reply, err := conn.Do("PING"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("PING of a paused node: %v, %v, want a timeout", reply, err)
	}
	if s := c.Status()[2]; s.State != Paused {
		t.Fatalf("paused node: %+v", s)
	}
	if err := c.Resume(2); err != nil {
		t.Fatal(err)
	}
	conn = dialNode(t, c, 2)
	mustDo(t, conn, "PING")
}

// TestMoveDatabases moves a slot whose keys are in two databases.
func TestMoveDatabases(t *testing.T) {
	c := RunCluster(t, Options{Primaries: 2, Replicas: NoReplicas, Config: []string{"cluster-databases 2"}})
	source, target := dialNode(t, c, 1), dialNode(t, c, 0)
	for db := range 2 {
		mustDo(t, source, "SELECT", db)
		mustDo(t, source, "SET", "{a}", db)
	}
	if err := c.MoveSlotLegacy(t.Context(), Move{Slot: slotOfA, From: 1, To: 0}); err != nil {
		t.Fatal(err)
	}
	for db := range 2 {
		mustDo(t, target, "SELECT", db)
		if reply, err := target.Do("GET", "{a}"); reply != fmt.Sprint(db) {
			t.Errorf("key in database %d at the target: %v, %v", db, reply, err)
		}
	}
}

// TestOpen finds a cluster again by its directory, as another process would.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || err.Error() != "no cluster in "+dir+": it holds no cluster.json" {
		t.Fatalf("Open of an empty directory: %v", err)
	}
	c := RunCluster(t, Options{Dir: dir, Primaries: 1, Replicas: NoReplicas, Hostname: "localhost", Detached: true})
	if err := c.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := opened.Status()[0], c.Status()[0]; got.PID != want.PID || got.ID != want.ID || got.State != Running {
		t.Fatalf("opened node %+v, want %+v", got, want)
	}
	reply := mustDo(t, dialNode(t, opened, 0), "CLUSTER", "NODES")
	if !strings.Contains(reply.(string), ",localhost ") {
		t.Fatalf("CLUSTER NODES %q lacks the announced host name", reply)
	}
	if _, err := Start(context.Background(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Fatalf("second start in the same directory: %v", err)
	}
	if err := opened.Stop(); err != nil {
		t.Fatal(err)
	}
	if s := c.Status()[0].State; s != Down {
		t.Fatalf("the node is %s after Stop through the other handle", s)
	}
}

func TestStartRefuses(t *testing.T) {
	busy := RunNode(t, NodeOptions{})
	for _, test := range []struct {
		options Options
		want    string
	}{
		{Options{Engine: "redis6"}, `unknown engine "redis6": known are valkey9.1, redis7.0, redis8.0`},
		{Options{BasePort: 55534}, "base port 55534 is out of range: the last bus port would be 65539"},
		{Options{BasePort: busy.Port}, fmt.Sprintf("port %d is in use by another process", busy.Port)},
		{Options{Primaries: 33}, "a cluster of 33 primaries with 1 replicas each is not possible: 1 primary or more and 64 nodes at most"},
		{Options{Config: []string{"no-such-setting yes"}}, "Bad directive or wrong number of arguments"},
	} {
		c, err := Start(context.Background(), test.options)
		if err == nil {
			c.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Start(%+v): %v, want %q", test.options, err, test.want)
		}
	}
}

func mustNode(t *testing.T, c *Cluster, index int) *Node {
	t.Helper()
	n, err := c.Node(index)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func dialNode(t *testing.T, c *Cluster, index int) *Conn {
	t.Helper()
	conn, err := mustNode(t, c, index).Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func mustDo(t *testing.T, c *Conn, args ...any) any {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

package large

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const (
	valueBytes = 512 << 20 // the longest that servers take
	growthMax  = 16 << 20  // of the proxy's memory
	deadline   = 2 * time.Minute
)

// block is what values are made of: numbers that do not repeat within it.
var block = func() []byte {
	b := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(b); i++ {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}()

// alone is a cluster of one node: a replica would hold the value a second time, twice while
// it arrives.
func alone(t *testing.T, server string) *testbed.Cluster {
	t.Helper()
	cluster, err := testbed.Start(context.Background(), testbed.Options{Engine: server, Primaries: 1, Replicas: testbed.NoReplicas})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop() })
	return cluster
}

// slowerMax is how much slower the slowest hundredth of the neighbours' requests may be
// while the value passes through the proxy than while it passes by it: the node and the
// processors are as busy then. Other work on the machine needs some room.
const slowerMax = 4

// TestContract_PROTO7_LargestValues sends the longest value there is and gets it back, while
// others go on, and watches the proxy's memory.
func TestContract_PROTO7_LargestValues(t *testing.T) {
	harness.EachEngine(t, func(t *testing.T, engine string) {
		cluster := alone(t, testbed.Valkey91)
		p := harness.Start(t, harness.Options{Cluster: cluster, Engine: engine, Workers: 1})
		others := startNeighbours(t, p, 8)
		time.Sleep(2 * time.Second)
		before := others.take()
		exchange(t, cluster.Addrs()[0])
		passing := others.take()
		rss := p.RSS()
		set, get := exchange(t, p.Addr)
		during := others.take()
		others.end()
		t.Logf("SET took %v, GET %v; memory %d KB before, %d KB at its peak", set, get, rss>>10, p.PeakRSS()>>10)
		t.Logf("neighbours before: %v; while it passes by the proxy: %v; through it: %v", before, passing, during)
		if limit := slowerMax * max(passing.at(0.99), 5*time.Millisecond); during.at(0.99) > limit {
			t.Errorf("the neighbours' slowest hundredth took %v, at most %v are allowed", during.at(0.99), limit)
		}
		if grown := p.PeakRSS() - rss; grown > growthMax {
			t.Errorf("the proxy's memory has grown by %d KB, at most %d KB are allowed", grown>>10, growthMax>>10)
		}
	})
}

// exchange sets the value and gets it back.
func exchange(t *testing.T, addr string) (set, get time.Duration) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(deadline))
	in := bufio.NewReaderSize(conn, 1<<20)

	start := time.Now()
	fmt.Fprintf(conn, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", valueBytes)
	for range valueBytes / len(block) {
		if _, err := conn.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(conn, "\r\n")
	readLine(t, in, "+OK\r\n")
	set = time.Since(start)

	start = time.Now()
	fmt.Fprintf(conn, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
	readLine(t, in, fmt.Sprintf("$%d\r\n", valueBytes))
	readBlocks(t, in, valueBytes)
	readLine(t, in, "\r\n")
	return set, time.Since(start)
}

// readBlocks reads a value made of blocks.
func readBlocks(t *testing.T, in io.Reader, size int) {
	t.Helper()
	got := make([]byte, len(block))
	for ; size > 0; size -= len(block) {
		if _, err := io.ReadFull(in, got); err != nil {
			t.Fatalf("with %d bytes to come: %v", size, err)
		}
		if string(got) != string(block) {
			t.Fatalf("with %d bytes to come the value is another", size)
		}
	}
}

func readLine(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	if got, err := in.ReadString('\n'); got != want || err != nil {
		t.Fatalf("got line %s (%v), want %q", harness.Clip(got), err, want)
	}
}

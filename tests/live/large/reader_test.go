package large

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"mithril/src/session"
	"mithril/tests/harness"
	"mithril/tools/testbed"
)

const (
	deafReaders  = 64
	deafRequests = 5000

	deafMemoryMax = 1 << 30         // of the proxy, while 64 readers want 320 GB
	deafWaitMax   = 5 * time.Second // of the neighbours, once
)

// TestCase_L01_ReadersThatDoNotRead lets many clients ask for gigabytes and read nothing:
// the proxy's memory is bounded, they are closed, and others hardly notice.
func TestCase_L01_ReadersThatDoNotRead(t *testing.T) {
	// Replies of the first size are kept, those of the second hold up their connection.
	for _, size := range []int{1_000_000, 2 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			harness.EachEngine(t, func(t *testing.T, engine string) { deaf(t, engine, size) })
		})
	}
}

func deaf(t *testing.T, engine string, size int) {
	cluster := alone(t, testbed.Valkey91)
	p := harness.Start(t, harness.Options{
		Cluster: cluster, Engine: engine, Workers: 1, Args: []string{"--client-output-buffer-limit", "normal", "64mb", "16mb", "3"},
	})
	c := p.Dial(t)
	for i := range 8 {
		if _, err := c.Do("SET", fmt.Sprint("big", i), strings.Repeat("x", size)); err != nil {
			t.Fatal(err)
		}
	}
	others := startNeighbours(t, p, 4)
	time.Sleep(time.Second)
	before := others.take()

	var request strings.Builder
	for i := range deafRequests {
		fmt.Fprintf(&request, "*2\r\n$3\r\nGET\r\n$4\r\nbig%d\r\n", i%8)
	}
	conns := make([]net.Conn, deafReaders)
	for i := range conns {
		conn, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		conns[i] = conn
		go io.WriteString(conn, request.String())
	}
	start := time.Now()
	var most int64
	harness.Eventually(t, time.Minute, "the readers to be closed", func() error {
		most = max(most, p.RSS())
		if n := p.LinesWith("client closed", "output limit reached") + moreClosed(p); n < deafReaders {
			return fmt.Errorf("%d of %d are closed", n, deafReaders)
		}
		return nil
	})
	took := time.Since(start)
	during := others.take()
	others.end()
	t.Logf("closed after %v, memory at most %d MB; neighbours before: %v; meanwhile: %v", took, most>>20, before, during)
	if most > deafMemoryMax {
		t.Errorf("the proxy has taken %d MB, at most %d MB are allowed", most>>20, deafMemoryMax>>20)
	}
	if wait := during.at(1); wait > deafWaitMax || len(during) == 0 {
		t.Errorf("a neighbour has waited %v, at most %v are allowed", wait, deafWaitMax)
	}
	for i, conn := range conns {
		conn.SetDeadline(time.Now().Add(deadline))
		if n, err := io.Copy(io.Discard, bufio.NewReader(conn)); n >= int64(size)*deafRequests {
			t.Errorf("reader %d got all of its %d bytes (%v)", i, n, err)
		}
	}
}

// TestSteadyReadersAreServed: while much waits for all of them, clients that read slowly but
// steadily get what they have asked for.
func TestSteadyReadersAreServed(t *testing.T) {
	const (
		readers  = 64
		requests = 12
		size     = 1_000_000
		step     = 40_000 // bytes of one read, ten times a second
		steady   = 15 * time.Second
	)
	cluster := alone(t, testbed.Valkey91)
	p := harness.Start(t, harness.Options{Cluster: cluster, Engine: harness.IOUring, Workers: 1})
	if _, err := p.Dial(t).Do("SET", "big", strings.Repeat("x", size)); err != nil {
		t.Fatal(err)
	}
	request := strings.Repeat("*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n", requests)
	want := requests * len(fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("x", size)))
	rss := p.RSS()
	var group sync.WaitGroup
	for i := range readers {
		conn, err := net.Dial("tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		conn.SetDeadline(time.Now().Add(deadline))
		io.WriteString(conn, request)
		group.Add(1)
		go func() {
			defer group.Done()
			got, buffer := 0, make([]byte, step)
			for start := time.Now(); got < want && time.Since(start) < steady; time.Sleep(100 * time.Millisecond) {
				n, err := conn.Read(buffer)
				if got += n; err != nil {
					t.Errorf("reader %d: %v after %d bytes of %d", i, err, got, want)
					return
				}
			}
			n, err := io.CopyN(io.Discard, conn, int64(want-got))
			if err != nil {
				t.Errorf("reader %d: %v after %d bytes of %d", i, err, got+int(n), want)
			}
		}()
	}
	group.Wait()
	t.Logf("memory grew by %d MB at most", (p.PeakRSS()-rss)>>20)
	if grown := p.PeakRSS() - rss; grown < session.PressureBytes {
		t.Errorf("the memory has grown by %d MB only: there was no pressure", grown>>20)
	}
}

// moreClosed is how many closed clients the log has only a number of.
func moreClosed(p *harness.Proxy) (n int) {
	for line := range strings.Lines(p.Log()) {
		if _, rest, ok := strings.Cut(line, "clients="); ok && strings.Contains(line, "more clients closed") {
			var more int
			fmt.Sscan(rest, &more)
			n += more
		}
	}
	return n
}

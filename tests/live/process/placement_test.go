package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// window is the one of PIPE3.
const window = 10 * time.Millisecond

// eachCrew runs a test for every engine with two and with four workers.
func eachCrew(t *testing.T, test func(t *testing.T, engine string, workers int)) {
	t.Helper()
	harness.EachEngine(t, func(t *testing.T, engine string) {
		for _, workers := range []int{2, 4} {
			t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) { test(t, engine, workers) })
		}
	})
}

// crew starts a proxy with so many workers, whose cluster is not there.
func crew(t *testing.T, engine string, workers int, args ...string) *harness.Proxy {
	t.Helper()
	return harness.Start(t, harness.Options{
		Engine: engine, Workers: workers, Checked: true, NoWait: true, Args: append(args, "--bootstrap", nowhere(t)),
	})
}

// workerOf tells which worker serves a client, while no other client does much.
func workerOf(t *testing.T, c *testbed.Conn) int {
	t.Helper()
	const requests = 20
	before := workerCommands(t, c)
	for range requests {
		harness.MustDo(t, c, "PING")
	}
	after := workerCommands(t, c)
	for i := range after {
		if after[i]-before[i] > requests {
			return i
		}
	}
	t.Fatalf("no worker had the requests of a client: %v, then %v", before, after)
	return 0
}

// workersOf is workerOf for each client.
func workersOf(t *testing.T, clients []*testbed.Conn) (workers []int) {
	t.Helper()
	for _, c := range clients {
		workers = append(workers, workerOf(t, c))
	}
	return workers
}

// workerCommands is how many commands each worker has had.
func workerCommands(t *testing.T, c *testbed.Conn) (counts []int) {
	t.Helper()
	info := harness.MustDo(t, c, "INFO", "mithril").(string)
	_, list, _ := strings.Cut(info, "\r\nworker_commands:")
	list, _, found := strings.Cut(list, "\r\n")
	if !found {
		t.Fatalf("INFO does not tell worker_commands:\n%s", info)
	}
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("worker_commands:%s", list)
		}
		counts = append(counts, n)
	}
	return counts
}

// wantTurns checks that clients which came one after the other got one worker after the
// other.
func wantTurns(t *testing.T, got []int, workers int) {
	t.Helper()
	for i, worker := range got {
		if worker != (got[0]+i)%workers {
			t.Errorf("of %d workers, clients got %v: not one after the other", workers, got)
			return
		}
	}
}

func TestContract_PIPE3_IdleWorkersTakeTurns(t *testing.T) {
	eachCrew(t, func(t *testing.T, engine string, workers int) {
		p := crew(t, engine, workers)
		if err := p.AwaitNoClients(); err != nil {
			t.Fatal(err)
		}
		wantTurns(t, workersOf(t, dialAll(t, p, 5*workers)), workers)
		time.Sleep(10 * window) // what they have done counts no more
		wantTurns(t, workersOf(t, dialAll(t, p, 5*workers)), workers)
	})
}

func TestContract_PIPE3_BusyWorkerIsSpared(t *testing.T) {
	eachCrew(t, func(t *testing.T, engine string, workers int) {
		const came = 32
		got, busy := comeBesideLoad(t, crew(t, engine, workers), came)
		if n, fair := count(got, busy), came/workers; n > fair/4 {
			t.Errorf("the busy worker got %d of %d clients, %d without load", n, came, fair)
		}
		for worker := range workers {
			if n := count(got, worker); worker != busy && n < came/workers {
				t.Errorf("worker %d got %d of %d clients", worker, n, came)
			}
		}
	})
}

func TestContract_PIPE3_RoundRobinKnowsNoLoad(t *testing.T) {
	eachCrew(t, func(t *testing.T, engine string, workers int) {
		got, _ := comeBesideLoad(t, crew(t, engine, workers, "--placement", "round-robin"), 4*workers)
		wantTurns(t, got, workers)
	})
}

// comeBesideLoad has clients come one after the other while one of others keeps its worker
// busy. It returns the workers that they get, and the busy one.
func comeBesideLoad(t *testing.T, p *harness.Proxy, clients int) (got []int, busy int) {
	t.Helper()
	others := dialAll(t, p, 8)
	busy = workerOf(t, others[0])
	done, stop := keepBusy(t, others[0])
	var came []*testbed.Conn
	for range clients {
		for before := done.Load(); done.Load()-before < 200; {
			time.Sleep(window)
		}
		came = append(came, p.DialFresh(t))
	}
	stop()
	return workersOf(t, came), busy
}

// keepBusy has a client send requests without end until stop is called, and counts them.
func keepBusy(t *testing.T, c *testbed.Conn) (done *atomic.Int64, stop func()) {
	const together = 50
	done = new(atomic.Int64)
	var stopping atomic.Bool
	ended := make(chan error, 1)
	go func() {
		for !stopping.Load() {
			for range together {
				c.Send("PING")
			}
			err := c.Flush()
			for range together {
				_, failed := c.Receive()
				err = errors.Join(err, failed)
			}
			if err != nil {
				ended <- err
				return
			}
			done.Add(together)
		}
		ended <- nil
	}()
	return done, func() {
		stopping.Store(true)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func count(list []int, value int) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

// Whatever worker they get, clients are numbered as they come.
func TestClientIDsAreInOrder(t *testing.T) {
	eachCrew(t, func(t *testing.T, engine string, workers int) {
		p := crew(t, engine, workers)
		var ids []int64
		for _, c := range dialAll(t, p, 8*workers) {
			ids = append(ids, harness.MustDo(t, c, "CLIENT", "ID").(int64))
		}
		if !slices.IsSorted(ids) {
			t.Errorf("clients are numbered %v", ids)
		}
	})
}

// Clients come at the moment when the proxy is told to stop. Each is served, or its connection
// is closed: none is forgotten on its way to a worker.
func TestContract_CONF4_ClientsThatComeLast(t *testing.T) {
	eachCrew(t, func(t *testing.T, engine string, workers int) {
		p := crew(t, engine, workers, "--shutdown-timeout-secs", "60")
		signal(t, p, syscall.SIGSTOP) // so that all happens at once
		clients := dialAll(t, p, 300)
		for _, c := range clients {
			c.Send("PING")
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		signal(t, p, syscall.SIGTERM)
		signal(t, p, syscall.SIGCONT)
		served := 0
		for i, c := range clients {
			switch got, err := c.Receive(); {
			case got == "PONG":
				served++
			case errors.Is(err, os.ErrDeadlineExceeded):
				t.Fatalf("client %d of %d was neither served nor closed", i, len(clients))
			case err == nil:
				t.Errorf("client %d was answered %v", i, got)
			}
			c.Close()
		}
		wantExit(t, p)
		t.Logf("%d of %d were served", served, len(clients))
	})
}

package admin

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"mithril/src/command"
	"mithril/src/conf"
	"mithril/src/resp"

	"mithril/src/stats"
	"mithril/src/topology"
	"mithril/tools/testbed"
)

// protos are the protocols in which every reply is compared.
var protos = []resp.Proto{resp.RESP2, resp.RESP3}

// live is a one-node cluster of each version of the command tables, started at first use.
var live = func() map[command.Version]func() (*testbed.Cluster, error) {
	m := map[command.Version]func() (*testbed.Cluster, error){}
	for _, v := range command.Versions {
		m[v] = sync.OnceValues(func() (*testbed.Cluster, error) {
			return testbed.Start(context.Background(), testbed.Options{
				Engine: strings.Replace(v.String(), "-", "", 1), Primaries: 1, Replicas: testbed.NoReplicas,
				Config: []string{"cluster-announce-ip " + liveHost},
			})
		})
	}
	return m
}()

// liveHost is what the nodes announce as their address.
const liveHost = "192.0.2.7"

func TestMain(m *testing.M) {
	code := m.Run()
	for _, start := range live {
		if c, err := start(); err == nil {
			c.Stop()
		}
	}
	os.Exit(code)
}

// eachServer runs f for every engine and protocol: with a real node, and with a Server
// that stands for it and listens on the same port.
func eachServer(t *testing.T, f func(t *testing.T, real *peer, own *rig)) {
	var starting sync.WaitGroup
	for _, start := range live {
		starting.Go(func() { start() })
	}
	starting.Wait()
	for _, v := range command.Versions {
		for _, proto := range protos {
			t.Run(fmt.Sprintf("%v/RESP%d", v, proto), func(t *testing.T) {
				c, err := live[v]()
				if err != nil {
					t.Fatal(err)
				}
				node := c.Nodes()[0]
				real := &peer{t: t, conn: testbed.MustDial(t, node.Addr())}
				real.bytes("HELLO", fmt.Sprint(proto))
				own := newRig(t, v, fmt.Sprintf("--announce-addr %s:%d --port %d", liveHost, node.Port, node.Port))
				own.proto = proto
				own.useVersionOf(real)
				f(t, real, own)
			})
		}
	}
}

// peer is a connection to a real node.
type peer struct {
	t    *testing.T
	conn *testbed.Conn
}

// bytes is the node's reply to a request as it stands on the wire.
func (p *peer) bytes(words ...string) string {
	p.t.Helper()
	reply, err := p.conn.DoRaw(resp.AppendCommand(nil, words...), 1)
	if err != nil {
		p.t.Fatalf("%q: %v", words, err)
	}
	return string(reply)
}

// rig is a Server whose surroundings the test sets.
type rig struct {
	*Server
	t     *testing.T
	table *command.Table
	proto resp.Proto
	self  Client
	now   int64
	slots *topology.Snapshot // what Map returns

	workers []tellingWorker
}

// newRig makes a Server for nodes of version v with a complete map. options are those of
// the command line.
func newRig(t *testing.T, v command.Version, options string) *rig {
	t.Helper()
	args := append([]string{"--bootstrap", "127.0.0.1:1"}, strings.Fields(options)...)
	c, err := conf.Parse(args, 1, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	number := topology.Version{Major: v.Major, Minor: v.Minor, Patch: 1}
	r := &rig{
		t: t, table: command.ForEngine(v.Engine, v.Major, v.Minor), proto: resp.RESP2,
		slots: &topology.Snapshot{Covered: topology.SlotCount, Engine: v.Engine, Version: number, RedisVersion: number},
	}
	r.Server = &Server{Conf: c, RunID: strings.Repeat("a", 40), PID: 4321, OS: "Linux 6.1 x86_64"}
	r.Map = func() *topology.Snapshot { return r.slots }
	r.self.Local = netip.MustParseAddrPort("127.0.0.1:7979")
	r.workers = make([]tellingWorker, 1)
	return r
}

// useVersionOf gives the map the versions that a node tells.
func (r *rig) useVersionOf(real *peer) {
	server, err := topology.ParseInfo([]byte(real.bytes("INFO", "server")))
	if err != nil {
		r.t.Fatal(err)
	}
	r.slots.Engine, r.slots.Version, r.slots.RedisVersion = server.Engine, server.Version, server.RedisVersion
}

// bytes is the Server's reply to a request that the table accepts.
func (r *rig) bytes(words ...string) string {
	r.t.Helper()
	frame := resp.AppendCommand(nil, words...)
	args := arguments(frame)
	c, problem := r.table.Find(frame, args)
	if problem != command.OK {
		r.t.Fatalf("%q: %s", words, command.AppendProblem(nil, problem, c, frame, args))
	}
	reply, survey := r.Answer(nil, &Query{
		Command: c, Frame: frame, Args: args, Proto: r.proto, Self: r.self, Table: r.table, Now: r.now, Workers: len(r.workers),
	})
	if survey == nil {
		return string(reply)
	}
	clear(frame) // what is not the survey's own is gone by then
	var visits sync.WaitGroup
	for i := range r.workers {
		visits.Go(func() { survey.Visit(i, &r.workers[i]) })
	}
	visits.Wait()
	return string(survey.AppendReply(reply))
}

// tellingWorker tells a survey what the test wants it to.
type tellingWorker struct {
	counted stats.Snapshot
	clients []Client
	calls   map[string]uint64
}

func (w *tellingWorker) Snapshot() stats.Snapshot { return w.counted }

func (w *tellingWorker) EachCommand(f func(name string, calls uint64)) {
	for name, calls := range w.calls {
		f(name, calls)
	}
}

func (w *tellingWorker) EachClient(f func(*Client)) {
	for i := range w.clients {
		c := w.clients[i]
		f(&c)
		c = Client{}
	}
}

// arguments are the arguments of a whole request.
func arguments(frame []byte) []resp.Arg {
	var scan resp.RequestScanner
	args, _, status := scan.Scan(frame, &resp.Authenticated, nil)
	if status != resp.Complete {
		panic(fmt.Sprintf("not a request: %q", frame))
	}
	return args
}

// equal reports a difference between two replies to a request.
func equal(t *testing.T, request []string, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%q:\n got %q\nwant %q", request, got, want)
	}
}

package sim

import (
	"fmt"
	"testing"
)

// quietConfig is a Config without faults.
func quietConfig() Config {
	return Config{Chunks: 64, Room: 1 << 20, Latency: 10 * microsecond, Lanes: 1, Depth: 1}
}

// begin makes a run that goes as far as the test, and is judged as a whole when that is over.
func begin(t *testing.T, c Config) *run {
	t.Helper()
	r := newRun(newWorld(1, nil), c, regions(c.workers()), nil)
	t.Cleanup(func() {
		defer r.abandon()
		if !t.Failed() {
			r.end()
		}
	})
	return r
}

// scene is a run with one client, whose requests the test writes.
type scene struct {
	*run
	client *client
	script *script
}

func newScene(t *testing.T, c Config) *scene {
	t.Helper()
	s := &scene{run: begin(t, c)}
	s.cluster.published = s.cluster.snapshot(s.cluster.nodes[0])
	s.client, s.script = s.newClient()
	s.client.rushing = true
	return s
}

// connect lets the client begin.
func (s *scene) connect() {
	s.client.farewell(s.script)
	s.judge.sessions = append(s.judge.sessions, s.client.requests)
	s.world.after(0, s.client.connect)
}

// TestPipeliningLimits lets a client ask more than may be outstanding. It is given credit
// reply by reply; then the nodes do nothing for a while, and all of it must be answered when
// they work again, or when they break.
func TestPipeliningLimits(t *testing.T) {
	for _, test := range []struct {
		name           string
		tags           []string // used in turn
		answered       int      // before the nodes stop
		requests, most int
		breaks         bool
	}{
		{"creditMin", []string{"a", "b", "c"}, 0, 40, 16, false},
		{"credit", []string{"a", "b", "c"}, 1000, 3000, 16 + 1000, false},
		{"session.OutstandingMax", []string{"a", "b", "c"}, 64 << 10, 140_000, 64 << 10, false}, // one of each node
		{"pipe.PendingMax", []string{"a"}, 64 << 10, 110_000, 32 << 10, false},                  // which a session with all its credit fills
		{"pipe.PendingMax, lost", []string{"a"}, 64 << 10, 110_000, 32 << 10, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := quietConfig()
			c.Chunks = 256
			s := newScene(t, c)
			s.client.depth = test.requests
			for i := range test.requests {
				s.script.keyed(opGet, []string{keyOf(test.tags[i%len(test.tags)], "k0")}, nil)
			}
			inFlight, stopped := 0, false
			stop := func() {
				if s.client.got < test.answered || stopped {
					return
				}
				stopped = true
				for _, n := range s.cluster.nodes {
					n.stallUntil = s.world.now + faultTime
				}
				s.world.after(faultTime-millisecond, func() {
					if inFlight = s.census().InFlight; test.breaks {
						s.config.F.NodeReset = 1 // so that lost connections are no surprise
						for _, n := range s.cluster.nodes {
							n.breakAll()
						}
					}
				})
			}
			stop()
			s.connect()
			s.world.after(0, func() { s.client.end.watch(func() { s.client.readable(); stop() }, s.client.act) })
			s.play()
			if inFlight > test.most || inFlight < test.most/2 { // reading goes on at the half
				t.Errorf("%d requests are in flight, want %d, or the half at least", inFlight, test.most)
			}
			if s.judge.replies < test.requests {
				t.Errorf("%d replies to %d requests", s.judge.replies, test.requests)
			}
		})
	}
}

// TestMemoryOfOneClientIsBounded lets a client ask for much and read nothing, or send much
// while it is not read from.
func TestMemoryOfOneClientIsBounded(t *testing.T) {
	const (
		limit   = 64 << 10
		slack   = 192 << 10 // replies under way when the limit is reached, and blocks that are not full
		value   = 1000
		replies = 4000
	)
	for _, test := range []struct {
		name       string
		hard, soft int64
		fill       int // bytes of each request
		closed     bool
	}{
		{"the hard limit", limit, 0, 0, true},
		{"the soft limit", 0, limit, 0, false},
		{"the soft limit and long requests", 0, limit, 1500, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := quietConfig()
			c.Room, c.HardOutput, c.SoftOutput, c.Trickle = 4<<10, test.hard, test.soft, 50*microsecond
			s := newScene(t, c)
			s.client.depth, s.client.deaf, s.client.rushing = replies, true, false
			s.script.keyed(opSet, []string{keyOf("a", "k0")}, []string{fmt.Sprintf("%0*d", value, 7)})
			for range replies - 1 {
				if test.fill > 0 {
					s.script.keyed(opSet, []string{keyOf("b", "k0")}, []string{fmt.Sprintf("%0*d", test.fill, 8)})
				}
				s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
			}
			s.connect()
			peak := 0
			for s.turn(second + faultTime) {
				peak = max(peak, s.used())
			}
			if peak > limit+slack {
				t.Errorf("%d bytes in use, the limit is %d", peak, limit)
			}
			if closed := s.census().Clients == 0; closed != test.closed {
				t.Errorf("closed: %v", closed)
			}
			s.client.rush()
			s.turnTo("serve what is held", calmTime, s.allDone)
			if all := s.client.got == len(s.client.requests); all == test.closed {
				t.Error(s.client)
			}
		})
	}
}

// TestTimeouts lets a node not answer, and another not accept, for long.
func TestTimeouts(t *testing.T) {
	const within = 60 * millisecond
	for _, test := range []struct {
		name    string
		timeout int64 // backend-timeout, ns
		trouble func(s *scene)
		after   int64
		want    string
	}{
		{"a reply", 400 * millisecond, func(s *scene) {
			for _, n := range s.cluster.nodes {
				n.stallUntil = s.world.now + 3600*second
			}
		}, 400 * millisecond, "-ERR connection to node 10.0.0.1:7002 lost before the reply (no reply within backend-timeout-ms), the outcome of the command is unknown\r\n"},
		{"a dial", 0, func(s *scene) { s.cluster.slowness = 3600 * second }, 2 * second,
			"-TRYAGAIN node 10.0.0.1:7002 cannot be reached (timed out), the request was not sent\r\n"},
		{"a greeting", 0, func(s *scene) {
			for _, n := range s.cluster.nodes {
				n.stallUntil = s.world.now + 3600*second
			}
		}, 2 * second, "-TRYAGAIN node 10.0.0.1:7002 cannot be reached (timed out), the request was not sent\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := quietConfig()
			c.Timeout = test.timeout
			s := newScene(t, c)
			if test.timeout == 0 {
				test.trouble(s)
			}
			answeredAt, got := int64(0), ""
			s.script.add(&request{op: opLocal, wire: wireOf("PING"), local: func([]byte) string { return "" }})
			if test.timeout > 0 { // the connection stands before the trouble begins
				s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
				s.script.add(&request{op: opLocal, wire: wireOf("PING"), local: func([]byte) string {
					test.trouble(s)
					return ""
				}})
			}
			s.script.keyed(opGet, []string{keyOf("a", "k0")}, nil)
			q := s.script.requests[len(s.script.requests)-1]
			q.local = func(reply []byte) string {
				answeredAt, got = s.world.now, string(reply)
				return ""
			}
			s.connect()
			began := s.world.now
			s.turnTo("serve the session", 10*second, s.allDone)
			if took := answeredAt - began; took < test.after || took > test.after+within {
				t.Errorf("given up after %d ms, want %d", took/millisecond, test.after/millisecond)
			}
			if got != test.want {
				t.Errorf("answered %q, want %q", got, test.want)
			}
		})
	}
}

package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

// batch is what one client sends, to servers without keys, scripts and functions.
type batch struct {
	seed     uint64 // draws the lengths of pipelines
	proto    int
	depth    int // requests in one pipeline at most; 0: all in one
	requests []request
}

// depthMost is the longest pipeline.
const depthMost = 50

// empty is what every batch begins with.
var empty = []request{{args: []string{"FLUSHALL"}}, {args: []string{"FUNCTION", "FLUSH"}}, {args: []string{"SCRIPT", "FLUSH"}}}

// failure is a difference that is not allowed.
type failure struct {
	batch
	at          int // of requests
	proxy, lone string
}

func (f *failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "RESP%d, seed %d, pipelines of up to %d, from empty servers:\n", f.proto, f.seed, f.depth)
	for i, r := range f.requests[:f.at+1] {
		fmt.Fprintf(&b, "\t%v%s\n", r, map[bool]string{true: "    # inline"}[r.inline])
		if i == f.at {
			fmt.Fprintf(&b, " got %s\nwant %s", harness.Clip(f.proxy), harness.Clip(f.lone))
		}
	}
	return b.String()
}

// sides are a fresh connection through the proxy and one to the lone node.
type sides struct{ proxy, lone *testbed.Conn }

func (g *rig) dial(t *testing.T, proto int) sides {
	t.Helper()
	connect := func(addr string) *testbed.Conn {
		c, err := testbed.Dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		return harness.Hello(t, c, proto)
	}
	return sides{connect(g.Proxy.Addr), connect(g.Lone.Addr())}
}

func (s sides) close() {
	s.proxy.Close()
	s.lone.Close()
}

// send writes the requests to both in one piece each.
func (s sides) send(requests []request) error {
	var bytes []byte
	for _, r := range requests {
		bytes = append(bytes, r.bytes()...)
	}
	if err := s.lone.Write(bytes); err != nil {
		return err
	}
	return s.proxy.Write(bytes)
}

// play sends a batch to both sides and returns the first difference that is not allowed, nil
// if there is none. met is told of every difference that is, if it is not nil.
func (g *rig) play(t *testing.T, b batch, met func(*difference)) *failure {
	t.Helper()
	s := g.dial(t, b.proto)
	defer s.close()
	requests := append(empty[:len(empty):len(empty)], b.requests...)
	random := rand.New(rand.NewPCG(b.seed, uint64(len(requests))))
	for sent := 0; sent < len(requests); {
		pipeline := requests[sent:]
		if b.depth > 0 {
			pipeline = pipeline[:min(len(pipeline), 1+random.IntN(b.depth))]
		}
		if err := s.send(pipeline); err != nil {
			return &failure{b, max(0, sent-len(empty)), err.Error(), "requests taken"}
		}
		for i, r := range pipeline {
			lone, err := s.lone.DoRaw(nil, 1)
			if err != nil {
				return &failure{b, max(0, sent+i-len(empty)), "not asked", fmt.Sprintf("%s, then %v", lone, err)}
			}
			if lone[0] != '-' {
				g.results++
			}
			proxy, err := s.proxy.DoRaw(nil, 1)
			if err != nil {
				return &failure{b, max(0, sent+i-len(empty)), fmt.Sprintf("%s, then %v", proxy, err), string(lone)}
			}
			name := g.name(r.args)
			if canon, _ := canonOf(name, r); canon(proxy) == canon(lone) {
				continue
			}
			differences := g.differences(r.args)
			k := slices.IndexFunc(differences, func(d *difference) bool { return d.allows(proxy, lone) })
			if k < 0 {
				return &failure{b, max(0, sent+i-len(empty)), string(proxy), string(lone)}
			}
			if met != nil {
				met(differences[k])
			}
		}
		sent += len(pipeline)
	}
	return nil
}

// playsMost bounds how often a batch is played to make it smaller.
const playsMost = 300

// shrink leaves out of a failing batch what is not needed for some failure.
func (g *rig) shrink(t *testing.T, f *failure) *failure {
	t.Helper()
	plays := 0
	try := func(requests []request, depth int) bool {
		plays++
		smaller := f.batch
		smaller.requests, smaller.depth = requests, depth
		found := g.play(t, smaller, nil)
		if found != nil {
			f = found
		}
		return found != nil
	}
	try(f.requests[:f.at+1], 1)
	for size := f.at/2 + 1; size >= 1; size /= 2 {
		for at := 0; at+size <= f.at && plays < playsMost; {
			rest := append(f.requests[:at:at], f.requests[at+size:f.at+1]...)
			if !try(rest, f.depth) {
				at += size
			}
		}
	}
	return f
}

// failuresMost is after how many failures a test gives up.
const failuresMost = 5

// playAll plays batches and fails the test for each difference, made small.
func (g *rig) playAll(t *testing.T, batches []batch) {
	t.Helper()
	failures := 0
	for _, b := range batches {
		f := g.play(t, b, nil)
		if f == nil {
			continue
		}
		t.Errorf("-seed %d: %v", *firstSeed, g.shrink(t, f))
		if failures++; failures == failuresMost {
			t.Fatalf("that were %d failures", failures)
		}
	}
}

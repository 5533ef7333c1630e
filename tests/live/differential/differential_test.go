package differential

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"mithril/tests/harness"
)

var firstSeed = flag.Uint64("seed", 1, "draws the generated calls, and how batches are cut into pipelines")

// TestContract_PROTO5_CorpusEqualsALoneNode plays every file of the corpus, in both
// protocols.
func TestContract_PROTO5_CorpusEqualsALoneNode(t *testing.T) {
	corpus := readCorpus(t)
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		g := newRig(t, e)
		random := rand.New(rand.NewPCG(*firstSeed, 1))
		var batches []batch
		for _, name := range sortedKeys(corpus) {
			for _, proto := range []int{2, 3} {
				b := batch{seed: random.Uint64(), proto: proto, depth: 1 + random.IntN(depthMost)}
				for _, r := range corpus[name] {
					if !g.comparable(r.args) {
						continue
					}
					r.inline = random.IntN(4) == 0
					b.requests = append(b.requests, r)
				}
				batches = append(batches, b)
			}
		}
		g.playAll(t, batches)
	})
}

// TestContract_PROTO5_GeneratedCallsEqualALoneNode makes calls of every command that the
// proxy carries: by its documentation, with damage, with every count of arguments and with
// keys of every type.
func TestContract_PROTO5_GeneratedCallsEqualALoneNode(t *testing.T) {
	setup := readLines(t, "testdata/setup.txt")
	harness.Each(t, func(t *testing.T, e *harness.Env) {
		g := newRig(t, e)
		n := g.newGenerator(*firstSeed)
		var requests []request
		for _, of := range g.grammars(t) {
			requests = append(requests, n.calls(of, harness.Size(20, 400))...)
		}
		batches := n.batches(setup, requests)
		sent := 0
		for _, b := range batches {
			sent += len(b.requests)
		}
		t.Logf("%d generated calls, %d exchanges in %d batches", len(requests), sent, len(batches))
		if len(requests) < 3000 {
			t.Errorf("%d calls were generated, want thousands", len(requests))
		}
		g.playAll(t, batches)
		results := g.results - len(batches)*(len(empty)+len(setup))
		t.Logf("%d exchanges behind the setup had a result", results)
		if results < len(requests)/3 {
			t.Errorf("%d exchanges had a result, for %d generated calls: the others are errors", results, len(requests))
		}
	})
}

// streams are for commands after which replies and requests do not come in pairs. Each ends
// with QUIT.
var streams = [][]string{
	{"SET k v", "QUIT", "GET k"},
	{"quit", "QUIT"},
	{"GET k", "QUIT x"},
	{"CLIENT REPLY ON", "CLIENT REPLY x", "CLIENT REPLY"},
	{"CLIENT REPLY OFF", "SET k v", "GET k k", "NONESUCH", "CLIENT REPLY ON", "GET k"},
	{"CLIENT REPLY OFF", "PING", "CLIENT REPLY ON"},
	{"CLIENT REPLY SKIP", "SET k v", "GET k", "CLIENT REPLY SKIP", "NONESUCH", "GET k"},
	{"CLIENT REPLY SKIP", "CLIENT REPLY OFF", "PING", "CLIENT REPLY SKIP", "PING", "CLIENT REPLY ON", "PING"},
	{"CLIENT REPLY OFF", "RESET", "PING"},
	{"CLIENT REPLY SKIP", "MGET a b c", "KEYS *", "CLIENT REPLY SKIP", "DBSIZE", "PING"},
}

// TestContract_PROTO5_StreamsEndAlike compares all that comes until the connection is closed.
func TestContract_PROTO5_StreamsEndAlike(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, lines := range streams {
			for _, proto := range []int{2, 3} {
				e.Flush(t)
				e.Pair(t, proto).SameEnd(t, strings.Join(lines, "\r\n")+"\r\nQUIT\r\n")
			}
		}
	})
}

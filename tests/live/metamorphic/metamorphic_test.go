package metamorphic

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"mithril/tests/harness"
	"mithril/tools/testbed"
)

var (
	rounds = flag.Int("rounds", 0, "how many rounds of eight histories TestSameReplies plays; 0: 25, or with -soak 250")
	first  = flag.Uint64("first", 1, "the seed of the first round")
)

func TestMain(m *testing.M) { harness.Main(m) }

const clients = 8 // of a round, at once

// arm is one way to run the proxy.
type arm struct {
	engine  string
	layout  harness.Layout
	window  string // batch-window-usecs
	lanes   int    // backend-conns
	relayed bool   // relays cut what nodes send and get
	proxy   *harness.Proxy
}

func (a *arm) String() string {
	text := fmt.Sprintf("%s, layout %v, window %s, %d connections per node", a.engine, a.layout, a.window, a.lanes)
	if a.relayed {
		text += ", relayed"
	}
	return text
}

// bed is a cluster with a proxy of every arm in front of it.
type bed struct {
	nodes []*testbed.Conn
	arms  []*arm
}

func newBed(t *testing.T) *bed {
	t.Helper()
	cluster := testbed.RunCluster(t, testbed.Options{Replicas: testbed.NoReplicas})
	b := &bed{}
	for _, n := range cluster.Nodes() {
		b.nodes = append(b.nodes, testbed.MustDial(t, n.Addr()))
	}
	windows := []string{"0", "auto"}
	for i, engine := range harness.IOEngines {
		for k, layout := range harness.Layouts {
			b.arms = append(b.arms, &arm{engine: engine, layout: layout, window: windows[(i+k/2)%2], lanes: 1 + len(b.arms)%3})
		}
		b.arms = append(b.arms, &arm{engine: engine, layout: harness.Layout{Workers: 2, Sharding: []string{"no", "yes"}[i]}, window: "auto", lanes: 1, relayed: true})
	}
	for _, a := range b.arms {
		args := []string{"--batch-window-usecs", a.window, "--backend-conns", fmt.Sprint(a.lanes)}
		if a.relayed {
			args = append(args, startRelays(t, cluster)...)
		}
		a.proxy = harness.Start(t, harness.Options{Cluster: cluster, Engine: a.engine, Workers: a.layout.Workers, Sharding: a.layout.Sharding, Checked: true, Args: args})
	}
	return b
}

// flush empties the cluster.
func (b *bed) flush(t *testing.T) {
	t.Helper()
	for _, n := range b.nodes {
		harness.MustDo(t, n, "FLUSHALL")
	}
}

// result is what one client of a round got, and how it read and wrote.
type result struct {
	manner  manner
	replies [][]byte
	err     error
}

// round plays histories at once to an empty cluster.
func (b *bed) round(t *testing.T, addr string, histories []*history, draw func() manner, random *rand.Rand) []result {
	t.Helper()
	b.flush(t)
	results := make([]result, len(histories))
	var all sync.WaitGroup
	for i, h := range histories {
		results[i].manner = draw()
		own := rand.New(rand.NewPCG(random.Uint64(), 0))
		all.Go(func() { results[i].replies, results[i].err = play(addr, h, results[i].manner, own) })
	}
	all.Wait()
	return results
}

// TestSameReplies plays every round to every arm, and expects of each what the first arm
// has answered to clients that do not cut what they send.
func TestSameReplies(t *testing.T) {
	b := newBed(t)
	if *rounds == 0 {
		*rounds = harness.Size(25, 250)
	}
	replies, size := 0, 0
	for seed := *first; seed < *first+uint64(*rounds); seed++ {
		var histories []*history
		for i := range uint64(clients) {
			histories = append(histories, newHistory(seed, i))
		}
		random := rand.New(rand.NewPCG(seed, clients))
		want := b.round(t, b.arms[0].proxy.Addr, histories, func() manner { return manner{} }, random)
		for i, r := range want {
			if r.err != nil {
				t.Errorf("history %d, %v, whole: %v", i, b.arms[0], r.err)
			}
			for _, reply := range r.replies {
				replies, size = replies+1, size+len(reply)
			}
		}
		for _, a := range b.arms {
			got := b.round(t, a.proxy.Addr, histories, func() manner { return drawManner(random) }, random)
			for i, r := range got {
				if r.err != nil {
					t.Errorf("history %d, %v, %v: %v", i, a, r.manner, r.err)
				} else if text := difference(histories[i], r.replies, want[i].replies); text != "" {
					t.Errorf("history %d, %v, %v: %s", i, a, r.manner, text)
				}
			}
		}
		if t.Failed() {
			t.Fatalf("again with -first %d -rounds 1", seed)
		}
	}
	t.Logf("%d replies of %d MB, from each of %d arms", replies, size>>20, len(b.arms))
}

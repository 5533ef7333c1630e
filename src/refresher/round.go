package refresher

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"mithril/src/topology"
)

const (
	// asksMax bounds how many known nodes, and how many bootstrap addresses, one round asks.
	asksMax = 16
	// hedgeAfter is how long a node may be silent before the next one is asked as well.
	hedgeAfter = 250 * time.Millisecond
)

// errSelf is what is wrong with a proxy as its own node: every request would come back to it for ever.
var errSelf = errors.New("this is the proxy itself, expected nodes of the cluster")

// answer is what one node said.
type answer struct {
	addr         string
	snapshot     *topology.Snapshot
	program      program // zero when INFO was refused
	clusterEpoch uint64  // 0 when CLUSTER INFO was refused
}

// outcome is what a round brought: the best answer, nil when there is none, and why others gave none.
type outcome struct {
	best     *answer
	failures []*failure
	unnamed  []*failure // nodes of the best answer whose host names do not resolve
}

// round is one search for a map, over what was known when it began.
type round struct {
	*Refresher
	current      *topology.Snapshot // nil before the first
	clusterEpoch uint64             // of the answer that current came from
	rand         *rand.Rand
	at           time.Time
}

// run asks known nodes in random order, and then, unless one of them had a map that is as good as the current one, what the
// bootstrap names resolve to by now. Names are resolved in every such round, so that nodes which all moved are found again.
func (r *round) run(ctx context.Context) outcome {
	var known []string
	if r.current != nil {
		for i := range r.current.Nodes {
			known = append(known, r.current.Nodes[i].Addr)
		}
	}
	result, enough := r.ask(ctx, known)
	if !enough {
		seeds, failures := r.resolveBootstrap(ctx)
		seeds = slices.DeleteFunc(seeds, func(addr string) bool { return slices.Contains(known, addr) })
		further, _ := r.ask(ctx, seeds)
		if further.best != nil && (result.best == nil || better(further.best, result.best)) {
			result.best = further.best
		}
		result.failures = slices.Concat(result.failures, failures, further.failures)
	}
	if result.best != nil {
		result.unnamed = r.resolveNodes(ctx, result.best.snapshot)
	}
	return result
}

// ask asks addresses in random order until one has a map that is enough. Each one is given a head start over the next, so
// that a silent node costs its share of it and not the whole timeout.
func (r *round) ask(ctx context.Context, addrs []string) (result outcome, enough bool) {
	addrs = slices.Compact(slices.Sorted(slices.Values(addrs)))
	r.rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	addrs = addrs[:min(len(addrs), asksMax)]
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	type reply struct {
		answer  *answer
		failure *failure
	}
	replies := make(chan reply, len(addrs))
	hedge := time.NewTimer(0)
	defer hedge.Stop()
	for begun, ended := 0, 0; ended < len(addrs); {
		select {
		case got := <-replies:
			ended++
			if got.failure != nil {
				result.failures = append(result.failures, got.failure)
			} else {
				if result.best == nil || better(got.answer, result.best) {
					result.best = got.answer
				}
				if r.isEnough(got.answer) {
					return result, true
				}
			}
			hedge.Reset(0)
		case <-hedge.C:
			if begun < len(addrs) {
				addr := addrs[begun]
				begun++
				asking.Go(func() {
					answer, failure := r.askNode(ctx, addr)
					replies <- reply{answer, failure}
				})
				hedge.Reset(hedgeAfter)
			}
		}
	}
	return result, false
}

// isEnough reports whether a map can be taken without a second opinion: it is complete, and not from before the current one.
// A node that is cut off, was wiped, or was just woken tells less than the others, or something older.
func (r *round) isEnough(a *answer) bool {
	older := a.clusterEpoch != 0 && a.clusterEpoch < r.clusterEpoch
	return a.snapshot.Complete() && !older
}

// better reports whether a is rather to be believed than b: it is from a later epoch of the cluster, or covers more.
func better(a, b *answer) bool {
	epochs := 0
	if a.clusterEpoch != 0 && b.clusterEpoch != 0 {
		epochs = cmp.Compare(a.clusterEpoch, b.clusterEpoch)
	}
	return cmp.Or(epochs, cmp.Compare(a.snapshot.Covered, b.snapshot.Covered)) > 0
}

// askNode asks one node for everything.
func (r *round) askNode(ctx context.Context, addr string) (*answer, *failure) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	replies, fail := r.converse(ctx, addr,
		[]string{"CLUSTER", "SLOTS"}, []string{"CLUSTER", "SHARDS"}, []string{"CLUSTER", "INFO"}, []string{"INFO", "server"})
	if fail != nil {
		return nil, fail
	}
	program, _ := readProgram(replies[3]) // without the right to INFO the version stays unknown
	if r.options.RunID != "" && program.runID == r.options.RunID {
		return nil, &failure{refused, addr, errSelf}
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &failure{unreachable, addr, err}
	}
	source := topology.Source{Host: host, AddressMap: r.options.AddressMap, Previous: r.current}
	snapshot, err := topology.Parse(replies[0], replies[1], source)
	switch {
	case errors.Is(err, topology.ErrRefused):
		return nil, &failure{refused, addr, err}
	case err != nil:
		return nil, &failure{malformed, addr, err}
	}
	snapshot.FetchedAt = r.at
	return &answer{addr, snapshot, program, topology.ParseClusterEpoch(replies[2])}, nil
}

package proxy

import (
	"testing"

	"mithril/src/conf"
)

// TestDescriptors: no limit serves more clients than are configured, none takes what nodes
// need at least, more descriptors never serve fewer, and what is asked for is enough.
func TestDescriptors(t *testing.T) {
	for _, d := range []descriptors{{1, 40}, {100, 1000}, {100, 4194}, {500, 330}, {1000, 1097}, {10_000, 105}, {10_000, 33_000}, {1_000_000, 200}} {
		last := uint64(0)
		for limit := uint64(1); limit < 2*d.want(); limit += 1 + limit/64 {
			n := d.served(limit)
			switch {
			case n > d.clients:
				t.Fatalf("%+v: %d clients with %d descriptors", d, n, limit)
			case n > 0 && limit-n < d.least:
				t.Fatalf("%+v: %d clients leave %d of %d descriptors", d, n, limit-n, limit)
			case n == 0 && limit > d.least:
				t.Fatalf("%+v: no client with %d descriptors", d, limit)
			case n < last:
				t.Fatalf("%+v: %d clients with %d descriptors, and %d with fewer", d, n, limit, last)
			}
			last = n
		}
		if n := d.served(d.want()); n != d.clients {
			t.Errorf("%+v: %d clients with all that is asked for", d, n)
		}
	}
}

// TestNeed: workers that share their connections need no descriptors for each one's own.
func TestNeed(t *testing.T) {
	c := &conf.Config{MaxClients: 100, WorkerThreads: 4, BackendConns: 64}
	if own := needOf(c); own.least != 32+4*(8+64*16) || own.clients != 100 {
		t.Errorf("with connections of their own: %+v", own)
	}
	c.BackendSharding = conf.BackendShardingYes
	if shared := needOf(c); shared.least != 32+4*(8+16) {
		t.Errorf("with shared connections: %+v", shared)
	}
}

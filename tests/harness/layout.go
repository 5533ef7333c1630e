package harness

import (
	"flag"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"mithril/tools/testbed"
)

// Layout is how many workers a proxy has and how they share connections to nodes.
type Layout struct {
	Workers  int
	Sharding string // backend-sharding
}

func (l Layout) String() string { return fmt.Sprintf("%d-%s", l.Workers, l.Sharding) }

// Layouts are all layouts of the matrix. Those at even places have every number of workers with
// both kinds of sharing, and so have those at odd places: each is what one I/O engine gets in
// one test.
var Layouts = []Layout{{1, "no"}, {1, "yes"}, {2, "yes"}, {2, "no"}, {4, "no"}, {4, "yes"}}

var only = flag.String("layout", "", "run every proxy that may have any layout with this one, such as 4-yes; empty: the layouts take turns")

// layoutFor is the layout that a proxy gets in a test. It depends on nothing but the test
// and the cell, so that a test that is run again alone is the same test; and the cells of one
// test, six with Matrix, have the layouts in turn.
func layoutFor(tb TB, server, engine string) Layout {
	if *only != "" {
		for _, l := range Layouts {
			if l.String() == *only {
				return l
			}
		}
		tb.Fatalf("-layout %s: there are %v", *only, Layouts)
	}
	cell := 2*max(0, slices.Index(Servers, server)) + max(0, slices.Index(IOEngines, engine))
	return Layouts[(turn(tb)+cell)%len(Layouts)]
}

// turn is the place among Layouts with which a test begins.
func turn(tb TB) int {
	test, _, _ := strings.Cut(tb.Name(), "/")
	hash := fnv.New32a()
	hash.Write([]byte(test))
	return int(hash.Sum32() % uint32(len(Layouts)))
}

// EachLayout runs a test as subtests layout/engine, with every layout: for what depends on
// the number of workers. The I/O engines take turns; with -layout both have theirs.
func EachLayout(t *testing.T, test func(t *testing.T, engine string, l Layout)) {
	t.Helper()
	for i, l := range Layouts {
		for j, engine := range IOEngines {
			if l.String() == *only || *only == "" && (turn(t)+i+j)%len(IOEngines) == 0 {
				t.Run(l.String()+"/"+engine, func(t *testing.T) { test(t, engine, l) })
			}
		}
	}
}

// EachProxy is EachLayout with a proxy of its own for each subtest, in front of a Valkey cluster.
func EachProxy(t *testing.T, options Options, test func(t *testing.T, e *Env, p *Proxy)) {
	t.Helper()
	EachLayout(t, func(t *testing.T, engine string, l Layout) {
		One(t, testbed.Valkey91, engine, func(t *testing.T, e *Env) {
			e.Layout = l
			test(t, e, e.Start(t, options))
		})
	})
}

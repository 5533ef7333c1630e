package harness

import (
	"flag"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
)

// Layout is how many workers a proxy has and how they share connections to nodes.
type Layout struct {
	Workers  int
	Sharding string // backend-sharding
}

func (l Layout) String() string { return fmt.Sprintf("%d-%s", l.Workers, l.Sharding) }

// Layouts are all layouts of the matrix. Those at even and those at odd places have every
// number of workers each, with both kinds of sharing.
var Layouts = []Layout{{1, "no"}, {2, "no"}, {4, "no"}}

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
	test, _, _ := strings.Cut(tb.Name(), "/")
	hash := fnv.New32a()
	hash.Write([]byte(test))
	cell := 2*max(0, slices.Index(Servers, server)) + max(0, slices.Index(IOEngines, engine))
	return Layouts[(int(hash.Sum32()%uint32(len(Layouts)))+cell)%len(Layouts)]
}

// EachLayout runs a test as subtests engine/layout, for every I/O engine with every layout:
// for what depends on the number of workers.
func EachLayout(t *testing.T, test func(t *testing.T, engine string, l Layout)) {
	t.Helper()
	EachEngine(t, func(t *testing.T, engine string) {
		for _, l := range Layouts {
			if *only == "" || l.String() == *only {
				t.Run(l.String(), func(t *testing.T) { test(t, engine, l) })
			}
		}
	})
}

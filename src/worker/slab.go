package worker

import (
	"mithril/src/invariant"
	"mithril/src/ring"
)

const cellsPerPage = 64

// slab holds things that tokens name. Their addresses are stable, their memory is used
// again, and a token of a former life of a cell finds nothing.
type slab[T any] struct {
	kind  ring.Kind
	pages []*[cellsPerPage]cell[T]
	free  []uint32
	live  int
}

type cell[T any] struct {
	generation uint32
	used       bool
	value      T
}

// take returns an unused cell's value, as its last life left it, and its new token.
func (s *slab[T]) take() (*T, ring.Token) {
	if len(s.free) == 0 {
		base := uint32(len(s.pages)) * cellsPerPage
		s.pages = append(s.pages, new([cellsPerPage]cell[T]))
		for i := range uint32(cellsPerPage) {
			s.free = append(s.free, base+cellsPerPage-1-i)
		}
	}
	index := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	c := s.cell(index)
	invariant.Assert(!c.used, "worker: a free cell is in use")
	c.used = true
	c.generation = c.generation%ring.GenerationMask + 1 // never 0: the token 0 names nothing
	s.live++
	return &c.value, ring.MakeToken(s.kind, c.generation, index)
}

func (s *slab[T]) cell(index uint32) *cell[T] {
	return &s.pages[index/cellsPerPage][index%cellsPerPage]
}

// get returns what t names, or nil if it is gone.
func (s *slab[T]) get(t ring.Token) *T {
	if t.Index() >= uint32(len(s.pages))*cellsPerPage {
		return nil
	}
	c := s.cell(t.Index())
	if !c.used || c.generation != t.Generation() {
		return nil
	}
	return &c.value
}

// put gives the cell back.
func (s *slab[T]) put(t ring.Token) {
	c := s.cell(t.Index())
	invariant.Assert(c.used && c.generation == t.Generation(), "worker: cell given back twice")
	c.used = false
	s.live--
	s.free = append(s.free, t.Index())
}

// each calls f for everything in use. f may put its own cell back.
func (s *slab[T]) each(f func(*T)) {
	for _, page := range s.pages {
		for i := range page {
			if page[i].used {
				f(&page[i].value)
			}
		}
	}
}

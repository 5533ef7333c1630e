package sim

// lives is what becomes of the keys of all nodes. A change has the number of the execution,
// or of the move of a key, that makes it: judge.order.
type lives struct {
	order             *int
	born, died, moved map[string]int // by key, never ranged over: when that was last
}

// sizeAt is how many keys a node has from a change on.
type sizeAt struct{ order, size int }

func newStore(l *lives) store { return store{values: map[string]string{}, lives: l} }

func newLives(order *int) *lives {
	return &lives{order: order, born: map[string]int{}, died: map[string]int{}, moved: map[string]int{}}
}

// put gives a key a value.
func (s *store) put(key, value string) {
	if !s.has(key) {
		s.lives.born[key] = *s.lives.order + 1
		defer s.resized()
	}
	s.values[key] = value
}

// drop deletes a key, if it is there.
func (s *store) drop(key string) {
	if s.has(key) {
		s.lives.died[key] = *s.lives.order + 1
		delete(s.values, key)
		s.resized()
	}
}

// move gives a key to another node, if it is there.
func (s *store) move(key string, to *store) (moved bool) {
	value, ok := s.values[key]
	if ok {
		s.lives.moved[key] = *s.lives.order + 1
		delete(s.values, key)
		to.values[key] = value
		s.resized()
		to.resized()
		*s.lives.order++
	}
	return ok
}

func (s *store) resized() { s.sizes = append(s.sizes, sizeAt{*s.lives.order + 1, len(s.values)}) }

// sizeSince is between what bounds the number of keys has been since some execution.
func (s *store) sizeSince(order int) (least, most int) {
	least, most = len(s.values), len(s.values)
	for i := len(s.sizes) - 1; i >= 0; i-- {
		least, most = min(least, s.sizes[i].size), max(most, s.sizes[i].size)
		if s.sizes[i].order <= order {
			return least, most
		}
	}
	return 0, most // there were none at first
}

// livedSince says that a key has been where it is since some execution.
func (k *cluster) livedSince(key string, order int) bool {
	l := k.judge.lives
	for _, n := range k.nodes {
		if n.store.has(key) {
			return l.born[key] <= order && l.moved[key] <= order
		}
	}
	return false
}

// wasThereSince says that a key has been anywhere at some time since some execution.
func (k *cluster) wasThereSince(key string, order int) bool {
	for _, n := range k.nodes {
		if n.store.has(key) {
			return true
		}
	}
	return k.judge.lives.died[key] > order
}

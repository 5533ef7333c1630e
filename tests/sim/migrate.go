package sim

import "slices"

// bases are the keys of a tag, without request numbers.
var bases = [...]string{"k0", "k1", "k2", "n0", "s0"}

func keyOf(tag, base string) string { return "{" + tag + "}" + base }

// restTime is how long a slot stays where it is after a move. It is longer than any
// request is on its way: a slot that came back sooner could run a session's later
// request before an earlier one that follows the first move.
const restTime = 500 * millisecond

// migrate moves the slot of one tag to another node, step by step, while it is used:
// as redis-cli does it, or with the first two steps in the wrong order, as other tools do.
// (Redis documentation, "CLUSTER SETSLOT")
//
//	target   IMPORTING               owner
//	source              MIGRATING               points to target
//	keys                          one by one
//	others                                      point to target, some time
func (k *cluster) migrate() {
	w := k.world
	tag := w.rng.IntN(len(k.tags))
	slot := slotOf(keyOf(k.tags[tag], ""))
	if findMove(k.moving, slot) != nil || k.rested[tag] > w.now {
		return
	}
	source := k.owner(slot)
	target := k.nodes[(source.index+1+w.rng.IntN(primaries-1))%primaries]
	k.moving = append(k.moving, move{slot, target})
	pause := func() int64 { return w.between(0, 1<<w.rng.IntN(6)*millisecond) }
	steps := []func(){
		func() {
			w.trace("importing", int64(target.index), int64(slot), nil)
			target.importing = append(target.importing, move{slot, source})
		},
		func() {
			w.trace("migrating", int64(source.index), int64(slot), nil)
			source.migrating = append(source.migrating, move{slot, target})
		},
	}
	second := pause()
	if w.chance(k.faults.LateImport) {
		slices.Reverse(steps)
		second = w.between(0, lateImport)
	}
	steps[0]()
	w.after(second, func() {
		steps[1]()
		k.moveKey(tag, 0, slot, source, target, pause)
	})
}

// lateImport is the longest time for which the two nodes of a move point at each other. It
// is longer than the proxy follows redirects.
const lateImport = 200 * millisecond

// owner is the node that owns a slot in truth: the only one that believes so.
func (k *cluster) owner(slot uint16) *node {
	for _, n := range k.nodes {
		if int(n.owner[slot]) == n.index {
			return n
		}
	}
	panic("sim: a slot without owner")
}

func (k *cluster) moveKey(tag, next int, slot uint16, source, target *node, pause func() int64) {
	w := k.world
	w.after(pause(), func() {
		if next == len(bases) {
			k.hand(tag, slot, source, target, pause)
			return
		}
		key := keyOf(k.tags[tag], bases[next])
		if source.store.move(key, &target.store) {
			w.trace("migrated", int64(source.index), int64(target.index), []byte(key))
		}
		k.moveKey(tag, next+1, slot, source, target, pause)
	})
}

// hand gives a slot to its new owner. For a while the old one still says ASK.
func (k *cluster) hand(tag int, slot uint16, source, target *node, pause func() int64) {
	w := k.world
	w.trace("handed", int64(target.index), int64(slot), nil)
	target.owner[slot] = uint16(target.index)
	target.importing = dropMove(target.importing, slot)
	w.after(pause(), func() {
		source.owner[slot] = uint16(target.index)
		source.migrating = dropMove(source.migrating, slot)
		for _, n := range k.nodes {
			if n != source && n != target {
				w.after(pause(), func() {
					n.owner[slot] = uint16(target.index)
					k.moving = dropMove(k.moving, slot)
					k.rested[tag] = w.now + restTime
				})
			}
		}
	})
}

package sim

import (
	"strings"
	"testing"
)

// TestContract_PIPE4_ARedirectedReadFollowsItsWrite: a write and a read of one client are redirected
// one after the other, and between the two a large reply that is not read makes new requests take
// another connection. The read must stay behind the write, which waits behind that reply.
func TestContract_PIPE4_ARedirectedReadFollowsItsWrite(t *testing.T) {
	const value, rounds = 20_000, 1000
	c := quietConfig()
	c.Large, c.Private, c.Room, c.Sessions = 1000, 10, 4<<10, 2*rounds
	c.Trickle, c.Pace = 30*microsecond, microsecond
	r := begin(t, c)
	k := r.cluster
	k.fetching = true // nobody gets another map
	right := k.snapshot(k.nodes[0])
	k.published = right
	var tags []string // of node 0
	for _, tag := range k.tags {
		if k.owner(slotOf(keyOf(tag, "k0"))) == k.nodes[0] {
			tags = append(tags, tag)
		}
	}
	large, key := keyOf(tags[0], "k0"), keyOf(tags[1], "k0")
	k.nodes[0].store.put(large, strings.Repeat("v", value))
	for i := range rounds {
		wrong := *right
		wrong.Epoch += uint64(i) + 1
		wrong.Slots[slotOf(key)] = 1
		k.published = &wrong
		reader := r.askAt(0, func(s *script) { s.keyed(opGet, []string{large}, nil) })
		reader.deaf, reader.rushing = true, false
		r.turnUntil(r.world.now + r.world.between(0, 200*microsecond))
		pair := r.askAt(0, func(s *script) {
			s.keyed(opSet, []string{key}, []string{s.value()})
			s.keyed(opGet, []string{key}, nil)
		})
		pair.depth, pair.rushing = 2, false
		r.turnUntil(r.world.now + 5*millisecond)
		reader.deaf = false
		reader.rush()
		pair.rush()
		r.turnTo("serve both", 10*second, func() bool { return reader.done && pair.done })
	}
}

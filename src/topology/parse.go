package topology

import (
	"errors"
	"fmt"
)

// ErrRefused is the error of a node that answers both map commands with an error, for want of rights or of a cluster.
var ErrRefused = errors.New("the node gives no map")

// Parse builds a map from what one node answers to CLUSTER SLOTS and to CLUSTER SHARDS, in RESP2 or RESP3. Either may be an
// error reply; doc.go says what each one is trusted with. The snapshot has neither Epoch nor FetchedAt nor versions yet.
//
// A reply that is malformed, or that gives a slot twice, is refused whole. Slots that no node owns are no error.
func Parse(slots, shards []byte, source Source) (*Snapshot, error) {
	switch {
	case !isError(slots):
		s, err := parseSlots(slots, source)
		if err != nil {
			return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
		}
		s.setHealth(shards)
		return s, nil
	case !isError(shards):
		s, err := parseShards(shards, source)
		if err != nil {
			return nil, fmt.Errorf("CLUSTER SHARDS: %w", err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("%w: CLUSTER SLOTS answers %q, CLUSTER SHARDS answers %q", ErrRefused, errorText(slots), errorText(shards))
}

// isError tells an error reply, or none at all, from a map.
func isError(reply []byte) bool { return len(reply) == 0 || reply[0] == '-' || reply[0] == '!' }

func errorText(reply []byte) []byte {
	c := cursor{reply: reply}
	_, text, err := c.header()
	if err != nil {
		return clip(reply)
	}
	return clip(text)
}

// setHealth adds what CLUSTER SHARDS knows of the nodes. A reply that is no good leaves every health unknown: it takes
// nothing from a map that CLUSTER SLOTS has told in full.
func (s *Snapshot) setHealth(shards []byte) {
	if isError(shards) {
		return
	}
	health := map[string]Health{}
	err := readShards(shards, func(shard *namedShard) error {
		for i := range shard.nodes {
			health[string(shard.nodes[i].id)] = shard.nodes[i].health
		}
		return nil
	})
	if err != nil {
		return
	}
	for i := range s.Nodes {
		s.Nodes[i].Health = health[s.Nodes[i].ID]
	}
}

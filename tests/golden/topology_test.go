package golden

import (
	"encoding/json"
	"strings"
	"testing"

	"mithril/src/resp"
	"mithril/src/topology"
)

func TestTopology(t *testing.T) {
	playAll(t, "topology", func(*testing.T) map[string]Verb {
		m := &clusterMap{}
		return map[string]Verb{"slots": m.slots, "shards": m.shards, "read": m.read, "map": m.addressMap, "find": m.find}
	})
}

// clusterMap is what nodes tell of their cluster, and the map made of it.
type clusterMap struct {
	toSlots, toShards [2][]byte // replies, in RESP2 and RESP3
	addresses         topology.AddressMap
	snapshot          *topology.Snapshot
}

// slots is the reply to CLUSTER SLOTS: one JSON value, or bytes as a word.
func (m *clusterMap) slots(d *Directive) { m.toSlots = replyOf(d) }

// shards is the reply to CLUSTER SHARDS.
func (m *clusterMap) shards(d *Directive) { m.toShards = replyOf(d) }

// replyOf makes a reply of what the directive says, in both protocols.
func replyOf(d *Directive) (replies [2][]byte) {
	if len(d.input) == 0 {
		word := []byte(strings.Join(d.Rest(), ""))
		return [2][]byte{word, word}
	}
	text := strings.Join(d.input, "\n")
	d.input = nil
	for i, proto := range []resp.Proto{resp.RESP2, resp.RESP3} {
		reply, err := encode(json.NewDecoder(strings.NewReader(text)), proto)
		if err != nil {
			d.Fail("%v", err)
		}
		replies[i] = reply
	}
	return replies
}

// encode writes the next JSON value as a reply. Objects are maps.
func encode(in *json.Decoder, proto resp.Proto) ([]byte, error) {
	token, err := in.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case string:
		return resp.AppendBulkString(nil, token), nil
	case float64:
		return resp.AppendInt(nil, int64(token)), nil
	case json.Delim:
		return encodeAll(in, proto, token == '{')
	}
	return resp.AppendNull(nil, proto), nil // JSON's null
}

func encodeAll(in *json.Decoder, proto resp.Proto, isMap bool) ([]byte, error) {
	var elements []byte
	n := 0
	for in.More() {
		element, err := encode(in, proto)
		if err != nil {
			return nil, err
		}
		elements = append(elements, element...)
		n++
	}
	_, err := in.Token()
	header := resp.AppendArray(nil, n)
	if isMap {
		header = resp.AppendMap(nil, proto, n/2)
	}
	return append(header, elements...), err
}

// read makes the map, as of a node reached by the given host, with the last map in mind. It
// is the same in both protocols.
func (m *clusterMap) read(d *Directive) {
	source := topology.Source{Host: d.Option("host", "10.9.9.9"), AddressMap: m.addresses.Apply, Previous: m.snapshot}
	s, err := topology.Parse(m.toSlots[0], m.toShards[0], source)
	s3, err3 := topology.Parse(m.toSlots[1], m.toShards[1], source)
	if (err == nil) != (err3 == nil) || err == nil && !s.Equal(s3) {
		d.Fail("RESP2 reads as %v, %v, RESP3 as %v, %v", s, err, s3, err3)
	}
	if err != nil {
		d.Say("refused: %v", err)
		return
	}
	m.snapshot = s
	for slot := 0; slot < topology.SlotCount; {
		first, shard := slot, s.Slots[slot]
		for slot < topology.SlotCount && s.Slots[slot] == shard {
			slot++
		}
		if shard == topology.NoShard {
			d.Say("slots %d-%d: nobody", first, slot-1)
		} else {
			d.Say("slots %d-%d: shard %d", first, slot-1, shard)
		}
	}
	for _, n := range s.Nodes {
		id := n.ID
		if id == "" {
			id = "without id"
		}
		d.Say("node %s: %s of shard %d, %s, dialed at %s, called %v", id, n.Role, n.Shard, n.Health, n.Addr, n.Names)
	}
}

// addressMap sets the address-map: pairs of an announced address and the one to dial.
func (m *clusterMap) addressMap(d *Directive) {
	var mappings []topology.Mapping
	for len(d.args) > 0 {
		mappings = append(mappings, topology.Mapping{From: d.Word(), To: d.Word()})
	}
	addresses, err := topology.NewAddressMap(mappings)
	if err != nil {
		d.Say("refused: %v", err)
		return
	}
	m.addresses = addresses
}

// find tells which nodes redirects to host:port mean.
func (m *clusterMap) find(d *Directive) {
	for _, word := range d.Rest() {
		called, err := topology.ParseEndpoint(word)
		if err != nil {
			d.Fail("%v", err)
		}
		if i := m.snapshot.Find([]byte(called.Host), called.Port); i >= 0 {
			d.Say("%s is node %s", word, m.snapshot.Nodes[i].ID)
		} else {
			d.Say("%s is no node", word)
		}
	}
}

package topology

import "errors"

// Limits of the fields.
const (
	slotMax = SlotCount - 1
	portMax = 65535
)

// parseSlots reads CLUSTER SLOTS: an array of [first slot, last slot, primary, replica...], a node being [endpoint, port,
// id, metadata] with the two last ones missing in imitations. (Redis documentation, CLUSTER SLOTS)
func parseSlots(reply []byte, source Source) (*Snapshot, error) {
	c := &cursor{reply: reply}
	b := newBuilder(source)
	ranges, err := c.array("the map")
	if err != nil {
		return nil, err
	}
	for range ranges {
		at := c.pos
		if err := b.readRange(c); err != nil {
			return nil, locate(c, at, err)
		}
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return b.snapshot(), nil
}

func (b *builder) readRange(c *cursor) error {
	fields, err := c.array("a range")
	if err != nil {
		return err
	}
	if fields < 3 {
		return errors.New("a range lacks its primary, want first slot, last slot, primary and replicas")
	}
	first, err := c.integer("the first slot", slotMax)
	if err != nil {
		return err
	}
	last, err := c.integer("the last slot", slotMax)
	if err != nil {
		return err
	}
	primary := noNode
	for i := range fields - 2 {
		var named namedNode
		if err := readNode(c, &named); err != nil {
			return err
		}
		node, err := b.node(&named)
		if err != nil {
			return err
		}
		if i == 0 {
			primary = node
			if err := b.own(first, last, primary); err != nil {
				return err
			}
		} else {
			b.follow(node, primary)
		}
	}
	return nil
}

func readNode(c *cursor, named *namedNode) error {
	fields, err := c.array("a node")
	if err != nil {
		return err
	}
	if fields < 2 {
		return errors.New("a node lacks its port, want endpoint, port, id and metadata")
	}
	if named.endpoint, err = c.text("the endpoint of a node"); err != nil {
		return err
	}
	if named.port, err = c.integer("the port of a node", portMax); err != nil {
		return err
	}
	if fields > 2 {
		if named.id, err = c.text("the id of a node"); err != nil {
			return err
		}
	}
	if fields > 3 {
		if err := readMetadata(c, named); err != nil {
			return err
		}
	}
	for range fields - 4 { // fields that later servers may add
		if err := c.skip(); err != nil {
			return err
		}
	}
	return nil
}

// readMetadata takes the names that are not the preferred one.
func readMetadata(c *cursor, named *namedNode) error {
	pairs, err := c.pairs("the metadata of a node")
	if err != nil {
		return err
	}
	for range pairs {
		key, err := c.text("a metadata key")
		if err != nil {
			return err
		}
		switch string(key) {
		case "ip":
			named.ip, err = c.text("the ip of a node")
		case "hostname":
			named.hostname, err = c.text("the hostname of a node")
		default:
			err = c.skip()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

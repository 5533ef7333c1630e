package forwarder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"mithril/src/slot"
	"mithril/tools/testbed"
)

// Forwarder routes clients to the primaries of one cluster.
type Forwarder struct {
	slots     [slot.Count]*backend
	primaries []*backend
}

// New asks the first seed (host:port) that answers for the slot map and connects to every primary.
func New(ctx context.Context, seeds []string) (*Forwarder, error) {
	var failures []error
	for _, seed := range seeds {
		ranges, err := fetchSlots(ctx, seed)
		if err == nil {
			return connect(ctx, ranges)
		}
		failures = append(failures, fmt.Errorf("seed %s: %w", seed, err))
	}
	return nil, fmt.Errorf("no seed told the slot map: %w", errors.Join(failures...))
}

// Serve accepts clients until the listener is closed.
func (f *Forwarder) Serve(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go f.serveClient(conn)
	}
}

// Close closes the connections to the nodes. No client may be left.
func (f *Forwarder) Close() {
	for _, b := range f.primaries {
		close(b.queue)
	}
}

func (f *Forwarder) backendOf(key []byte) *backend { return f.slots[slot.Of(key)] }

// slotRange is a range of slots, both ends included, and the address of their primary.
type slotRange struct {
	first, last int
	addr        string
}

func fetchSlots(ctx context.Context, seed string) ([]slotRange, error) {
	conn, err := testbed.DialContext(ctx, seed)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	reply, err := conn.Do("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	return parseSlots(reply)
}

// parseSlots reads the reply of CLUSTER SLOTS: [first, last, [primary host, port, ...], replicas...] per range.
func parseSlots(reply any) ([]slotRange, error) {
	rows, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("CLUSTER SLOTS answered %T, want an array", reply)
	}
	var ranges []slotRange
	for _, row := range rows {
		fields, _ := row.([]any)
		if len(fields) < 3 {
			return nil, fmt.Errorf("CLUSTER SLOTS: range %v has no primary", row)
		}
		first, okFirst := fields[0].(int64)
		last, okLast := fields[1].(int64)
		node, _ := fields[2].([]any)
		if !okFirst || !okLast || first < 0 || last >= slot.Count || len(node) < 2 {
			return nil, fmt.Errorf("CLUSTER SLOTS: range %v is none of slots 0..%d", row, slot.Count-1)
		}
		host, okHost := node[0].(string)
		port, okPort := node[1].(int64)
		if !okHost || !okPort {
			return nil, fmt.Errorf("CLUSTER SLOTS: node %v has no address", node)
		}
		ranges = append(ranges, slotRange{int(first), int(last), net.JoinHostPort(host, strconv.FormatInt(port, 10))})
	}
	return ranges, nil
}

func connect(ctx context.Context, ranges []slotRange) (*Forwarder, error) {
	f := &Forwarder{}
	byAddr := map[string]*backend{}
	for _, r := range ranges {
		b := byAddr[r.addr]
		if b == nil {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", r.addr)
			if err != nil {
				f.Close()
				return nil, err
			}
			b = newBackend(conn)
			byAddr[r.addr] = b
			f.primaries = append(f.primaries, b)
		}
		for s := r.first; s <= r.last; s++ {
			f.slots[s] = b
		}
	}
	for s, b := range f.slots {
		if b == nil {
			f.Close()
			return nil, fmt.Errorf("slot %d has no primary", s)
		}
	}
	return f, nil
}

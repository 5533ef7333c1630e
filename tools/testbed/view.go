package testbed

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SlotCount is the number of hash slots of a cluster.
const SlotCount = 16384

// Role is a cluster node's role as CLUSTER NODES names it.
type Role string

const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// SlotRange is a range of slots, both ends included.
type SlotRange struct{ First, Last int }

func (r SlotRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// member is one line of CLUSTER NODES: a node as another one sees it.
type member struct {
	id      string
	role    Role
	primary string // id of a replica's primary
	epoch   int64
	slots   []SlotRange
	myself  bool
	joining bool // in handshake, or its address or role not yet known
	failing bool // PFAIL or FAIL
}

// view is one node's picture of its cluster, in id order.
type view []member

// parseView reads the reply of CLUSTER NODES: lines of
// "id address flags primary ping pong epoch link slot ...".
func parseView(text string) (view, error) {
	var v view
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			return nil, fmt.Errorf("CLUSTER NODES line %q has %d fields, want 8 or more", line, len(fields))
		}
		m := member{id: fields[0]}
		for flag := range strings.SplitSeq(fields[2], ",") {
			switch flag {
			case "master":
				m.role = Primary
			case "slave":
				m.role, m.primary = Replica, fields[3]
			case "myself":
				m.myself = true
			case "fail", "fail?":
				m.failing = true
			case "handshake", "noaddr", "noflags":
				m.joining = true
			}
		}
		var err error
		if m.epoch, err = strconv.ParseInt(fields[6], 10, 64); err != nil {
			return nil, fmt.Errorf("CLUSTER NODES line %q: configuration epoch: %w", line, err)
		}
		for _, text := range fields[8:] {
			if strings.HasPrefix(text, "[") {
				break // slots on the move follow the owned ones
			}
			r, err := parseRange(text)
			if err != nil {
				return nil, fmt.Errorf("CLUSTER NODES line %q: %w", line, err)
			}
			m.slots = append(m.slots, r)
		}
		v = append(v, m)
	}
	slices.SortFunc(v, func(a, b member) int { return strings.Compare(a.id, b.id) })
	return v, nil
}

func parseRange(text string) (SlotRange, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	a, errFirst := strconv.Atoi(first)
	b, errLast := strconv.Atoi(last)
	if errFirst != nil || errLast != nil || a > b || b >= SlotCount {
		return SlotRange{}, fmt.Errorf("slot range %q is not FIRST-LAST within 0..%d", text, SlotCount-1)
	}
	return SlotRange{a, b}, nil
}

// self returns the line of the node that was asked.
func (v view) self() (member, error) {
	for _, m := range v {
		if m.myself {
			return m, nil
		}
	}
	return member{}, errors.New("CLUSTER NODES has no line flagged myself")
}

// owner returns the id of the slot's owner, "" if the view has none.
func (v view) owner(slot int) string {
	for _, m := range v {
		for _, r := range m.slots {
			if r.First <= slot && slot <= r.Last {
				return m.id
			}
		}
	}
	return ""
}

// signature is equal for two views that agree on members, roles and slots.
func (v view) signature() string {
	var b strings.Builder
	for _, m := range v {
		fmt.Fprintln(&b, m.id, m.role, m.primary, m.slots)
	}
	return b.String()
}

// view asks the node for its picture of the cluster.
func (n *Node) view() (view, error) {
	reply, err := n.do("CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("node %s: CLUSTER NODES answered a %T, want a string", n.Addr(), reply)
	}
	v, err := parseView(text)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Addr(), err)
	}
	return v, nil
}

package worker

import "mithril/src/slot"

// order keeps the requests of a session in the order sent, per slot. One pipe does that
// by itself. When the requests of a slot begin to take another pipe, those still open on
// the old one may be answered with a redirect there and come late; so a session that has
// open requests changes pipes only when all of them are answered.
//
// An era is a change of routes. Sessions remember the era in which they had nothing open
// last, which costs a load and a comparison per request.
type order struct {
	era     uint32
	changed [slot.Count]uint32 // slot -> the era that gave it another pipe
}

// lead makes a slot lead to a node, or to none, from the current era on.
func (w *Worker) lead(s, index uint16) {
	if w.route[s] != index {
		w.route[s] = index
		w.order.changed[s] = w.order.era
	}
}

// override makes a slot lead to the node a redirect has named, until the next map.
func (w *Worker) override(s uint16, n *node) {
	w.order.era++
	w.lead(s, n.index)
}

// leaveAgain notes that the slots of a node take another pipe to it from now on.
func (w *Worker) leaveAgain(n *node) {
	w.order.era++
	for s, index := range w.route {
		if index == n.index {
			w.order.changed[s] = w.order.era
		}
	}
}

// keepsOrder says whether a request in slot s can be sent behind the open ones of its
// session, and holds the session if not.
func (w *Worker) keepsOrder(c *client, s uint16) bool {
	if c.Pending() == 0 {
		c.era = w.order.era
		return true
	}
	if c.era == w.order.era || int32(w.order.changed[s]-c.era) <= 0 {
		return true
	}
	c.HoldForOrder()
	return false
}

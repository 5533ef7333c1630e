package refresher

import (
	"slices"
	"strings"

	"mithril/src/command"
	"mithril/src/topology"
)

// offer is the table of commands that goes with a map, and what it was made of.
type offer struct {
	base  *command.Table  // built in, for the engine and version of the nodes
	told  []*command.Rows // by the primaries, each list once
	table *command.Table
}

// newOffer is what is offered before any node is known.
func newOffer(options *Options) offer {
	o := offer{base: command.ForEngine("", 0, 0)}
	o.extend(options)
	return o
}

// offerFor makes the table for a map: what is built in for the nodes' version, the configured commands, and those that all primaries which
// have been asked describe alike. A command that one of them lacks might be sent there in vain.
func (r *Refresher) offerFor(snapshot *topology.Snapshot) offer {
	next := offer{base: r.offer.base, told: r.versions.told(snapshot)}
	if v := snapshot.Version; v.Known() {
		next.base = command.ForEngine(snapshot.Engine, v.Major, v.Minor)
	}
	if next.base == r.offer.base && slices.Equal(next.told, r.offer.told) {
		return r.offer
	}
	next.extend(&r.options)
	return next
}

// extend adds to the built-in commands. If the nodes' are too many it adds none.
func (o *offer) extend(options *Options) {
	var err error
	o.table, err = o.base.Extend(slices.Concat(options.Extra, []*command.Rows{command.Common(o.told)})...)
	if err != nil {
		options.Log.Warn("commands beyond the built-in ones are not taken", "cause", err)
		o.table = o.base
	}
}

// added answers the names of the commands that are offered and not built in.
func (o *offer) added() string {
	var names []string
	for id := o.base.Len(); id < o.table.Len(); id++ {
		if c := o.table.Row(uint16(id)); c.Parent() == nil && c.Offered() {
			names = append(names, strings.ToLower(c.Name))
		}
	}
	return strings.Join(names, " ")
}

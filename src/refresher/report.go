package refresher

import (
	"maps"
	"slices"
	"strings"

	"mithril/src/topology"
)

// subject is what a condition is about: the cluster, or the node or name at an address.
type subject struct {
	about string
	addr  string
}

// Subjects.
var (
	theMap      = subject{about: "map"}
	theCoverage = subject{about: "coverage"}
	theCommands = subject{about: "commands"}
)

func answerOf(addr string) subject { return subject{"answer", addr} }
func nameOf(addr string) subject   { return subject{"name", addr} }
func reachOf(addr string) subject  { return subject{"reach", addr} }
func tellOf(addr string) subject   { return subject{"tell", addr} }

// fine is the state in which every subject starts.
const fine = ""

// conditions remembers the last state that was logged of each subject, so that a condition is logged when it begins and when
// it ends and not at each attempt.
type conditions map[subject]string

// becomes notes a state and reports whether it is another than before.
func (c conditions) becomes(about subject, state string) bool {
	if c[about] == state {
		return false
	}
	if state == fine {
		delete(c, about)
	} else {
		c[about] = state
	}
	return true
}

// keep forgets addresses that are gone, lest they add up.
func (c conditions) keep(addrs map[string]bool) {
	for about := range c {
		if about.addr != "" && !addrs[about.addr] {
			delete(c, about)
		}
	}
}

// reportOutcome logs what a fetch has changed.
func (r *Refresher) reportOutcome(result outcome) {
	if result.best == nil {
		worst := unreachable
		for _, failure := range result.failures {
			worst = max(worst, failure.kind)
		}
		if r.conditions.becomes(theMap, worst.String()) {
			r.options.Log.Warn("no node gives the cluster map", "condition", worst.String(), "causes", causes(result.failures))
		}
		return
	}
	snapshot := result.best.snapshot
	if r.conditions.becomes(theMap, "known") {
		r.options.Log.Info("cluster map found", "from", result.best.addr, "nodes", len(snapshot.Nodes),
			"shards", len(snapshot.Shards), "slots", snapshot.Covered)
	}
	r.reportCoverage(snapshot)
	r.reportNodes(result)
}

// reportPrimaries logs which nodes own slots that did not before, and which do not any more: a failover, or shards that come and
// go.
func (r *Refresher) reportPrimaries(before, after *topology.Snapshot) {
	gone, found := primaries(before), primaries(after)
	for addr := range gone {
		if found[addr] {
			delete(gone, addr)
			delete(found, addr)
		}
	}
	if len(gone)+len(found) > 0 {
		r.options.Log.Info("primaries changed", "new", some(found), "gone", some(gone))
	}
}

// primaries are the addresses of the nodes that own slots.
func primaries(s *topology.Snapshot) map[string]bool {
	addrs := map[string]bool{}
	for i := range s.Shards {
		addrs[s.Nodes[s.Shards[i].Primary].Addr] = true
	}
	return addrs
}

// some names addresses, not all when they are many.
func some(addrs map[string]bool) string {
	const most = 8
	list := slices.Sorted(maps.Keys(addrs))
	if len(list) > most {
		list = append(list[:most], "...")
	}
	return strings.Join(list, ",")
}

func (r *Refresher) reportCoverage(snapshot *topology.Snapshot) {
	if snapshot.Complete() {
		if r.conditions.becomes(theCoverage, fine) {
			r.options.Log.Info("every slot has an owner again")
		}
		return
	}
	state := "published"
	if r.options.RequireFullCoverage {
		state = "refused"
	}
	if r.conditions.becomes(theCoverage, state) {
		r.options.Log.Warn("slots without an owner", "covered", snapshot.Covered, "map", state)
	}
}

// reportNodes logs nodes whose maps are no good and names that do not resolve.
func (r *Refresher) reportNodes(result outcome) {
	concerned := map[string]bool{}
	r.conditions.becomes(answerOf(result.best.addr), fine)
	for _, failure := range result.failures {
		concerned[failure.addr] = true
		if failure.kind == malformed && r.conditions.becomes(answerOf(failure.addr), "malformed") {
			r.options.Log.Warn("map refused", "node", failure.addr, "cause", failure.err)
		}
	}
	for i := range result.best.snapshot.Nodes {
		node := &result.best.snapshot.Nodes[i]
		concerned[node.Addr] = true
		if node.Dial.IsValid() {
			if r.conditions.becomes(nameOf(node.Addr), fine) {
				r.options.Log.Info("name of a node resolves", "node", node.Addr, "address", node.Dial.String())
			}
		} else if r.conditions.becomes(nameOf(node.Addr), "unresolved") {
			r.options.Log.Warn("name of a node does not resolve", "node", node.Addr, "causes", causes(result.unnamed))
		}
	}
	r.conditions.keep(concerned)
}

// reportProbes logs nodes that the cluster announces and that cannot be asked, a sign of addresses that are not for us, and
// those that do not tell their commands.
func (r *Refresher) reportProbes(probes []probe) {
	for _, probe := range probes {
		if probe.failure != nil {
			if r.conditions.becomes(reachOf(probe.addr), probe.failure.kind.String()) {
				r.options.Log.Warn("node that the cluster announces cannot be asked; address-map helps if the address is not meant for here",
					"node", probe.addr, "condition", probe.failure.kind.String(), "cause", probe.failure.err)
			}
			continue
		}
		if r.conditions.becomes(reachOf(probe.addr), fine) {
			r.options.Log.Info("node can be reached", "node", probe.addr)
		}
		if probe.untold == nil {
			if r.conditions.becomes(tellOf(probe.addr), fine) {
				r.options.Log.Info("node tells its commands", "node", probe.addr)
			}
		} else if r.conditions.becomes(tellOf(probe.addr), "untold") {
			r.options.Log.Info("node does not tell its commands: only built-in and configured ones are offered", "node", probe.addr,
				"cause", probe.untold)
		}
	}
}

// reportOffer logs which commands are offered besides the built-in ones.
func (r *Refresher) reportOffer() {
	names := r.offer.added()
	if !r.conditions.becomes(theCommands, names) {
		return
	}
	if names == fine {
		r.options.Log.Info("no more commands than the built-in ones are offered")
		return
	}
	r.options.Log.Info("commands beyond the built-in ones are offered", "names", names)
}

// causes joins failures into one text, each once.
func causes(failures []*failure) string {
	const causesMax = 4
	var texts []string
	for _, failure := range failures {
		texts = append(texts, failure.Error())
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) > causesMax {
		texts = append(texts[:causesMax], "...")
	}
	return strings.Join(texts, "; ")
}

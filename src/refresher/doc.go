// Package refresher keeps the cluster map current: it asks nodes when the machine of package topology says so, publishes
// each map that differs from the last one, and logs every change of condition once. It is control plane, ordinary Go with
// net and context, and never runs on a worker's turn.
//
//	workers, sessions ── Wish ──► Run ◄──── outcome ──── round.run ──► askNode ─► converse ─► node
//	                               │ ▲                    (one fetch)     ...         ...
//	   topology.Refresh ◄─ step ───┤ └──── probes ──── probeAll ──► INFO server and COMMAND of nodes not yet known
//	                               │
//	                               └──► publish ──► Current and Commands (atomic pointers), subscribers
//
// One goroutine, Run, owns the machine, the versions, the offer of commands and the log conditions. A fetch and a round of probes
// run beside it, at most one of each, and hand their results back over a channel. Run waits for both before it returns.
//
// # A round
//
// The nodes of the current map are asked in random order, up to 16 of them: CLUSTER SLOTS, CLUSTER SHARDS, CLUSTER INFO and
// INFO server in one write on a new connection. A node that is silent for 250 ms gets company from the next one. The first
// map that covers every slot and is not from an older epoch of the cluster than the current map ends the round; the
// other conversations are cancelled. A node that was cut off, wiped or paused can tell less or something older, and that is
// taken only when no node does better. Where no node was good enough the bootstrap names are resolved again and what they
// name is asked likewise.
//
// # Which commands are offered
//
// Every node is asked COMMAND once, and again when it has failed and comes back, or has another run_id than before. (What
// MODULE LOAD brings into a running node is not noticed.) What all
// primaries describe alike and no built-in table has is added to the built-in commands of the nodes' version: commands of modules,
// or of newer servers. A primary that does not tell its commands (its ACL, a reply that is none) has the built-in ones only, so
// nothing is added; one that has not been reached yet, or has failed, is passed over. Configured commands are offered in any case.
// The table changes only together with the map's epoch.
//
// # What is logged
//
//	condition                                         | level   | ends with
//	no node gives the map (unreachable, refused, ...) | warning | cluster map found
//	other nodes own slots than before                 | notice  | (the next such line)
//	slots without an owner                            | warning | every slot has an owner again
//	a node's map is malformed                         | warning | (its next good map, unlogged)
//	a node's name does not resolve                    | warning | name of a node resolves
//	a node cannot be asked for its program            | warning | node can be reached
//	a node does not tell its commands                 | notice  | node tells its commands
//	commands beyond the built-in ones are offered     | notice  | (other ones, or none, are offered)
package refresher

// Package sim runs production workers against a simulated kernel, cluster and crowd of
// clients, in virtual time, from one seed. The same seed gives the same run, event by
// event.
//
//	clients --- wires --- Ring === worker === Ring --- wires --- nodes
//	 script.go            ring.go  core.go                       node.go, store.go, scripts.go
//	 client.go            ops.go                                 cluster.go, migrate.go
//	 whole.go             descriptors.go                         whole.go, life.go
//	    |                    ^                                      |
//	    |                    | World: virtual time, one heap        | every execution
//	    v                    v        of events, one generator      v
//	 judge.go  <------------------ requests ----------------->  judge.go
//
// There are one to four workers, each on a coroutine of its own. A worker goes on when its wait
// is over; which of them does when several can is drawn from the seed, and time passes when
// none can. A turn takes no time itself: that passes before the ring looks for events, so
// that the turns of different workers come in any order. One of the faults lets the others
// run on in the middle of a turn.
//
// Each request carries its own number in its keys ("{a}k1#7.12.0": item 0 of request 12
// of session 7). Nodes strip it from the key and note the execution under it, so that
// each reply can be compared with what the node did for that very request, and each
// write can be counted.
//
// A run has three phases:
//
//	faults    sessions run while the faults of the seed's Config strike
//	calm      no more faults: what is outstanding must finish within calmTime
//	probe     new sessions write and read every slot, get no error at all and wait for
//	          nothing but the network
//
// and then everything is closed and counted: no block of an arena, no timer but the
// workers' own, no join and no request may be left.
//
// What is checked:
//
//   - Each request gets exactly one reply, in order, equal to what its node answered; or none,
//     if the client has said so.
//   - A request that was answered with a value was executed once, every item of it; one
//     whose outcome is unknown at most once; one that was refused not at all.
//   - Requests of one session take effect in the order sent, per slot; while a slot is
//     being moved, per key.
//   - A request comes to nodes as often as redirects may be followed, with the waits between
//     that are due; after ASK at the node it names, with ASKING; and on connections that
//     speak the session's protocol. (REDIR1, REDIR2, PROTO4)
//   - A script that its node has lost is run once, directly behind its SCRIPT LOAD, and no
//     session hears of it that waits for each reply. (SCRIPT1)
//   - What concerns the whole keyspace is executed once by every node, behind all earlier
//     requests of its session and before all later ones. A walk comes to every key that was
//     where it is all the time, and its cursors to the node that has given them. (ROUTE8)
//   - CLIENT LIST names the clients of all workers. (OBS2)
//   - No redirect reaches a client. Errors appear only if the seed has faults that
//     explain them.
//   - With shared connections one worker has those of a node and protocol. (PIPE1)
//   - Workers keep the contract of package ring: one send in flight per socket, a close only
//     when nothing is armed; and each keeps to its own sockets.
//   - What nodes receive are well-formed requests. One that has refused a connection is left
//     alone for a while.
//
// That defects would be noticed is proved by mutants: those of mutant.go change what
// passes the ring, those of package mutation the program itself.
//
// A failing seed is shrunk by switching off what it does not need, and printed:
//
//	go test ./tests/sim -run 'TestSeed$' -seed 17 -show
package sim

// Package micro measures one worker, or two, without kernel and network: what a request
// costs in user space, and that it allocates nothing.
//
//	         Received                 Sent, Received
//	client ----------> worker turn ------------------> worker turn ---> client
//	                        |  send            ^  reply      send
//	                        +------> Ring -----+
//
// The Ring of this package does as little as a ring can: a send to a node is answered
// with a reply that the benchmark has prepared, in the next turn. One iteration is one
// batch of requests there and back, in two turns.
//
//	go test ./bench/micro -bench .
//
// With a second worker that has the connections to the nodes, requests are handed over and
// replies handed back, in two turns more:
//
//	client ---> worker == letters ==> keeper turn ----> keeper turn == letters ==> worker ---> client
//	                                       |  send        ^  reply
//	                                       +----> Ring ---+
//
// What that costs is the difference to a worker that has the connections itself (near) beside
// one that has nothing to do. BenchmarkHandOver measures it in pairs. The ring rings nobody:
// that is a system call's matter.
//
// The tests of the package are the gates: no load allocates. Loads are requests of one key
// with small and large values, pipelined, inline and of RESP3, requests over three shards,
// redirects that are followed, error replies, what the proxy answers itself, and what
// another worker has the connection for.
// bench/instructions counts what they cost.
package micro

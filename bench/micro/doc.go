// Package micro measures one worker without kernel and network: what a request costs in
// user space, and that it allocates nothing.
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
// The tests of the package are the gates: no load allocates. Loads are requests of one key
// with small and large values, pipelined, inline and of RESP3, requests over three shards,
// redirects that are followed, error replies, and what the proxy answers itself.
// bench/instructions counts what they cost.
package micro

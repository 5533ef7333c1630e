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
// The tests of the package are the gates: no allocation per GET, pipelined GET, MGET over
// three shards and followed MOVED.
package micro

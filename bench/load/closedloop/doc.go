// Package closedloop loads a RESP server with pipelined commands: every connection sends a batch, waits for all
// its replies, and sends the next one. Few threads serve many connections over epoll, and both requests and
// replies are handled with little work, so that on a small machine the load costs less than what it loads.
//
// The keys are key:000000000000 and so on, taken at random with a fixed seed. Replies are checked for their kind
// and order only: any error reply, and any reply of another kind than its command has, ends the run with an
// error; a missing value is counted.
//
// A run has a warm-up, then a window in which commands and latencies count, then an end in which what is
// outstanding is awaited. A command's latency is the time from the write of its batch to the read that completes
// its reply.
package closedloop

// Package metamorphic holds the proxy to one relation: what a client gets depends on what
// it and others have sent, and on nothing else.
//
// A history is what one client sends, made from a seed. Eight histories with keys of their
// own make a round. Every round is played to the same empty cluster through one proxy
// after the other, one for each number of workers with each way of sharing connections and each
// engine, with different batch windows and numbers of connections to the nodes, and with the
// bytes cut into other pieces on their way in and out; in front of two more relays cut what
// nodes send and get. All must answer the same, byte by byte.
//
//	seed -> round -> 8 histories -.-> arm 0: io_uring, 1 worker, whole  -> replies
//	                              |-> arm 1: epoll, 4 workers, cut      -> replies  all the same
//	                              '-> ...                               -> replies
//
// What is right is not asked here: package protocol compares with a lone node.
//
//	go test ./tests/live/metamorphic -soak           2,000 histories
//	go test ./tests/live/metamorphic -rounds 1000
//	go test ./tests/live/metamorphic -first 17 -rounds 1
package metamorphic

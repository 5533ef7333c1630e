// Package pipe is one pipelined connection to a node, as a pure machine: bytes and
// requests go in, replies paired with their requests come out. It knows no socket.
//
//	requests --Push--> [ queue ] --Out--> node
//	replies  <--Next-- [ queue ] <--Put-- node
//
// The queue pairs replies with requests by order alone: the node answers in the
// order it was asked. A request keeps its frame in the queue until its reply has
// been taken, so that a redirect can send the same bytes to another node.
//
// Replies come in groups: a request may be preceded on the wire by commands whose
// replies nobody wants to see (ASKING, SCRIPT LOAD), and such replies are swallowed
// before the one that counts. The group is contiguous on the wire and so is its place
// here.
//
// A Pipe is one connection's life; a new connection is a new Pipe. States:
//
//	Connecting  the connection is being opened; requests queue
//	Greeting    connected; HELLO and its companions are unanswered; requests queue
//	Ready       requests are sent
//	Closed      over; requests still queued are taken out with Pop
//
// A pipe that joins a connection of somebody else's (relay.go) is Ready at once.
//
//	            Connected           greeting answered
//	Connecting ----------> Greeting ------------------> Ready
//	     |                     |                          |
//	     +---------------------+------- Close ------------+---> Closed
package pipe

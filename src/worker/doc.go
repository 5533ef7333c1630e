// Package worker is the loop of one core. It owns one ring, the sessions of its clients,
// the pipes it has opened to nodes, their timers and counters, and shares none of them
// while it serves requests.
//
//	        +------------------------------- turn ------------------------------+
//	events  |  step sessions and pipes  ->  timers  ->  go on with held sessions |  ops
//	------> |            ^                                                       | ----->
//	letters |            |     flush every touched socket once, ring the others  | letters
//	------> +--------------------------------------------------------------------+ ----->
//
// A turn takes every event that is ready, steps all machines, and only then writes:
// each socket that has something to say gets one send, and all sends go to the kernel
// with one submission. So system calls are paid per turn and not per request.
//
// Events and timers name their targets by tokens: an index into a slab and a
// generation. What is gone by then is recognised and dropped.
//
// The life of a socket, for clients and nodes alike (end.go):
//
//	Opening  a connect is in flight, there is no socket yet
//	Open     bytes flow
//	Joining  shut down; operations are still with the ring
//	Gone     closed, nothing refers to it any more
//
//	Opening ---> Open ---> Joining ---> Gone
//	    |                     ^          ^
//	    +---------------------+          |
//	    +--------------------------------+
//
// The socket is closed only when nothing is in flight on it, because the ring may still
// read the bytes of a send and a new socket may get the same number.
//
// Of a listener (accept.go):
//
//	Off       it rests: descriptors are short, or too many clients are being turned away
//	Any       connections are taken as they come
//	Few       a few are taken, because more could be too many
//	Stopping  asked to stop; connections may still come
//
//	Off ---> Any, Few ---> Stopping ---> Off
//	            '------------------------^
//
// Workers write letters to each other (post.go), for connections that one keeps for all
// (far.go, line.go), for what all have a part in (survey.go), and for new clients: one
// worker accepts them all and hands each to the one that place.go chooses. A letter names bytes in the
// memory of the one who wrote it; nobody writes to another's.
//
// Whose requests a pipe takes is drawn in tenure.go, and how a large request finds its
// node in aim.go. Requests for several nodes are in broadcast.go and walk.go, scripts that
// nodes lack in script.go, and redirects that may be a script's own words in doubt.go.
package worker

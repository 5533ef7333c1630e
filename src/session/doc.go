// Package session is one client connection, as a pure machine: bytes go in, requests
// come out one by one, replies go in at their numbers and bytes come out in order. It
// knows no socket, no pipe and no clock.
//
//	client --Put--> [inbox] --Next--> Intent --Accept--> window entry seq
//	client <--Out-- [in order] <-- emit <-- Answer(seq, reply), in any order
//
// The window is the ring of requests that are accepted and not yet answered. A reply
// that arrives at its head goes out at once, an early one is parked at its entry. The reply
// to a silent request (CLIENT REPLY) is taken in the same way, and goes nowhere.
//
// States of a session:
//
//	Fresh     a password is required and has not been given
//	Plain     requests are served
//	Refusing  inside a transaction that was refused: nothing is executed until its end
//	Draining  no more requests are read; ends when every reply is out
//	Dead      to be closed at once: its replies have nowhere to go
//
// While Next holds a request back, the session keeps it, and everything behind it,
// unread; the reason is a Hold, and Release says when it has passed.
//
//	HoldWindow   too many requests are outstanding
//	HoldBarrier  the command acts on the session itself, or on keys of several nodes: nothing else may be open
//	HoldOrder    requests in flight may still change their node and must not be overtaken
//	HoldOutput   the client does not read its replies
//	HoldPipe     the pipe has no room, or it is asked where a large request goes; the worker ends it
package session

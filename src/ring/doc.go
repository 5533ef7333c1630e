// Package ring is the vocabulary between a worker and whatever does its input and
// output: the io_uring engine, the epoll engine, or a simulator.
//
// A worker turns: it hands over the operations its last turn produced, waits, and
// receives events. One call does all three, so that an engine can do them with one
// system call and an interface call is paid once a turn.
//
//	         Turn(ops, wait, events)
//	worker  ------------------------->  Ring  --->  kernel or simulator
//	        <-------------------------
//	              events[:n]
//
// Contract of every engine, checked by one conformance table of tests:
//
//   - Operations take effect in the order given, at the latest when Turn waits.
//   - An event carries the token of the operation it answers, never a pointer.
//   - Accept and Recv stay armed: each yields any number of Accepted or Received
//     events and then exactly one AcceptEnded or RecvEnded, after which the
//     operation may be given again. An Accept with a Max never takes more connections
//     than that from the kernel, so that their descriptors stay with the system.
//   - A socket has at most one Send in flight; its end is one Sent event, which may
//     report fewer bytes than asked (the rest is sent again by the caller).
//   - Shutdown makes armed operations end; Close is given only when none is armed
//     or in flight on the socket. After Close the socket number may come back for a
//     new connection, so stale tokens are told apart by their generation.
//   - After Shutdown whatever ends without data ends with ErrCanceled.
//   - Each Received slice holds one reference of its receive chunk, which belongs to
//     the worker. A RecvEnded with ErrNoBuffers means that all chunks were in use:
//     the operation may be given again at once, and takes effect when chunks are
//     back, in the order given.
//   - An accepted socket that has had no operation yet may be given to the engine of another
//     worker. It belongs to the engine that is given the first operation on it, until Close.
//   - OpBell is Wake from another engine, for the price of one more operation of a turn. What
//     the ringing thread has written before the Turn is seen by the other behind its Woken
//     event, which counts as one of the events a wait gathers. The engines of a process are
//     of one kind, and each stays open until all that ring it have turned for the last time.
//   - Slices of a Send are read until its Sent event; the array that lists them only
//     until the Turn it was given to returns.
package ring

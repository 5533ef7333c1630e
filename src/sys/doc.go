// Package sys is the door to the kernel: the io_uring engine and the epoll engine,
// which implement ring.Ring, and sockets, memory, CPU affinity and limits. No other
// package makes system calls.
//
//	          ring.Op                           ring.Event
//	worker ------------> Uring | Epoll --------------------> worker
//	                       |        ^
//	        submissions,   |        |  completions,
//	        calls          v        |  readiness
//	                        kernel
//
// Files: uring_* the io_uring engine on its own binding (uring_abi.go the kernel's
// structures, uring_queue.go one ring, uring_buffers.go the receive chunks lent to
// it), epoll_* the other one, record.go and events.go what they share, choose.go
// and uring_probe.go the choice between them.
//
// # Waiting
//
// Engines wait in raw system calls, which the Go scheduler does not know of:
// telling it costs more than the wait. So a waiting worker keeps its scheduler slot
// (GOMAXPROCS must exceed the number of workers), and a garbage collection stops it
// by a signal that interrupts the call. Without such signals, with
// asyncpreemptoff=1, the process would hang: engines refuse to start then.
//
// The scheduler sends the same signal to whoever has kept a slot for 10 ms, again and
// again, and each costs some 60 us in three threads. So a wait that a signal has
// interrupted goes on in a system call that the scheduler is told of: it takes the
// slot away once, and an idle process sleeps.
//
// # Bells
//
// Engines wake each other, as workers do that have put something into each other's queues.
// With io_uring a bell is a message (MSG_RING) that puts a completion into the other ring,
// submitted with the rest of the turn; with epoll, and where messages do not work, it is a
// write to the other engine's eventfd. One that has nobody to reach is lost without harm, but
// an engine's descriptors are closed with it and their numbers come back, and 8 bytes would then be
// written to some connection: no engine may be closed before all that ring it have turned for
// the last time.
//
// # States of a socket
//
// Each engine has a record per descriptor, in three parts. The lasting operation,
// OpAccept of a listener or OpRecv of a connection:
//
//	state     event                                      next
//	Idle      OpAccept, OpRecv                           Armed
//	Idle      OpRecv without a free receive chunk, or    Parked
//	          after ErrNoBuffers
//	Parked    a receive chunk is back                    Armed
//	Parked    stop, shutdown                             Idle, with ErrCanceled
//	Armed     stop (io_uring)                            Stopping
//	Armed     stop (epoll)                               Idle, with ErrCanceled
//	Armed     end of the stream, error, no chunk         Idle, with the reason
//	Armed     the last connection of OpAccept's Max      Idle, with ErrNone
//	Armed     the kernel gave up, its queue being full   Armed again, or Parked
//	Stopping  canceled, or any other end                 Idle, with the reason
//
// What is on its way to the peer: Idle, Connect (OpConnect) or Send (OpSend), and
// back to Idle with its one event.
//
// Its life: Closed, Open, Shut after OpShutdown, Closed. Whatever ends while Shut
// ends with ErrCanceled. Every Closed raises the generation of the number, so that
// a late result from the kernel is told from one for the next socket.
package sys

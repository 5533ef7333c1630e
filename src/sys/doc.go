// Package sys is the door to the kernel: the io_uring engine, the epoll engine,
// sockets, memory, CPU affinity and limits. No other package makes system calls.
package sys

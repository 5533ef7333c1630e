// Package forwarder is the proxy that Mithril is measured against: the same job done with the means that Go
// offers for it, net.Conn, goroutines, channels and bufio.
//
//	client reader --request--> backend queue --> backend writer --bytes--> node
//	      |                                            |
//	      | same request                               | in-flight FIFO
//	      v                                            v
//	client order queue <--done-- request <--reply-- backend reader <--bytes-- node
//	      |
//	      v
//	client writer --bytes--> client
//
// Each client has a reader and a writer, each primary has one connection with a reader and a writer. A request
// goes into two queues: its backend's, and its client's in the order of arrival. The client's writer takes the
// requests in that order and waits for each one's reply, so replies leave in order whatever node is faster.
// Writers flush when they have nothing further to write at once; requests come from a pool and keep their buffers.
//
// It stays small on purpose: RESP2 arrays only, the slot map is fetched once, redirections reach the client, and
// commands route by their first argument, MGET by slot. What it does, it does without shortcuts that would make
// the comparison an unfair one.
package forwarder

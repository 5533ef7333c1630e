// Package admin answers the commands that concern the process, not one session: COMMAND, CONFIG GET, CLUSTER, INFO, CLIENT LIST, LATENCY,
// ROLE and TIME. A Server builds each reply from what others publish; it changes nothing and waits for nothing.
//
//	worker -- Query --> Server.Answer -- by Command.Name --> method --> reply in q.Proto
//	                      |
//	                      +-- Conf, Map, CPU, Clock
//
// The cluster that CLUSTER describes (ROUTE9) is one virtual node: a primary that owns every slot, at the address that
// clients are to connect to. Its id and its shard's id are digests of conf.Config.Announce, so they survive restarts. Two
// proxies without announce-addr that listen on the same wildcard address and port have the same id.
//
// That address is announce-addr, or else the first bind address. A wildcard address is none that a client could connect
// to; each client is then told the address at which it reaches this machine (Server.Reach), a loopback client its own. If
// that is not known either, the host is empty, which in CLUSTER replies stands for the host that was asked
// (redis.conf, cluster-preferred-endpoint-type). Not every client understands that: set announce-addr.
package admin

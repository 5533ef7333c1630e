// Package testbed runs real servers for tests and tools: it fetches them,
// starts lone nodes and whole clusters on loopback, and breaks them on
// purpose.
//
//	Ensure -> Engine           the programs of one server release
//	            |
//	StartNode -> Node          one process: Kill, Pause, Resume, Restart
//	            |
//	Start, Open -> Cluster     shards of nodes: Failover, MoveSlotLegacy,
//	            |              MoveSlotsAtomic, WaitOK, WaitFailover
//	Dial -> Conn               a plain RESP2/RESP3 client
//
// A server process is in one of three states, which only the kernel knows:
//
//	          start                 Pause
//	Down ----------------> Running --------> Paused
//	 ^                      |   ^              |
//	 +----------------------+   +--------------+
//	 |       Kill, its end           Resume    |
//	 +-----------------------------------------+
//	                    Kill
//
// Servers die with the process that started them, however it ends, unless
// they are detached. Everything that waits has a limit in time and says in
// its error what it waited for and what was missing.
package testbed

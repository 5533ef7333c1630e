// Package topology knows what a cluster looks like: the immutable Snapshot of its nodes, shards and slots, the parser that
// makes one from what a node answers, and the machine that decides when to ask again. It is pure; package refresher does
// the asking.
//
//	CLUSTER SLOTS ──┐  slots.go                                    refresh.go
//	CLUSTER SHARDS ─┤  shards.go ──► builder ──► Snapshot ◄── when? ── Refresh ◄── wishes, ticks, outcomes
//	                │  (cursor.go)   build.go    snapshot.go
//	INFO server ────┴► info.go, version.go          ▲
//	                                  address.go ───┘ (address-map, host:port)
//
// # Which reply is trusted with what
//
// CLUSTER SLOTS is the map. It exists everywhere, imitations included, it names the owner of each slot range without doubt
// (the first node), carries node ids, and leaves out replicas that cannot serve. CLUSTER SHARDS adds the health of the nodes,
// which the former lacks, by node id. It is not trusted with ownership as long as the former answers: a shard can list two
// primaries after a failover, some versions of Redis 7.2 then show the shard without its slots, and a node that changed
// shards can be listed under its old one. Only where CLUSTER SLOTS is refused does CLUSTER SHARDS make the map.
//
// A map is refused whole when it is malformed or gives a slot twice. Slots without an owner are not an error: the snapshot
// says how many are covered. Nodes without slots, and nodes without an address, are left out; slots of an owner without an
// address count as uncovered.
//
// # How a node is called
//
// A node is told by its id. Its address to dial is the preferred endpoint after address-map. An empty or null endpoint means
// the host of the node that was asked; "?" means the address that the reply gives beside it, and that same host when it
// gives none. All names of a node are kept, so that a redirect by host name and one by address lead to one node, and a node
// keeps its address over refreshes as long as any of its names stays: nodes of one cluster may prefer different names.
//
// # Refresh machine
//
//	        Wish within the debounce time             Tick at the debounce time
//	Idle ──────────────────────────────► Debouncing ───────────────────────────┐
//	 ▲ │                                    ▲                                  ▼
//	 │ └──── Tick at due, or Wish ──────────┼───────────────────────────► Fetching
//	 │                                      │ map came, wished meanwhile     │ │ ▲
//	 └──────────────── map came ────────────┴────────────────────────────────┘ │ │
//	                                                  FetchFailed              ▼ │ Tick at due
//	                                                                         Backoff
//
// One fetch starts at once when the last start is a debounce time ago, and later otherwise: the first wish after a quiet
// spell is not held up, and a storm of wishes costs one fetch per debounce time. In Backoff wishes are not heard, because a
// cluster that cannot be reached is what makes them.
//
//	state      | Tick before due | Tick at due | Wish                       | FetchedFull            | FetchedPartial          | FetchFailed
//	Idle       | -               | Fetching    | Fetching, or Debouncing    | panic                  | panic                   | panic
//	Debouncing | -               | Fetching    | -                          | panic                  | panic                   | panic
//	Fetching   | -               | -           | - (noted)                  | Idle for a period      | Idle for a backoff wait | Backoff
//	           |                 |             |                            | (noted: Debouncing)    | (noted: Debouncing)     |
//	Backoff    | -               | Fetching    | -                          | panic                  | panic                   | panic
//
// Every step to Fetching is a StartFetch. The backoff wait doubles from BackoffMin to BackoffMax with each fetch that does
// not bring a complete map, with jitter over its upper half. The machine is ready while the last map that came covered every
// slot and is not older than three periods.
package topology

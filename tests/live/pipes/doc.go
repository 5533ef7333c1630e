// Package pipes tests the connections to nodes: who shares them, in which order requests
// take effect that go over them, and what holds whom back when a node or a client does not
// keep up. What depends on the number of workers and on how they share connections runs with
// every layout.
package pipes

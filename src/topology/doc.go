// Package topology knows what a cluster looks like: an immutable snapshot of its nodes, shards and slots.
package topology

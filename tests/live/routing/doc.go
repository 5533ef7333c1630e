// Package routing tests where requests go and what comes of those that go to several
// places: slots, the command table, splits and joins, CROSSSLOT, and what the proxy says
// of its cluster and its commands.
//
// The yardstick is a node of the same release: a standalone one for replies, the cluster's
// own primaries for where keys lie and for how many requests a split has become.
package routing

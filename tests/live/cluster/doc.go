// Package cluster tests what the proxy does while the cluster behind it changes: slots
// that move, nodes that die, maps that are wrong. Clusters are real where one can be made
// to do it, and scripted nodes elsewhere.
package cluster

// Package testbed runs real servers for tests and tools: it fetches them,
// starts lone nodes and whole clusters on loopback, and breaks them on
// purpose.
package testbed

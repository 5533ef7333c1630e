// Package protocol tests what one client connection sees: framing, order, HELLO, AUTH, the
// shapes of replies in both protocols, and the end of a connection.
//
// The yardstick is a standalone node of the same release, asked the same: the bytes must
// be the same; package differential does that for every command. The tests need no other
// package's state and run in front of every server release with both I/O engines (package
// harness).
package protocol

// Package invariant holds the program's assertions.
//
// Two strengths:
//
//	Assert           always compiled in; costs a compare and a branch, so it may stand on the request path
//	if Enabled {...}  compiled in only with the build tag "invariants"; may be as costly as it likes
//
// An assertion states what the code around it relies on and what no input can make false. Bytes from a
// client, a node or a file are never asserted: they get an error that says what was wrong with them.
package invariant

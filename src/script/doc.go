// Package script remembers the bodies of scripts, so that a node that lacks one can be given
// it. It is pure.
//
//	EVAL body, SCRIPT LOAD body --Remember--> [ young | old ] --Body--> what a node lacks
//
// A body is found by itself, which must be quick because it happens with every EVAL, and by
// its SHA1, by which EVALSHA names it. The SHA1 is taken once, when a body is new.
//
// There are two generations. What is new or used again is in the young one; when that is
// full it becomes the old one, and what the old one was is forgotten.
//
// Each worker has a Memory, and all have one Library, which is asked when the worker's own
// memory does not know: a script that one client has loaded is known to all.
package script

// Package glob matches names against glob patterns as the server does for
// KEYS, PSUBSCRIBE, CONFIG GET and ACL rules:
//
//	any bytes, none included                       *
//	any one byte                                   ?
//	one of the bytes; ranges, either end first     [abc] [a-c]
//	any other byte                                 [^abc]
//	the byte x itself, inside brackets too         \x
//
// Everything works on bytes. An unclosed bracket ends with the pattern. As in
// the server, the empty name matches only the empty pattern, not "*".
//
// Matching allocates nothing and takes at most len(pattern) * len(name) steps.
package glob

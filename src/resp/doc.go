// Package resp frames and writes the Redis serialization protocol, versions 2 and 3.
//
// # Framing
//
// A scanner finds out where a frame ends; it does not build values. RequestScanner lists a request's
// arguments on the way, since routing needs them; ReplyScanner only measures, since most replies are passed
// on as they came. Both are plain values without pointers, so they can lie in slabs that the garbage
// collector does not look at, and the zero value is ready.
//
//	client bytes -> RequestScanner -> frame + []Arg -> routing
//	     inline line -> AppendInline -> the same frame as an array
//	node bytes   -> ReplyScanner   -> frame -> ArrayHeader, NextElement, Integer, Text where replies are merged
//
// A scan stops anywhere and goes on from there: it is given the same frame from its first byte again, with
// more bytes behind, wherever the buffer lies by then. No byte of a body is ever looked at, and no byte of a
// line twice but for the twenty or so of a length.
//
//	request state | waits for                     | next
//	awaitFirst    | a new frame                   | as awaitLine
//	awaitLine     | the end of the first line     | awaitLength, or complete (inline, empty) -> awaitFirst
//	awaitLength   | the line "$n"                 | awaitBody
//	awaitBody     | n bytes and CRLF              | awaitLength, or complete -> awaitFirst
//	broken        | nothing: the stream is lost   | broken
//
//	reply state   | waits for                     | next
//	awaitReply    | the first element of a frame  | awaitString, awaitElement, or complete
//	awaitElement  | a further line                | awaitString, awaitElement, or complete -> awaitReply
//	awaitString   | the rest of a string and CRLF | awaitElement, or complete -> awaitReply
//	brokenReply   | nothing: the stream is lost   | brokenReply
//
// Nested replies cost one counter, the number of elements still owed: a header adds what it announces. So
// depth needs no stack, and a large announced count takes no memory.
//
// A frame too large to be kept whole streams: bytes that the scanner is done with (Settled) may be passed on
// and dropped (Discard).
//
// # Strictness
//
// What is accepted from a client is what every node accepts, because frames are forwarded as they came and
// must end at the same byte there. Redis skips the two bytes after a length or a body unread; Valkey insists
// on CRLF, and so does this package. Violations carry the servers' own words (Redis 7.0 and 8.0, Valkey 9.1).
package resp

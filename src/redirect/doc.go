// Package redirect reads the errors by which a node says "not here" or "not now"
// and decides what follows. It is pure: text in, decision out.
//
//	reply              first time                again
//	MOVED slot addr    resend to addr at once    wait, then resend to addr
//	ASK slot addr      ASKING + resend at once   wait, then ASKING + resend
//	NOSCRIPT           the script + resend       to the client
//
// NOSCRIPT answers EVALSHA before anything is executed. But a script may return an error of
// the same words, so it counts only where neither the script nor its arguments hold them.
//
// A request that is redirected again waits before each further try, 2 ms and
// doubling, and ends with TRYAGAIN when the tries are used up; with later requests
// of the same session in flight it ends at once, because they would overtake it.
// All other errors are the client's. (Redis cluster specification, "Redirection and
// resharding")
package redirect

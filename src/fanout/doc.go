// Package fanout splits one request by the slots of its keys, or sends it to several nodes, and
// joins the replies. It is pure: frames in, frames and one reply out.
//
//	MGET a b c a      Plan: item -> part        Join: part replies -> one reply
//	   slot 1: a, a   part 0 *3 MGET a a        *2 va va \
//	   slot 2: b      part 1 *2 MGET b          *1 vb     > *4 va vb vc va
//	   slot 3: c      part 2 *2 MGET c          *1 vc    /
//
// Parts are numbered in the order of their first keys, those of a broadcast in the order of the
// nodes, and so are errors: the first one is the reply, once every part has answered. How
// replies become one is the response policy of the command (merge.go).
//
// A Walk leads a client through the shards one after the other, by cursors that tell where it is
// (cursor.go).
package fanout

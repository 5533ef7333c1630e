package micro

import (
	"bytes"
	"fmt"
	"strings"

	"mithril/src/resp"
	"mithril/src/slot"
)

// Loads are the iterations that are measured and held to no allocation. Requests is how
// many requests one of them is.
var Loads = []struct {
	Name     string
	Requests int
	Prepare  func(*Rig)
}{
	{"GET", 1, func(r *Rig) { loadGet(r, 1, 64) }},
	{"GETx16", 16, func(r *Rig) { loadGet(r, 16, 64) }},
	{"GETx256", 256, func(r *Rig) { loadGet(r, 256, 64) }},
	{"GET4K", 1, func(r *Rig) { loadGet(r, 1, 4<<10) }},
	{"GET64K", 1, func(r *Rig) { loadGet(r, 1, 64<<10) }},
	{"GETinline", 1, loadInline},
	{"GETresp3", 1, loadResp3},
	{"SET", 1, func(r *Rig) { loadSet(r, 64) }},
	{"SET4K", 1, func(r *Rig) { loadSet(r, 4<<10) }},
	{"SET64K", 1, func(r *Rig) { loadSet(r, 64<<10) }},
	{"MGET10over3", 1, loadMget},
	{"EXISTS10over3", 1, loadExists},
	{"MSET10over3", 1, loadMset},
	{"MOVED", 1, func(r *Rig) { loadRedirect(r, "MOVED", "") }},
	{"ASK", 1, func(r *Rig) { loadRedirect(r, "ASK", "+OK\r\n") }},
	{"ERROR", 1, loadError},
	{"PING", 1, loadPing},
}

var value64 = value(64)

func value(size int) []byte { return resp.AppendBulk(nil, bytes.Repeat([]byte{'v'}, size)) }

func loadGet(r *Rig, n, size int) {
	request := resp.AppendCommand(nil, "GET", "key:0001")
	reply := bytes.Repeat(value(size), n)
	r.Load(bytes.Repeat(request, n), len(reply), func(int) []byte { return reply })
}

// loadInline asks with an inline request, whose frame is written anew for the node.
func loadInline(r *Rig) {
	r.Load([]byte("GET key:0001\r\n"), len(value64), func(int) []byte { return value64 })
}

// loadResp3 asks as a RESP3 client, over pipes of RESP3.
func loadResp3(r *Rig) {
	r.Exchange(resp.AppendCommand(nil, "HELLO", "3"))
	loadGet(r, 1, 64)
}

// loadError asks what a node answers with an error.
func loadError(r *Rig) {
	reply := []byte("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n")
	r.Load(resp.AppendCommand(nil, "GET", "key:0001"), len(reply), func(int) []byte { return reply })
}

// loadPing asks what the proxy answers itself.
func loadPing(r *Rig) {
	r.Load(resp.AppendCommand(nil, "PING"), len("+PONG\r\n"), nil)
}

func loadSet(r *Rig, size int) {
	reply := []byte("+OK\r\n")
	r.Load(resp.AppendCommand(nil, "SET", "key:0001", strings.Repeat("v", size)), len(reply), func(int) []byte { return reply })
}

// spread makes a request for ten keys, each in a slot of its own, that lie on all three
// nodes, and each node's replies to its parts. Every key is followed by the given words.
func spread(command string, part []byte, words ...string) (request []byte, replies [shards][]byte) {
	const keys = 10
	all := []string{command}
	for i := range keys {
		key := fmt.Sprintf("key:%04d", i)
		all = append(append(all, key), words...)
		node := ownerOf(int(slot.Of([]byte(key))))
		replies[node] = append(replies[node], part...)
	}
	return resp.AppendCommand(nil, all...), replies
}

func loadMget(r *Rig) {
	request, replies := spread("MGET", append(resp.AppendArray(nil, 1), value64...))
	want := len("*10\r\n") + 10*len(value64)
	r.Load(request, want, func(node int) []byte { return replies[node] })
}

func loadExists(r *Rig) {
	request, replies := spread("EXISTS", resp.AppendInt(nil, 1))
	r.Load(request, len(":10\r\n"), func(node int) []byte { return replies[node] })
}

func loadMset(r *Rig) {
	request, replies := spread("MSET", []byte("+OK\r\n"), strings.Repeat("v", 64))
	r.Load(request, len("+OK\r\n"), func(node int) []byte { return replies[node] })
}

// loadRedirect asks for a key that is always at another node than the worker thinks:
// nodes 0 and 1 send it to each other by turns. What was redirected is answered with the
// value behind prefix.
func loadRedirect(r *Rig, kind, prefix string) {
	request := resp.AppendCommand(nil, "GET", "key:0001")
	s := slot.Of([]byte("key:0001"))
	var redirects [shards][]byte
	for node := range redirects {
		redirects[node] = fmt.Appendf(nil, "-%s %d %s\r\n", kind, s, nodeAddr(1-min(node, 1)))
	}
	found, second := append([]byte(prefix), value64...), false
	r.Load(request, len(value64), func(node int) []byte {
		if second = !second; second {
			return redirects[node]
		}
		return found
	})
}

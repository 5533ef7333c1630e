package micro

import (
	"bytes"
	"fmt"
	"strings"

	"mithril/src/resp"
	"mithril/src/slot"
)

// Load is an iteration that is measured and held to no allocation.
type Load struct {
	Name     string
	Requests int // that one iteration is
	Prepare  func(*Rig)
	Place    Place
}

// Start returns a rig that iterates the load.
func (l Load) Start() *Rig {
	r := NewRig(l.Place)
	l.Prepare(r)
	return r
}

// Loads are all of them.
var Loads = []Load{
	{"GET", 1, func(r *Rig) { loadGet(r, 1, 64) }, Alone},
	{"GETx16", 16, func(r *Rig) { loadGet(r, 16, 64) }, Alone},
	{"GETx64", 64, func(r *Rig) { loadGet(r, 64, 64) }, Alone},
	{"GETx256", 256, func(r *Rig) { loadGet(r, 256, 64) }, Alone},
	{"GET4K", 1, func(r *Rig) { loadGet(r, 1, 4<<10) }, Alone},
	{"GET64K", 1, func(r *Rig) { loadGet(r, 1, 64<<10) }, Alone},
	{"GETinline", 1, loadInline, Alone},
	{"GETresp3", 1, loadResp3, Alone},
	{"SET", 1, func(r *Rig) { loadSet(r, 64) }, Alone},
	{"SET4K", 1, func(r *Rig) { loadSet(r, 4<<10) }, Alone},
	{"SET64K", 1, func(r *Rig) { loadSet(r, 64<<10) }, Alone},
	{"MGET10over3", 1, func(r *Rig) { loadMget(r, 10) }, Alone},
	{"EXISTS10over3", 1, loadExists, Alone},
	{"MSET10over3", 1, func(r *Rig) { loadMset(r, 10) }, Alone},
	{"GETx100over3", 100, loadGets, Alone},
	{"MGET100over3", 1, func(r *Rig) { loadMget(r, 100) }, Alone},
	{"SETx100over3", 100, loadSets, Alone},
	{"MSET100over3", 1, func(r *Rig) { loadMset(r, 100) }, Alone},
	{"MGET1000over3", 1, func(r *Rig) { loadMget(r, 1000) }, Alone},
	{"KEYSover3", 1, loadKeys, Alone},
	{"RANDOMKEY", 1, loadRandomkey, Alone},
	{"SCAN", 1, loadScan, Alone},
	{"MOVED", 1, func(r *Rig) { loadRedirect(r, "MOVED", "") }, Alone},
	{"ASK", 1, func(r *Rig) { loadRedirect(r, "ASK", "+OK\r\n") }, Alone},
	{"ERROR", 1, loadError, Alone},
	{"PING", 1, loadPing, Alone},
	{"GETnear", 1, func(r *Rig) { loadGet(r, 1, 64) }, Near},
	{"GETx16near", 16, func(r *Rig) { loadGet(r, 16, 64) }, Near},
	{"GETx64near", 64, func(r *Rig) { loadGet(r, 64, 64) }, Near},
	{"GETx256near", 256, func(r *Rig) { loadGet(r, 256, 64) }, Near},
	{"GETfar", 1, func(r *Rig) { loadGet(r, 1, 64) }, Far},
	{"GETx16far", 16, func(r *Rig) { loadGet(r, 16, 64) }, Far},
	{"GETx64far", 64, func(r *Rig) { loadGet(r, 64, 64) }, Far},
	{"GETx256far", 256, func(r *Rig) { loadGet(r, 256, 64) }, Far},
	{"GET4Kfar", 1, func(r *Rig) { loadGet(r, 1, 4<<10) }, Far},
	{"SET4Kfar", 1, func(r *Rig) { loadSet(r, 4<<10) }, Far},
	{"MGET10over3far", 1, func(r *Rig) { loadMget(r, 10) }, Far},
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

// spread makes a request for so many keys, each in a slot of its own, that lie on all three
// nodes, and each node's replies to its parts. Every key is followed by the given words.
func spread(keys int, command string, part []byte, words ...string) (request []byte, replies [shards][]byte) {
	all := []string{command}
	for _, key := range keysOf(keys) {
		all = append(append(all, key), words...)
		node := ownerOf(int(slot.Of([]byte(key))))
		replies[node] = append(replies[node], part...)
	}
	return resp.AppendCommand(nil, all...), replies
}

// keysOf are so many keys, no two of which have a slot in common.
func keysOf(n int) (keys []string) {
	taken := [slot.Count]bool{}
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprintf("key:%04d", i)
		if s := slot.Of([]byte(key)); !taken[s] {
			taken[s] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func loadMget(r *Rig, keys int) {
	request, replies := spread(keys, "MGET", append(resp.AppendArray(nil, 1), value64...))
	want := len(resp.AppendArray(nil, keys)) + keys*len(value64)
	r.Load(request, want, func(node int) []byte { return replies[node] })
}

func loadExists(r *Rig) {
	request, replies := spread(10, "EXISTS", resp.AppendInt(nil, 1))
	r.Load(request, len(":10\r\n"), func(node int) []byte { return replies[node] })
}

func loadMset(r *Rig, keys int) {
	request, replies := spread(keys, "MSET", []byte("+OK\r\n"), strings.Repeat("v", 64))
	r.Load(request, len("+OK\r\n"), func(node int) []byte { return replies[node] })
}

// loadGets and loadSets ask one by one, pipelined, for what an MGET or MSET of 100 keys asks
// at once: that may cost 1.3 times as much.
func loadGets(r *Rig) { loadPipelined(r, value64, "GET") }

func loadSets(r *Rig) { loadPipelined(r, []byte("+OK\r\n"), "SET", strings.Repeat("v", 64)) }

func loadPipelined(r *Rig, reply []byte, command string, words ...string) {
	const keys = 100
	var requests []byte
	var replies [shards][]byte
	for _, key := range keysOf(keys) {
		requests = resp.AppendCommand(requests, append([]string{command, key}, words...)...)
		node := ownerOf(int(slot.Of([]byte(key))))
		replies[node] = append(replies[node], reply...)
	}
	r.Load(requests, keys*len(reply), func(node int) []byte { return replies[node] })
}

// loadKeys asks all three nodes for their keys, of which each has ten.
func loadKeys(r *Rig) {
	const each = 10
	keys := resp.AppendBulkString(nil, "key:0001")
	reply := append(resp.AppendArray(nil, each), bytes.Repeat(keys, each)...)
	want := len(resp.AppendArray(nil, shards*each)) + shards*each*len(keys)
	r.Load(resp.AppendCommand(nil, "KEYS", "*"), want, func(int) []byte { return reply })
}

// loadRandomkey asks all three nodes for their sizes and a key each.
func loadRandomkey(r *Rig) {
	key := resp.AppendBulkString(nil, "key:0001")
	reply := append(resp.AppendInt(nil, 10), key...)
	r.Load(resp.AppendCommand(nil, "RANDOMKEY"), len(key), func(int) []byte { return reply })
}

// loadScan begins a walk, to which the first node answers with a cursor and ten keys.
func loadScan(r *Rig) {
	const each = 10
	keys := append(resp.AppendArray(nil, each), bytes.Repeat(resp.AppendBulkString(nil, "key:0001"), each)...)
	reply := append(resp.AppendBulkString(resp.AppendArray(nil, 2), "17"), keys...)
	cursor := resp.AppendBulkString(resp.AppendArray(nil, 2), "1234567890123456789")
	r.Load(resp.AppendCommand(nil, "SCAN", "0"), len(cursor)+len(keys), func(int) []byte { return reply })
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

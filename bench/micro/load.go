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
	{"SET", 1, func(r *Rig) { loadSet(r, 64) }},
	{"SET4K", 1, func(r *Rig) { loadSet(r, 4<<10) }},
	{"MGET10over3", 1, loadMget},
	{"EXISTS10over3", 1, loadExists},
	{"MOVED", 1, loadMoved},
}

func value(size int) []byte { return resp.AppendBulk(nil, bytes.Repeat([]byte{'v'}, size)) }

func loadGet(r *Rig, n, size int) {
	request := resp.AppendCommand(nil, "GET", "key:0001")
	reply := bytes.Repeat(value(size), n)
	r.Load(bytes.Repeat(request, n), len(reply), func(int) []byte { return reply })
}

func loadSet(r *Rig, size int) {
	reply := []byte("+OK\r\n")
	r.Load(resp.AppendCommand(nil, "SET", "key:0001", strings.Repeat("v", size)), len(reply), func(int) []byte { return reply })
}

// spread makes a request for ten keys, each in a slot of its own, that lie on all three
// nodes, and each node's replies to its parts.
func spread(command string, part []byte) (request []byte, replies [shards][]byte) {
	const keys = 10
	words := []string{command}
	for i := range keys {
		key := fmt.Sprintf("key:%04d", i)
		words = append(words, key)
		node := ownerOf(int(slot.Of([]byte(key))))
		replies[node] = append(replies[node], part...)
	}
	return resp.AppendCommand(nil, words...), replies
}

func loadMget(r *Rig) {
	request, replies := spread("MGET", append(resp.AppendArray(nil, 1), value(64)...))
	want := len("*10\r\n") + 10*len(value(64))
	r.Load(request, want, func(node int) []byte { return replies[node] })
}

func loadExists(r *Rig) {
	request, replies := spread("EXISTS", resp.AppendInt(nil, 1))
	r.Load(request, len(":10\r\n"), func(node int) []byte { return replies[node] })
}

// loadMoved asks for a key that is always at another node than the worker thinks: nodes 0
// and 1 send it to each other by turns.
func loadMoved(r *Rig) {
	request := resp.AppendCommand(nil, "GET", "key:0001")
	s := slot.Of([]byte("key:0001"))
	var moved [shards][]byte
	for node := range moved {
		moved[node] = fmt.Appendf(nil, "-MOVED %d %s\r\n", s, nodeAddr(1-min(node, 1)))
	}
	found, second := value(64), false
	r.Load(request, len(found), func(node int) []byte {
		if second = !second; second {
			return moved[node]
		}
		return found
	})
}

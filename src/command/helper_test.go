package command

import (
	"testing"

	"mithril/src/resp"
)

// request frames words as a client sends them.
func request(words ...string) (frame []byte, args []resp.Arg) {
	frame = resp.AppendArray(nil, len(words))
	for _, w := range words {
		frame = resp.AppendBulkHeader(frame, len(w))
		args = append(args, resp.Arg{Off: uint32(len(frame)), Len: uint32(len(w))})
		frame = append(append(frame, w...), '\r', '\n')
	}
	return frame, args
}

// eachTable runs f as a subtest for every generated table.
func eachTable(t *testing.T, f func(t *testing.T, table *Table)) {
	for _, v := range Versions {
		t.Run(v.String(), func(t *testing.T) { f(t, ForEngine(v.Engine, v.Major, v.Minor)) })
	}
}

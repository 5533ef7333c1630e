package fanout

import "testing"

// TestContract_ROUTE6_CursorsOfQueries: an integer behind the results becomes a cursor that names its shard; all else stays as it is.
func TestContract_ROUTE6_CursorsOfQueries(t *testing.T) {
	const results, map3 = "*2\r\n:1\r\n*2\r\n$1\r\nk\r\n$1\r\nv\r\n", "%1\r\n+total_results\r\n:1\r\n"
	w := Walk{Shards: 3, Tag: 5}
	for _, test := range []struct{ reply, want string }{
		{"*2\r\n" + results + ":7\r\n", "*2\r\n" + results + ":6192449487634439\r\n"},
		{"*2\r\n" + map3 + ":7\r\n", "*2\r\n" + map3 + ":6192449487634439\r\n"},
		{"*2\r\n" + results + ":0\r\n", "*2\r\n" + results + ":0\r\n"},
		{results, results}, // one row, no cursor
		{"*1\r\n:0\r\n", "*1\r\n:0\r\n"},
		{map3, map3},
		{"+OK\r\n", "+OK\r\n"},
		{"-ERR Cursor not found\r\n", "-ERR Cursor not found\r\n"},
		{"*2\r\n" + results + ":281474976710656\r\n", errCursor},
		{"*2\r\n" + results + ":-1\r\n", errMerge},
	} {
		if got := step(t, w, 2, CursorLast, test.reply); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.reply, got, test.want)
		}
	}
	rank, node, ok := w.Read([]byte("6192449487634439"))
	if rank != 2 || node != 7 || !ok {
		t.Errorf("the cursor leads to %d at shard %d, %v", node, rank, ok)
	}
}

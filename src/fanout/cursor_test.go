package fanout

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"mithril/src/resp"
)

// walkOf is a walk through some shards with a tag of random bits.
func walkOf(shards int, rng *rand.Rand) Walk { return Walk{Shards: shards, Tag: rng.Uint64()} }

// nodeCursors are cursors that a node may give, small and as large as fits.
func nodeCursors(rng *rand.Rand) []uint64 {
	return []uint64{1, 2, 1<<32 - 1, 1 << 47, nodeCursorMax, 1 + rng.Uint64N(nodeCursorMax)}
}

func TestContract_ROUTE8_CursorsAreReadAsWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, shards := range append(inOrder(1025)[1:], 4095, 4096, 4097, 16383, 16384, ShardsMax-1, ShardsMax) {
		w := walkOf(shards, rng)
		for _, rank := range []int{0, 1, shards / 2, shards - 2, shards - 1} {
			if rank < 0 || rank >= shards {
				continue
			}
			for _, node := range nodeCursors(rng) {
				cursor, ok := w.Cursor(rank, node)
				if !ok || cursor == 0 || cursor >= 1<<63 {
					t.Fatalf("%d shards: the cursor of rank %d and %d is %d, %v", shards, rank, node, cursor, ok)
				}
				gotRank, gotNode, ok := w.Read(strconv.AppendUint(nil, cursor, 10))
				if gotRank != rank || gotNode != node || !ok {
					t.Fatalf("%d shards: the cursor of rank %d and %d is read as %d and %d, %v", shards, rank, node, gotRank, gotNode, ok)
				}
			}
			if cursor, ok := w.Cursor(rank, 0); rank > 0 && (!ok || cursor == 0) {
				t.Fatalf("%d shards: the beginning of rank %d is %d, %v", shards, rank, cursor, ok)
			}
		}
		if _, ok := w.Cursor(shards-1, nodeCursorMax+1); ok {
			t.Fatalf("%d shards: a cursor of 49 bits fits", shards)
		}
		if rank, node, ok := w.Read([]byte("0")); rank != 0 || node != 0 || !ok {
			t.Fatalf("%d shards: 0 is read as %d and %d, %v", shards, rank, node, ok)
		}
	}
}

// TestContract_ROUTE8_CursorsOfOtherShardsAreRefused: fewer or more of them, or others.
func TestContract_ROUTE8_CursorsOfOtherShardsAreRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, shards := range []int{1, 2, 3, 4, 5, 8, 16, 100, 1000} {
		taken, tries := 0, 0
		for range 300 {
			w := walkOf(shards, rng)
			text := strconv.AppendUint(nil, must(w.Cursor(rng.IntN(shards), 1+rng.Uint64N(1000))), 10)
			for _, other := range []Walk{walkOf(shards, rng), walkOf(shards+1, rng), walkOf(max(1, shards-1), rng), walkOf(2*shards, rng)} {
				tries++
				if rank, _, ok := other.Read(text); ok {
					taken++
				} else if rank < 0 {
					t.Fatal("a rank below 0")
				}
			}
		}
		// With a thousand shards five bits are left to tell.
		if most := tries/30 + 2; taken > most {
			t.Errorf("%d shards: %d of %d cursors of others are taken", shards, taken, tries)
		}
	}
	same := walkOf(3, rng)
	other := same
	other.Tag ^= 1
	if _, _, ok := other.Read(strconv.AppendUint(nil, must(same.Cursor(1, 5)), 10)); ok {
		t.Error("a cursor of other primaries is taken")
	}
}

func must(cursor uint64, ok bool) uint64 {
	if !ok {
		panic("a cursor that does not fit")
	}
	return cursor
}

func TestCase_B07_CursorsThatAreNone(t *testing.T) {
	w := walkOf(3, rand.New(rand.NewPCG(3, 3)))
	for _, text := range []string{
		"", "abc", "-1", "+1", " 1", "1 ", "1x", "0x1", "1.0", "\x00", "/", ":", "18446744073709551616", "99999999999999999999",
		"184467440737095516150", "999999999999999999999999999999",
	} {
		if v, ok := ParseCursor([]byte(text)); ok {
			t.Errorf("%q is read as %d", text, v)
		}
		if _, _, ok := w.Read([]byte(text)); ok {
			t.Errorf("%q is a cursor of the walk", text)
		}
	}
	for text, want := range map[string]uint64{"0": 0, "007": 7, "9223372036854775808": 1 << 63, "18446744073709551615": 1<<64 - 1} {
		if v, ok := ParseCursor([]byte(text)); v != want || !ok {
			t.Errorf("%q is read as %d, %v", text, v, ok)
		}
	}
	for _, text := range []string{"9223372036854775808", "18446744073709551615"} { // beyond all that a walk gives
		if _, _, ok := w.Read([]byte(text)); ok {
			t.Errorf("%q is a cursor of the walk", text)
		}
	}
}

// step is the reply to a client of a node's reply in a walk.
func step(t *testing.T, w Walk, rank int, place CursorPlace, reply string) string {
	t.Helper()
	return join(t, func(j *Join) { j.BeginCursor(w, rank, place, 0, 0) }, inOrder(1), nil, reply)
}

func scanReply(cursor uint64, elements string) string {
	return "*2\r\n" + string(resp.AppendBulkString(nil, strconv.FormatUint(cursor, 10))) + elements
}

func TestContract_ROUTE8_CursorsInReplies(t *testing.T) {
	w := Walk{Shards: 3, Tag: 0x1234}
	const keys = "*1\r\n$1\r\nk\r\n"
	for _, test := range []struct {
		rank        int
		reply, want string
	}{
		{0, scanReply(17, keys), scanReply(must(w.Cursor(0, 17)), keys)},
		{2, scanReply(nodeCursorMax, "*0\r\n"), scanReply(must(w.Cursor(2, nodeCursorMax)), "*0\r\n")},
		{0, scanReply(0, keys), scanReply(must(w.Cursor(1, 0)), keys)},
		{1, scanReply(0, keys), scanReply(must(w.Cursor(2, 0)), keys)},
		{2, scanReply(0, keys), scanReply(0, keys)},
		{0, scanReply(nodeCursorMax+1, keys), errCursor},
		{0, scanReply(1<<64-1, keys), errCursor},
		{0, "*2\r\n:0\r\n" + keys, scanReply(must(w.Cursor(1, 0)), keys)},
		{0, "*2\r\n$3\r\nabc\r\n" + keys, errMerge},
		{0, "*2\r\n$-1\r\n" + keys, errMerge},
		{0, "*2\r\n*0\r\n" + keys, errMerge},
		{0, "*1\r\n:0\r\n", "*1\r\n:0\r\n"},
		{0, "*-1\r\n", "*-1\r\n"},
		{1, "-ERR syntax error\r\n", "-ERR syntax error\r\n"},
		{1, "+QUEUED\r\n", "+QUEUED\r\n"},
	} {
		if got := step(t, w, test.rank, CursorFirst, test.reply); got != test.want {
			t.Errorf("%q of rank %d: %q, want %q", test.reply, test.rank, got, test.want)
		}
	}
}

// FuzzCursor reads anything as a cursor: what is taken leads to a shard of the walk, and is
// written in the same way again.
func FuzzCursor(f *testing.F) {
	f.Add("0", uint64(0), 3)
	f.Add("9223372036854775807", uint64(1<<64-1), 1)
	f.Add("4503599627370496", uint64(77), 1000)
	f.Fuzz(func(t *testing.T, text string, tag uint64, shards int) {
		if shards < 1 || shards > ShardsMax {
			return
		}
		w := Walk{Shards: shards, Tag: tag}
		rank, node, ok := w.Read([]byte(text))
		if !ok {
			return
		}
		if rank < 0 || rank >= shards {
			t.Fatalf("%q is of rank %d", text, rank)
		}
		value, err := strconv.ParseUint(text, 10, 64)
		if cursor, ok := w.Cursor(rank, node); err != nil || !ok || value != 0 && cursor != value {
			t.Fatalf("%q is read as %d and %d, which is %d", text, rank, node, cursor)
		}
	})
}

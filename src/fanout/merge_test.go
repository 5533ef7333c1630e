package fanout

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mithril/src/buf"
	"mithril/src/command"
	"mithril/src/resp"
)

func TestContract_ROUTE4_ArraysJoinInTheClientsOrder(t *testing.T) {
	var p Plan
	parts(t, &p, 1, "MGET", "{b}1", "{a}1", "{b}2", "{c}1", "{a}1")
	begin := func(j *Join) { j.Begin(&p, command.ResponseDefaultHashslot, 0, 0) }
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		for _, cut := range []map[int]int{nil, {1: 3}, {0: 1, 1: 1, 2: 100}} {
			got := join(t, begin, order, cut, "*2\r\n$1\r\nx\r\n_\r\n", "*2\r\n$-1\r\n$2\r\nyy\r\n", "*1\r\n$0\r\n\r\n")
			want := "*5\r\n$1\r\nx\r\n$-1\r\n_\r\n$0\r\n\r\n$2\r\nyy\r\n"
			if got != want {
				t.Fatalf("order %v: %q, want %q", order, got, want)
			}
		}
	}
	for _, replies := range [][]string{
		{"*2\r\n_\r\n_\r\n", "*0\r\n", "*1\r\n_\r\n"}, {"*2\r\n_\r\n_\r\n", "*3\r\n_\r\n_\r\n_\r\n", "*0\r\n"},
		{"*2\r\n_\r\n_\r\n", ":1\r\n", "*1\r\n_\r\n"}, {"*2\r\n_\r\n_\r\n", "*4\r\n_\r\n_\r\n_\r\n_\r\n", "*-1\r\n"},
	} {
		if got := join(t, begin, []int{2, 0, 1}, nil, replies...); got != errMerge {
			t.Errorf("of %q: %q, want %q", replies, got, errMerge)
		}
	}
}

const (
	keyless  = command.ResponseDefaultKeyless
	allGood  = command.ResponseAllSucceeded
	oneGood  = command.ResponseOneSucceeded
	sum      = command.ResponseAggSum
	least    = command.ResponseAggMin
	greatest = command.ResponseAggMax
	and      = command.ResponseAggLogicalAnd
	or       = command.ResponseAggLogicalOr
)

// merged are replies of the nodes, in their order, and what a client gets for them.
var merged = []struct {
	policy  command.ResponsePolicy
	replies []string
	want    string
}{
	{sum, []string{":1\r\n", ":0\r\n", ":41\r\n"}, ":42\r\n"},
	{sum, []string{":9223372036854775806\r\n", ":1\r\n"}, ":9223372036854775807\r\n"},
	{sum, []string{":9223372036854775807\r\n", ":1\r\n"}, errOverflow},
	{sum, []string{":-9223372036854775808\r\n", ":-1\r\n"}, errOverflow},
	{sum, []string{":-9223372036854775808\r\n", ":9223372036854775807\r\n", ":1\r\n"}, ":0\r\n"},
	{sum, []string{":9223372036854775808\r\n", ":1\r\n"}, errMerge},
	{sum, []string{":1\r\n", "-ERR two\r\n", "-ERR three\r\n"}, "-ERR two\r\n"},
	{sum, []string{":1\r\n", "+OK\r\n", ":1\r\n"}, errMerge},
	{sum, []string{":1\r\n", "$1\r\n1\r\n"}, errMerge},
	{sum, []string{":1\r\n", "*1\r\n:1\r\n"}, errMerge},
	{sum, []string{"*2\r\n:1\r\n:-2\r\n", "*2\r\n:10\r\n:20\r\n"}, "*2\r\n:11\r\n:18\r\n"},
	{sum, []string{"*2\r\n:1\r\n:2\r\n", "*2\r\n:1\r\n:9223372036854775807\r\n"}, errOverflow},
	{sum, []string{"*2\r\n:1\r\n:2\r\n", "*1\r\n:1\r\n"}, errMerge},
	{sum, []string{"*1\r\n:1\r\n", ":1\r\n"}, errMerge},
	{sum, []string{"*1\r\n:1\r\n", "*1\r\n_\r\n"}, errMerge},
	{sum, []string{"*0\r\n", "*0\r\n", "*0\r\n"}, "*0\r\n"},
	{sum, []string{"*-1\r\n", "*-1\r\n"}, errMerge},
	{least, []string{":3\r\n", ":-5\r\n", ":4\r\n"}, ":-5\r\n"},
	{least, []string{"*2\r\n:3\r\n:1\r\n", "*2\r\n:2\r\n:2\r\n"}, "*2\r\n:2\r\n:1\r\n"},
	{greatest, []string{":3\r\n", ":-5\r\n", ":4\r\n"}, ":4\r\n"},
	{greatest, []string{"*2\r\n:3\r\n:1\r\n", "*2\r\n:2\r\n:2\r\n"}, "*2\r\n:3\r\n:2\r\n"},
	{and, []string{"*3\r\n:1\r\n:1\r\n:0\r\n", "*3\r\n:1\r\n:0\r\n:0\r\n"}, "*3\r\n:1\r\n:0\r\n:0\r\n"},
	{and, []string{":1\r\n", ":7\r\n", ":1\r\n"}, ":1\r\n"},
	{or, []string{"*3\r\n:1\r\n:1\r\n:0\r\n", "*3\r\n:1\r\n:0\r\n:0\r\n"}, "*3\r\n:1\r\n:1\r\n:0\r\n"},
	{or, []string{":0\r\n", ":7\r\n", ":0\r\n"}, ":1\r\n"},
	{and, []string{":0\r\n", "-ERR no\r\n"}, "-ERR no\r\n"},
	{or, []string{":1\r\n", "-ERR no\r\n"}, "-ERR no\r\n"},

	{allGood, []string{"+OK\r\n", "+OK\r\n", "+OK\r\n"}, "+OK\r\n"},
	{allGood, []string{"+OK\r\n", "+OK\r\n", "-OOM no\r\n"}, "-OOM no\r\n"},
	{allGood, []string{"-OOM one\r\n", "+OK\r\n", "-OOM no\r\n"}, "-OOM one\r\n"},
	{allGood, []string{"+OK\r\n", ":1\r\n", "+OK\r\n"}, errMerge},

	{oneGood, []string{"-NOTBUSY a\r\n", "+OK\r\n", "-NOTBUSY b\r\n"}, "+OK\r\n"},
	{oneGood, []string{"-NOTBUSY a\r\n", "-UNKILLABLE x\r\n", "-NOTBUSY b\r\n"}, "-UNKILLABLE x\r\n"},
	{oneGood, []string{"-UNKILLABLE x\r\n", "-NOTBUSY a\r\n", "-ERR y\r\n"}, "-UNKILLABLE x\r\n"},
	{oneGood, []string{"-NOTBUSY a\r\n", "-NOTBUSY b\r\n"}, "-NOTBUSY b\r\n"},

	{keyless, []string{"*1\r\n$1\r\na\r\n", "*0\r\n", "*2\r\n$1\r\nb\r\n$1\r\nc\r\n"}, "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"},
	{keyless, []string{"*0\r\n", "*0\r\n"}, "*0\r\n"},
	{keyless, []string{"~1\r\n$1\r\na\r\n", "~1\r\n$1\r\nb\r\n"}, "~2\r\n$1\r\na\r\n$1\r\nb\r\n"},
	{keyless, []string{"%1\r\n$1\r\na\r\n:1\r\n", "%0\r\n", "%1\r\n$1\r\nb\r\n:2\r\n"}, "%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:2\r\n"},
	{keyless, []string{"*1\r\n$1\r\na\r\n", "-ERR b\r\n", "-ERR c\r\n"}, "-ERR b\r\n"},
	{keyless, []string{"-ERR a\r\n", "*1\r\n$1\r\nb\r\n"}, "-ERR a\r\n"},
	{keyless, []string{"*1\r\n$1\r\na\r\n", "~1\r\n$1\r\nb\r\n"}, errMerge},
	{keyless, []string{"*1\r\n$1\r\na\r\n", "*-1\r\n"}, errMerge},
	{keyless, []string{"*1\r\n$1\r\na\r\n", "+OK\r\n"}, errMerge},
	{keyless, []string{"-ERR a\r\n", "+OK\r\n", "+B\r\n"}, "+OK\r\n"},
	{keyless, []string{"-ERR a\r\n", "-ERR b\r\n"}, "-ERR a\r\n"},
}

func TestContract_ROUTE3_ResponsePolicies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, m := range merged {
		n := len(m.replies)
		for range 4 {
			order := rng.Perm(n)
			if got := join(t, broadcast(n, n, m.policy), order, map[int]int{rng.IntN(n): rng.IntN(4)}, m.replies...); got != m.want {
				t.Errorf("policy %d of %q: %q, want %q", m.policy, m.replies, got, m.want)
			}
		}
	}
}

// TestContract_ROUTE3_OneShardIsPassedOn: of a cluster with one shard a client gets what that
// one has said.
func TestContract_ROUTE3_OneShardIsPassedOn(t *testing.T) {
	for _, reply := range []string{":7\r\n", "*2\r\n:1\r\n:0\r\n", "-ERR a\r\n", "+OK\r\n", "*0\r\n", "*1\r\n$1\r\na\r\n", "~1\r\n:1\r\n", "_\r\n"} {
		for policy := range policies {
			switch command.ResponsePolicy(policy) {
			case command.ResponseDefaultHashslot:
				continue
			case sum, least, greatest, and, or:
				if !strings.Contains(":*-", reply[:1]) || strings.Contains(reply, "$") {
					continue
				}
			}
			if got := join(t, broadcast(1, 1, command.ResponsePolicy(policy)), inOrder(1), nil, reply); got != reply {
				t.Errorf("policy %d of %q: %q", policy, reply, got)
			}
		}
	}
}

// TestCase_B09_RepliesOfReplicasDoNotCount: they are awaited, whatever they are, and make no
// difference.
func TestCase_B09_RepliesOfReplicasDoNotCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, m := range merged {
		n := len(m.replies)
		for _, odd := range []string{"-ERR connection lost\r\n", "+other\r\n", ":99\r\n", "*1\r\n:5\r\n", "_\r\n"} {
			replies := append(slices.Clone(m.replies), odd, odd)
			if got := join(t, broadcast(n+2, n, m.policy), rng.Perm(n+2), nil, replies...); got != m.want {
				t.Errorf("policy %d of %q, and %q of replicas: %q, want %q", m.policy, m.replies, odd, got, m.want)
			}
		}
	}
}

// TestLongRepliesAreNotCopied: a KEYS of gigabytes must not take its size a second time.
func TestLongRepliesAreNotCopied(t *testing.T) {
	a := newArena(t)
	var j Join
	j.BeginBroadcast(3, 3, keyless, 0, 0)
	for k := range uint32(3) {
		extend(t, a, &j, k, 5000, string(resp.AppendBulk([]byte("*1\r\n"), make([]byte, 100_000))))
	}
	before := a.UsedBytes()
	var out buf.Gather
	if !j.Result(a, &out) || a.UsedBytes() > before+4<<10 {
		t.Errorf("%d bytes are in use after %d", a.UsedBytes(), before)
	}
	out.Drop(a)
}

// TestALostConnectionWithinAReply: the error takes the place of what had come.
func TestALostConnectionWithinAReply(t *testing.T) {
	a := newArena(t)
	var j Join
	j.BeginBroadcast(2, 2, keyless, 0, 0)
	s := stored(t, a, "*2\r\n$1\r\na\r\n")
	first, _ := j.Extend(a, 1, s, false)
	a.Release(s.Block)
	put(t, a, &j, 0, "*0\r\n")
	e := stored(t, a, "-ERR lost\r\n")
	grown, done := j.Put(a, 1, e)
	a.Release(e.Block)
	if want := len("-ERR lost\r\n") - len("*2\r\n$1\r\na\r\n"); grown != want || !done || first == 0 {
		t.Errorf("%d bytes more and done: %v, want %d and true", grown, done, want)
	}
	var out buf.Gather
	if ok := j.Result(a, &out); !ok || string(a.Bytes(out.Slices()[0])) != "-ERR lost\r\n" {
		t.Errorf("a result: %v", ok)
	}
	out.Drop(a)
	if a.Live() != 0 {
		t.Errorf("%d blocks are still referenced", a.Live())
	}
}

func TestForgetLetsGoOfWhatIsInAndToCome(t *testing.T) {
	a := newArena(t)
	var j Join
	j.BeginBroadcast(4, 4, sum, 0, 0)
	put(t, a, &j, 1, ":1\r\n")
	piece := stored(t, a, ":12")
	j.Extend(a, 3, piece, false)
	j.Forget(a)
	s := stored(t, a, ":1\r\n")
	if a.Live() != 2 || j.Held() != 0 {
		t.Errorf("%d blocks and %d bytes still held", a.Live()-2, j.Held())
	}
	if grown, done := j.Put(a, 0, s); grown != 0 || done {
		t.Errorf("the second part: %d bytes more, done %v", grown, done)
	}
	if grown, done := j.Extend(a, 3, piece, true); grown != 0 || done {
		t.Errorf("the end of the fourth part: %d bytes more, done %v", grown, done)
	}
	if _, done := j.Put(a, 2, s); !done {
		t.Error("not done after the last part")
	}
	a.Release(s.Block)
	a.Release(piece.Block)
	var out buf.Gather
	if j.Result(a, &out) || out.Bytes() != 0 || a.Live() != 0 {
		t.Errorf("a result of %d bytes; %d blocks still referenced", out.Bytes(), a.Live())
	}
}

// TestExhaustedArena lets memory run out at every point of a join: it has no result, and
// nothing is kept.
func TestExhaustedArena(t *testing.T) {
	const reply = "*1\r\n$3000\r\n"
	long := reply + strings.Repeat("x", 3000) + "\r\n"
	for room := 0; ; room += 1 << 10 {
		a, err := buf.NewArena(buf.HeapMemory(make([]byte, room)), 0)
		if err != nil {
			t.Fatal(err)
		}
		outside := newArena(t)
		var j Join
		j.BeginBroadcast(2, 2, keyless, 0, 0)
		var out buf.Gather
		done := false
		for k := range uint32(2) {
			for rest := long; rest != ""; {
				n := min(700, len(rest))
				s, ok := a.Copy([]byte(rest[:n]))
				if rest = rest[n:]; ok {
					_, done = j.Extend(a, k, s, rest == "")
					a.Release(s.Block)
				} else if rest == "" {
					done = j.Lose(k)
				} else {
					j.Abandon()
				}
			}
		}
		if !done {
			t.Fatalf("with %d bytes: not done", room)
		}
		ok := j.Result(a, &out)
		size := out.Bytes()
		out.Drop(a)
		if a.Live() != 0 || outside.Live() != 0 {
			t.Fatalf("with %d bytes: %d blocks still referenced", room, a.Live())
		}
		if ok {
			if size != len("*2\r\n")+2*len(long)-2*len("*1\r\n") || room < 2*len(long) {
				t.Errorf("with %d bytes: a reply of %d", room, size)
			}
			return
		}
	}
}

// FuzzMerge gives a join replies that the fuzzer writes: whatever they are, in whatever order
// and pieces they come, all policies make the same one well-formed reply.
func FuzzMerge(f *testing.F) {
	for _, m := range merged {
		f.Add(uint8(m.policy), uint64(1), []byte(strings.Join(m.replies, "")))
	}
	f.Fuzz(func(t *testing.T, policy uint8, seed uint64, data []byte) {
		if int(policy) >= len(policies) || command.ResponsePolicy(policy) == command.ResponseDefaultHashslot || len(data) > 10_000 {
			return
		}
		var replies []string
		for len(data) > 0 && len(replies) < 8 {
			n := resp.NextElement(data)
			if n == 0 {
				break
			}
			replies = append(replies, string(data[:n]))
			data = data[n:]
		}
		if len(replies) == 0 {
			return
		}
		n := len(replies)
		rng := rand.New(rand.NewPCG(seed, 7))
		count := 1 + rng.IntN(n)
		begin := broadcast(n, count, command.ResponsePolicy(policy))
		reply := join(t, begin, inOrder(n), nil, replies...)
		if size := resp.NextElement([]byte(reply)); size != len(reply) {
			t.Fatalf("policy %d of %q makes %q, of which %d bytes are a reply", policy, replies, reply, size)
		}
		again := join(t, begin, rng.Perm(n), map[int]int{rng.IntN(n): 1 + rng.IntN(9), rng.IntN(n): 1 + rng.IntN(9)}, replies...)
		if again != reply {
			t.Fatalf("policy %d of %q makes %q and %q", policy, replies, reply, again)
		}
		if command.ResponsePolicy(policy) == sum && reply[0] == ':' {
			want := int64(0)
			for _, r := range replies[:count] {
				v, _ := resp.Integer([]byte(r))
				want += v
			}
			if got, _ := resp.Integer([]byte(reply)); got != want {
				t.Fatalf("the sum of %q is %q", replies[:count], reply)
			}
		}
	})
}

func TestAddTellsOverflow(t *testing.T) {
	for _, x := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64} {
		for _, y := range []int64{math.MinInt64, -2, -1, 0, 1, 2, math.MaxInt64} {
			z, ok := add(x, y)
			if fits := (x >= 0) != (y >= 0) || (x+y >= 0) == (x >= 0); ok != fits || ok && z != x+y {
				t.Errorf("%d + %d: %d, %v", x, y, z, ok)
			}
		}
	}
}

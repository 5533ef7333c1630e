package protocol

import (
	"strings"
	"testing"

	"mithril/tests/harness"
)

// TestContract_PROTO4_GenuineShapes asks for one reply of every RESP3 type. The bytes are
// those of a lone node, and the type is the one that the case is about.
func TestContract_PROTO4_GenuineShapes(t *testing.T) {
	cases := []struct {
		start string // of the RESP3 reply
		args  []any
	}{
		{"%2\r\n", []any{"HGETALL", "h"}},
		{"%1\r\n", []any{"XREAD", "STREAMS", "s", "0"}},
		{"%", []any{"XINFO", "STREAM", "s"}},
		{"~3\r\n", []any{"SMEMBERS", "set"}},
		{"~", []any{"SINTER", "set", "set"}},
		{"~", []any{"SPOP", "{s}pop", 3}},
		{",1.5\r\n", []any{"ZSCORE", "z", "a"}},
		{",inf\r\n", []any{"ZSCORE", "z", "high"}},
		{",-inf\r\n", []any{"ZSCORE", "z", "low"}},
		{"*2\r\n*2\r\n$3\r\nlow\r\n,-inf\r\n", []any{"ZRANGE", "z", 0, 1, "WITHSCORES"}},
		{"*2\r\n,", []any{"ZMSCORE", "z", "a", "none"}},
		{"*2\r\n$4\r\nhigh\r\n,inf\r\n", []any{"ZPOPMAX", "z"}},
		{"_\r\n", []any{"GET", "none"}},
		{"_\r\n", []any{"LPOP", "none", 2}},
		{"_\r\n", []any{"ZRANK", "z", "none"}},
		{"*1\r\n_\r\n", []any{"MGET", "none"}},
		{"#t\r\n", []any{"EVAL", "redis.setresp(3); return true", 1, "k"}},
		{"#f\r\n", []any{"EVAL", "redis.setresp(3); return false", 1, "k"}},
		{",2.75\r\n", []any{"EVAL", "return {double=2.75}", 1, "k"}},
		{"(123456789012345678901234567890\r\n", []any{"EVAL", "return {big_number='123456789012345678901234567890'}", 1, "k"}},
		{"=9\r\ntxt:hello\r\n", []any{"EVAL", "return {verbatim_string={format='txt',string='hello'}}", 1, "k"}},
		{"%1\r\n$1\r\na\r\n~1\r\n$1\r\nb\r\n", []any{"EVAL", "return {map={a={set={b=true}}}}", 1, "k"}},
		{"*1\r\n*3\r\n", []any{"GEORADIUS", "g", 15, 37, 200, "km", "WITHDIST", "WITHCOORD", "COUNT", 1}},
	}
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 3)
		for _, request := range [][]any{
			{"HSET", "h", "f", "v", "g", "w"}, {"SADD", "set", 1, 2, 3}, {"SADD", "{s}pop", "x"}, {"XADD", "s", "1-1", "f", "v"},
			{"ZADD", "z", 1.5, "a", "-inf", "low", "+inf", "high"}, {"GEOADD", "g", 13.361389, 38.115556, "Palermo"},
		} {
			pair.Same(t, request...)
		}
		for _, tc := range cases {
			if got := pair.Same(t, tc.args...); !strings.HasPrefix(got, tc.start) {
				t.Errorf("%v: the lone node answered %q, want %q at the start", tc.args, got, tc.start)
			}
		}
	})
}

// TestContract_PROTO4_VerbatimAndMapsOfTheProxy has replies that the proxy makes itself.
func TestContract_PROTO4_VerbatimAndMapsOfTheProxy(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for _, request := range [][]any{
				{"INFO"}, {"INFO", "server"}, {"CLIENT", "GETNAME"}, {"COMMAND", "DOCS", "get"}, {"COMMAND", "INFO", "get", "none"}, {"COMMAND"},
				{"COMMAND", "DOCS"}, {"CONFIG", "GET", "port"}, {"CONFIG", "GET", "nonesuch"}, {"ROLE"}, {"COMMAND", "COUNT"},
			} {
				pair.SameAs(t, harness.Kind, request...)
			}
		}
	})
}

// TestContract_PROTO4_MergedReplies joins parts in the protocol of the session.
func TestContract_PROTO4_MergedReplies(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		for _, proto := range []int{2, 3} {
			pair := e.Pair(t, proto)
			for _, request := range [][]any{
				{"MSET", "a", 1, "b", 2, "c", 3}, {"MGET", "a", "none", "b", "c", "nil", "a"}, {"EXISTS", "a", "b", "c", "none"},
				{"TOUCH", "a", "none"}, {"UNLINK", "a", "none"}, {"DEL", "b", "c", "none"}, {"MGET", "a", "b", "c"},
			} {
				pair.Same(t, request...)
			}
		}
	})
}

// TestCase_J12_NullsAndEmpties is about what is there and holds nothing, and what is not
// there.
func TestCase_J12_NullsAndEmpties(t *testing.T) {
	harness.Matrix(t, func(t *testing.T, e *harness.Env) {
		pair := e.Pair(t, 3)
		for _, tc := range []struct {
			want string
			args []any
		}{
			{"_\r\n", []any{"GET", "none"}},
			{"*0\r\n", []any{"HKEYS", "none"}},
			{"%0\r\n", []any{"HGETALL", "none"}},
			{"~0\r\n", []any{"SMEMBERS", "none"}},
			{"*0\r\n", []any{"LRANGE", "none", 0, -1}},
			{"*0\r\n", []any{"ZRANGE", "none", 0, -1, "WITHSCORES"}},
			{"_\r\n", []any{"ZSCORE", "none", "a"}},
			{"_\r\n", []any{"XREAD", "STREAMS", "none", "0"}},
			{"_\r\n", []any{"SPOP", "none"}},
			{"~0\r\n", []any{"SPOP", "none", 1}},
			{"_\r\n", []any{"RPOP", "none"}},
			{"*2\r\n_\r\n_\r\n", []any{"HMGET", "none", "a", "b"}},
			{"_\r\n", []any{"CLIENT", "GETNAME"}},
			{"$0\r\n\r\n", []any{"ECHO", ""}},
		} {
			if got := pair.Same(t, tc.args...); got != tc.want {
				t.Errorf("%v: the lone node answered %q, want %q", tc.args, got, tc.want)
			}
		}
	})
}

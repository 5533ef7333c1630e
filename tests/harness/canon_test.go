package harness

import "testing"

func TestCanonSeesDifferences(t *testing.T) {
	for _, tc := range []struct {
		name  string
		canon Canon
		a, b  string
		same  bool
	}{
		{"exact", Exact, "+OK\r\n", "+OK\r\n", true},
		{"exact", Exact, "$1\r\na\r\n", "$1\r\nb\r\n", false},

		{"unordered", Unordered, "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", true},
		{"unordered", Unordered, "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "~2\r\n$1\r\na\r\n$1\r\nb\r\n", false},
		{"unordered", Unordered, "*2\r\n$1\r\na\r\n$1\r\na\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", false},
		{"unordered", Unordered, "*2\r\n$1\r\na\r\n$1\r\na\r\n", "*1\r\n$1\r\na\r\n", false},
		{"unordered", Unordered, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "%2\r\n:3\r\n:4\r\n:1\r\n:2\r\n", true},
		{"unordered", Unordered, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "%2\r\n:1\r\n:4\r\n:3\r\n:2\r\n", false},
		{"unordered", Unordered, "*1\r\n*2\r\n:1\r\n:2\r\n", "*1\r\n*2\r\n:2\r\n:1\r\n", false},
		{"unordered", Unordered, "$1\r\na\r\n", "$1\r\nb\r\n", false},
		{"unordered", Unordered, "*0\r\n", "*-1\r\n", false},

		{"pairs", Pairs, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "*4\r\n:3\r\n:4\r\n:1\r\n:2\r\n", true},
		{"pairs", Pairs, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "*4\r\n:1\r\n:4\r\n:3\r\n:2\r\n", false},
		{"pairs", Pairs, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "%2\r\n:3\r\n:4\r\n:1\r\n:2\r\n", true},
		{"pairs", Pairs, "*2\r\n:1\r\n:2\r\n", "%1\r\n:1\r\n:2\r\n", false},
		{"pairs", Pairs, "*0\r\n", "%0\r\n", false},

		{"page", Page, "*2\r\n$1\r\n0\r\n*2\r\n:1\r\n:2\r\n", "*2\r\n$1\r\n0\r\n*2\r\n:2\r\n:1\r\n", true},
		{"page", Page, "*2\r\n$1\r\n0\r\n*2\r\n:1\r\n:2\r\n", "*2\r\n$1\r\n0\r\n*1\r\n:1\r\n", false},
		{"page", Page, "*2\r\n$1\r\n7\r\n*1\r\n:1\r\n", "*2\r\n$2\r\n12\r\n*2\r\n:2\r\n:3\r\n", true},
		{"page", Page, "*2\r\n$1\r\n7\r\n*1\r\n:1\r\n", "*2\r\n$1\r\n0\r\n*1\r\n:1\r\n", false},
		{"page", Page, "*2\r\n$1\r\n7\r\n*0\r\n", "*2\r\n$1\r\n7\r\n~0\r\n", false},
		{"page", Page, "-ERR a\r\n", "-ERR b\r\n", false},

		{"positive", Positive, ":99\r\n", ":100\r\n", true},
		{"positive", Positive, ":1\r\n", ":0\r\n", false},
		{"positive", Positive, ":-1\r\n", ":-2\r\n", false},
		{"positive", Positive, "*2\r\n:5\r\n:-2\r\n", "*2\r\n:6\r\n:-2\r\n", true},
		{"positive", Positive, "*2\r\n:5\r\n:-2\r\n", "*2\r\n:-2\r\n:5\r\n", false},
		{"positive", Positive, "$1\r\n1\r\n", "$1\r\n2\r\n", false},

		{"shape", Shape, ":1\r\n", ":22\r\n", true},
		{"shape", Shape, "$1\r\na\r\n", "$2\r\nbb\r\n", true},
		{"shape", Shape, "$1\r\na\r\n", "$-1\r\n", false},
		{"shape", Shape, ":1\r\n", "$1\r\n1\r\n", false},
		{"shape", Shape, "*1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n", false},
		{"shape", Shape, "*1\r\n:1\r\n", "*1\r\n,1\r\n", false},
		{"shape", Shape, "-ERR a\r\n", "-ERR b\r\n", false},
		{"shape", Shape, "_\r\n", "*-1\r\n", false},

		{"kind", Kind, "*1\r\n:1\r\n", "*0\r\n", true},
		{"kind", Kind, "*0\r\n", "~0\r\n", false},
		{"kind", Kind, "-ERR a\r\n", "-ERR b\r\n", false},
	} {
		if same := tc.canon([]byte(tc.a)) == tc.canon([]byte(tc.b)); same != tc.same {
			t.Errorf("%s: %q and %q: same is %v, want %v", tc.name, tc.a, tc.b, same, tc.same)
		}
	}
}

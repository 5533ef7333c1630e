package fanout

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// sample answers the two questions of a sample: each shard's number of keys, and its key.
func sample(t *testing.T, draw uint64, sizes, keys []string) string {
	t.Helper()
	begin := func(j *Join) { j.BeginSample(len(sizes), draw, 0, 0) }
	replies := append(append([]string{}, sizes...), keys...)
	order := inOrder(len(replies))
	rand.New(rand.NewPCG(draw, 1)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return join(t, begin, order, nil, replies...)
}

// TestContract_ROUTE8_SamplesAreInProportion draws many times: each shard comes as often as
// it has keys, by a chi-squared test that a fair draw fails once in a million.
func TestContract_ROUTE8_SamplesAreInProportion(t *testing.T) {
	const draws = 3000
	rng := rand.New(rand.NewPCG(7, 8))
	for _, sizes := range [][]int{{1, 1, 1}, {5, 0, 15}, {1, 100, 10}, {0, 0, 3}, {7, 7, 7, 7, 7, 7, 7, 7, 7, 7}, {9}} {
		var counts, keys []string
		total := 0
		for i, n := range sizes {
			total += n
			counts = append(counts, fmt.Sprintf(":%d\r\n", n))
			keys = append(keys, fmt.Sprintf("$1\r\n%d\r\n", i))
			if n == 0 {
				keys[i] = "$-1\r\n"
			}
		}
		drawn := map[string]int{}
		for range draws {
			drawn[sample(t, rng.Uint64(), counts, keys)]++
		}
		chiSquared := 0.0
		for i, n := range sizes {
			want := float64(draws) * float64(n) / float64(total)
			if off := float64(drawn[keys[i]]) - want; n > 0 {
				chiSquared += off * off / want
			} else if drawn[keys[i]] > 0 {
				t.Errorf("of %v: %d times no key", sizes, drawn[keys[i]])
			}
		}
		const limit = 45 // for up to nine degrees of freedom, p = 1e-6
		if chiSquared > limit {
			t.Errorf("of %v: %v, chi squared is %.0f", sizes, drawn, chiSquared)
		}
	}
}

func TestContract_ROUTE8_SampleOfTheRest(t *testing.T) {
	for _, test := range []struct {
		name        string
		sizes, keys []string
		want        string
	}{
		{"all are empty", []string{":0\r\n", ":0\r\n"}, []string{"$-1\r\n", "$-1\r\n"}, "$-1\r\n"},
		{"all are empty, RESP3", []string{":0\r\n", ":0\r\n"}, []string{"_\r\n", "_\r\n"}, "_\r\n"},
		{"the last key has just gone", []string{":1\r\n", ":0\r\n", ":0\r\n"}, []string{"_\r\n", "_\r\n", "$1\r\nc\r\n"}, "$1\r\nc\r\n"},
		{"a key has just come", []string{":0\r\n", ":0\r\n"}, []string{"$-1\r\n", "$1\r\nb\r\n"}, "$1\r\nb\r\n"},
		{"an error of the first question", []string{":1\r\n", "-ERR size\r\n"}, []string{"$1\r\na\r\n", "-ERR key\r\n"}, "-ERR size\r\n"},
		{"an error of the second", []string{":1\r\n", ":1\r\n"}, []string{"$1\r\na\r\n", "-ERR key\r\n"}, "-ERR key\r\n"},
		{"no number", []string{":1\r\n", "+OK\r\n"}, []string{"$1\r\na\r\n", "$1\r\nb\r\n"}, errMerge},
		{"less than nothing", []string{":1\r\n", ":-1\r\n"}, []string{"$1\r\na\r\n", "$1\r\nb\r\n"}, errMerge},
		{"too many", []string{":9223372036854775807\r\n", ":1\r\n"}, []string{"$1\r\na\r\n", "$1\r\nb\r\n"}, errOverflow},
	} {
		for draw := range uint64(5) {
			if got := sample(t, draw, test.sizes, test.keys); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		}
	}
}

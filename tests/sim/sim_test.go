package sim

import (
	"flag"
	"os"
	"testing"
)

var (
	seeds = flag.Int("seeds", 200, "how many seeds TestSeeds runs")
	first = flag.Uint64("first", 1, "the first seed of TestSeeds")
	seed  = flag.Uint64("seed", 0, "the one seed that TestSeed runs; with -v it prints the trace")
)

func TestSeeds(t *testing.T) {
	var s Simulator
	replies := 0
	for i := range uint64(*seeds) {
		c := NewConfig(*first + i)
		result := s.Run(c, nil)
		if result.Err != nil {
			t.Errorf("%s\n%v", &c, result.Err)
			if t.Failed() {
				break
			}
		}
		replies += result.Replies
	}
	t.Logf("%d replies judged", replies)
}

func TestSeed(t *testing.T) {
	if *seed == 0 {
		*seed = 1
	}
	c := NewConfig(*seed)
	t.Log(&c)
	var s Simulator
	var result Result
	if testing.Verbose() {
		result = s.Run(c, os.Stdout)
	} else {
		result = s.Run(c, nil)
	}
	t.Logf("%d replies, %d turns, trace %x", result.Replies, result.Turns, result.Hash)
	if result.Err != nil {
		t.Error(result.Err)
	}
}

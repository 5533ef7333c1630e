package closedloop

import (
	"fmt"
	"strings"
	"time"
)

// MGetKeys is the number of keys of one MGET.
const MGetKeys = 10

const (
	connsMax      = 60000
	pipelineMax   = 1 << 16
	valueBytesMax = 512 << 20 // one bulk string (RESP specification)
	keysMax       = 1_000_000_000
	threadsMax    = 64
)

// Op is a command of the load.
type Op uint8

const (
	Set  Op = iota // SET of a value of Config.ValueBytes
	Get            // GET
	MGet           // MGET of MGetKeys keys
)

var opNames = [...]string{Set: "set", Get: "get", MGet: "mget"}

func (op Op) String() string { return opNames[op] }

// ParseMix reads commands such as "set,get,mget".
func ParseMix(text string) ([]Op, error) {
	var mix []Op
next:
	for _, name := range strings.Split(text, ",") {
		for op, known := range opNames {
			if strings.TrimSpace(name) == known {
				mix = append(mix, Op(op))
				continue next
			}
		}
		return nil, fmt.Errorf("command %q in mix %q is none of %s", name, text, strings.Join(opNames[:], ", "))
	}
	return mix, nil
}

// Config describes a run.
type Config struct {
	Addr       string // host:port
	Conns      int
	Pipeline   int  // commands of a batch
	ValueBytes int  // of SET
	Keys       int  // size of the key space
	Mix        []Op // in turn
	Threads    int
	Warmup     time.Duration
	Window     time.Duration

	// OpenWindow and CloseWindow, if not nil, are called at the edges of the window, with the load running.
	OpenWindow  func()
	CloseWindow func()
}

func (c *Config) check() error {
	for _, limit := range []struct {
		name       string
		value, max int
	}{
		{"connections", c.Conns, connsMax},
		{"pipeline", c.Pipeline, pipelineMax},
		{"value size", c.ValueBytes, valueBytesMax},
		{"keys", c.Keys, keysMax},
		{"threads", c.Threads, threadsMax},
	} {
		if limit.value < 1 || limit.value > limit.max {
			return fmt.Errorf("%s: %d is not in 1..%d", limit.name, limit.value, limit.max)
		}
	}
	if len(c.Mix) == 0 {
		return fmt.Errorf("the mix is empty: name one of %s", strings.Join(opNames[:], ", "))
	}
	if c.Window <= 0 || c.Warmup < 0 {
		return fmt.Errorf("a window of %v after %v: the window must be longer than 0 and the warm-up not negative", c.Window, c.Warmup)
	}
	return nil
}

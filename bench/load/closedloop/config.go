package closedloop

import (
	"fmt"
	"strings"
	"time"
)

const (
	connsMax      = 60000
	pipelineMax   = 1 << 16
	valueBytesMax = 512 << 20 // one bulk string (RESP specification)
	keysMax       = 1_000_000_000
	threadsMax    = 64
)

// Op is a command of the load.
type Op uint8

// The commands.
const (
	Set     Op = iota // SET of a value of Config.ValueBytes
	Get               // GET
	MGet10            // MGET of 10 keys
	MGet100           // MGET of 100 keys
	MSet100           // MSET of 100 keys, each to a value of Config.ValueBytes
)

var ops = [...]struct {
	name    string // in a mix
	command string
	keys    int
	values  bool // one behind each key
	reply   byte // first byte of a good reply
}{
	Set:     {"set", "SET", 1, true, '+'},
	Get:     {"get", "GET", 1, false, '$'},
	MGet10:  {"mget10", "MGET", 10, false, '*'},
	MGet100: {"mget100", "MGET", 100, false, '*'},
	MSet100: {"mset100", "MSET", 100, true, '+'},
}

func (op Op) String() string { return ops[op].name }

// Keys is how many keys one command has.
func (op Op) Keys() int { return ops[op].keys }

// Names are those of all commands.
func Names() string {
	var names []string
	for _, op := range ops {
		names = append(names, op.name)
	}
	return strings.Join(names, ", ")
}

// ParseMix reads commands such as "set,get,mget10".
func ParseMix(text string) ([]Op, error) {
	var mix []Op
next:
	for _, name := range strings.Split(text, ",") {
		for op, known := range ops {
			if strings.TrimSpace(name) == known.name {
				mix = append(mix, Op(op))
				continue next
			}
		}
		return nil, fmt.Errorf("command %q in mix %q is none of %s", name, text, Names())
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
		return fmt.Errorf("the mix is empty: name one of %s", Names())
	}
	if c.Window <= 0 || c.Warmup < 0 {
		return fmt.Errorf("a window of %v after %v: the window must be longer than 0 and the warm-up not negative", c.Window, c.Warmup)
	}
	return nil
}

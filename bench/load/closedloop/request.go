package closedloop

import (
	"fmt"
	"math/rand/v2"
)

// formatter appends requests whose parts, but for the keys' digits, were formatted before the run.
type formatter struct {
	keys   *rand.Rand
	count  int
	before [len(opNames)][]byte // up to the first key
	after  []byte               // of SET: the value
}

func newFormatter(c *Config, seed uint64) *formatter {
	f := &formatter{keys: rand.New(rand.NewPCG(seed, 0)), count: c.Keys}
	f.before[Set] = []byte("*3\r\n$3\r\nSET\r\n")
	f.before[Get] = []byte("*2\r\n$3\r\nGET\r\n")
	f.before[MGet] = fmt.Appendf(nil, "*%d\r\n$4\r\nMGET\r\n", 1+MGetKeys)
	f.after = fmt.Appendf(nil, "$%d\r\n", c.ValueBytes)
	for i := range c.ValueBytes {
		f.after = append(f.after, 'a'+byte(i%26))
	}
	f.after = append(f.after, '\r', '\n')
	return f
}

// append appends a request for random keys.
func (f *formatter) append(to []byte, op Op) []byte {
	to = append(to, f.before[op]...)
	switch op {
	case MGet:
		for range MGetKeys {
			to = f.appendKey(to, f.keys.IntN(f.count))
		}
	default:
		to = f.appendKey(to, f.keys.IntN(f.count))
	}
	if op == Set {
		to = append(to, f.after...)
	}
	return to
}

// appendSet appends a SET of the key with that number.
func (f *formatter) appendSet(to []byte, number int) []byte {
	to = append(to, f.before[Set]...)
	to = f.appendKey(to, number)
	return append(to, f.after...)
}

func (f *formatter) appendKey(to []byte, number int) []byte {
	to = append(to, "$16\r\nkey:000000000000\r\n"...)
	for at := len(to) - len("\r\n") - 1; number > 0; at-- {
		to[at] = '0' + byte(number%10)
		number /= 10
	}
	return to
}

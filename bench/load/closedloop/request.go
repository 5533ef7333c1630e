package closedloop

import (
	"fmt"
	"math/rand/v2"
)

// formatter appends requests whose parts, but for the keys' digits, were formatted before the run.
type formatter struct {
	keys   *rand.Rand
	count  int
	before [len(ops)][]byte // up to the first key
	value  []byte
}

func newFormatter(c *Config, seed uint64) *formatter {
	f := &formatter{keys: rand.New(rand.NewPCG(seed, 0)), count: c.Keys}
	for i, op := range ops {
		words := 1 + op.keys
		if op.values {
			words += op.keys
		}
		f.before[i] = fmt.Appendf(nil, "*%d\r\n$%d\r\n%s\r\n", words, len(op.command), op.command)
	}
	f.value = fmt.Appendf(nil, "$%d\r\n", c.ValueBytes)
	for i := range c.ValueBytes {
		f.value = append(f.value, 'a'+byte(i%26))
	}
	f.value = append(f.value, '\r', '\n')
	return f
}

// append appends a request for random keys.
func (f *formatter) append(to []byte, op Op) []byte {
	to = append(to, f.before[op]...)
	for range ops[op].keys {
		to = f.appendKey(to, f.keys.IntN(f.count))
		if ops[op].values {
			to = append(to, f.value...)
		}
	}
	return to
}

// appendSet appends a SET of the key with that number.
func (f *formatter) appendSet(to []byte, number int) []byte {
	to = append(to, f.before[Set]...)
	to = f.appendKey(to, number)
	return append(to, f.value...)
}

func (f *formatter) appendKey(to []byte, number int) []byte {
	to = append(to, "$16\r\nkey:000000000000\r\n"...)
	for at := len(to) - len("\r\n") - 1; number > 0; at-- {
		to[at] = '0' + byte(number%10)
		number /= 10
	}
	return to
}

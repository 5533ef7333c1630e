package command

import (
	"bytes"
	"math"

	"mithril/src/resp"
)

// KeyRef is one key of a request.
type KeyRef struct {
	Arg   uint32 // position among the arguments
	Flags KeyFlags
}

// setKeyIndex sets KeyIndex if the only key is always at one place and the arity makes sure of it.
func (c *Command) setKeyIndex() {
	if len(c.KeySpecs) != 1 {
		return
	}
	k := &c.KeySpecs[0]
	least := max(c.Arity, -c.Arity)
	isFixed := k.Begin == BeginIndex && k.Index < 256 && k.Count == CountRange && k.LastKey == 0 && k.Flags&KeyIncomplete == 0
	if isFixed && k.Index < least {
		c.KeyIndex, c.KeyFlags = uint8(k.Index), k.Flags
	}
}

// Keys appends the keys of a request that Find accepted to dst, in the order of the key specs. Channels that are routed like keys are
// among them, marked KeyNotKey.
//
// A request whose arguments contradict the command's syntax (a count of keys that is no number or too large, no STREAMS) has no keys, as
// to a server that routes it: any server will say what is wrong with it.
func (c *Command) Keys(frame []byte, args []resp.Arg, dst []KeyRef) []KeyRef {
	if c.KeyIndex != 0 {
		return append(dst, KeyRef{Arg: uint32(c.KeyIndex), Flags: c.flagsOf(c.KeyFlags, frame, args)})
	}
	found := dst
	for i := range c.KeySpecs {
		k := &c.KeySpecs[i]
		begin := k.begin(frame, args)
		if begin <= 0 || begin >= len(args) {
			continue
		}
		first, last := k.span(frame, args, begin)
		if last < first {
			return dst
		}
		for at := first; at <= last; at += int(k.Step) {
			found = append(found, KeyRef{Arg: uint32(at), Flags: c.flagsOf(k.Flags, frame, args)})
		}
	}
	return found
}

// flagsOf is what a request does with a key that the specs give flags.
func (c *Command) flagsOf(flags KeyFlags, frame []byte, args []resp.Arg) KeyFlags {
	if flags&KeyVariableFlags == 0 || c.variableFlags == nil {
		return flags
	}
	return c.variableFlags(frame, args)
}

// begin returns the position where the spec's keys, or their number, begin; 0 or a position behind the last argument if it has none.
func (k *KeySpec) begin(frame []byte, args []resp.Arg) int {
	switch k.Begin {
	case BeginIndex:
		return int(k.Index)
	case BeginOption:
		return k.options.find(frame, args, k.options.keys...)
	case BeginKeyword:
		if k.Index >= 0 {
			for i := int(k.Index); i < len(args)-1; i++ {
				if isWord(args[i].Of(frame), k.Keyword) {
					return i + 1
				}
			}
			return 0
		}
		for i := len(args) + int(k.Index); i > 0; i-- {
			if isWord(args[i].Of(frame), k.Keyword) {
				return i + 1
			}
		}
	}
	return 0
}

// span returns the positions of the first and the last key; the last is before the first if there are none.
func (k *KeySpec) span(frame []byte, args []resp.Arg, begin int) (first, last int) {
	n := len(args)
	switch k.Count {
	case CountRange:
		first = begin
		switch {
		case k.LastKey >= 0:
			last = begin + int(k.LastKey)
		case k.Limit > 1:
			if k.even && (n-begin)%int(k.Limit) != 0 {
				return 0, -1
			}
			last = begin + (n-begin)/int(k.Limit) + int(k.LastKey)
		default:
			last = n + int(k.LastKey)
		}
	case CountKeynum:
		at := begin + int(k.Keynum)
		if at >= n {
			return 0, -1
		}
		first = begin + int(k.First)
		last = first + (countOfKeys(args[at].Of(frame), n)-1)*int(k.Step)
	}
	if last >= n {
		return 0, -1
	}
	return first, last
}

// countOfKeys reads a number of keys as servers do when they route a request, with C's atoi: space and a sign before the digits and
// anything behind them are passed over, and of a long number the lowest 32 bits count. It returns 0 if there is no number, or one that
// is negative or above limit.
func countOfKeys(text []byte, limit int) (keys int) {
	text = bytes.TrimLeft(text, " \t\n\v\f\r")
	sign := int64(1)
	if len(text) != 0 && (text[0] == '+' || text[0] == '-') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	v := int64(0)
	for _, b := range text {
		if b < '0' || b > '9' {
			break
		}
		if v > (math.MaxInt64-9)/10 {
			return 0 // strtol stops at its limits, whose lowest bits are -1 and 0
		}
		v = 10*v + int64(b-'0')
	}
	if keys = int(int32(sign * v)); keys < 0 || keys > limit {
		return 0
	}
	return keys
}

package command

import "mithril/src/resp"

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
// BadKeys means that the arguments contradict the command's syntax (a count of keys that is no number or too large, no STREAMS). What
// was found up to there is returned; a server would execute none of it, so the request may go to the first of these keys' owner or, if there
// is none, to any server, for its error.
func (c *Command) Keys(frame []byte, args []resp.Arg, dst []KeyRef) ([]KeyRef, Problem) {
	if c.KeyIndex != 0 {
		return append(dst, KeyRef{Arg: uint32(c.KeyIndex), Flags: c.KeyFlags}), OK
	}
	problem := OK
	for i := range c.KeySpecs {
		k := &c.KeySpecs[i]
		begin := k.begin(frame, args)
		if begin <= 0 || begin >= len(args) {
			if k.required() {
				problem = BadKeys
			}
			continue
		}
		first, last, ok := k.span(frame, args, begin)
		if !ok || last < first && c.Flags&FlagNoMandatoryKeys == 0 {
			problem = BadKeys
			continue
		}
		for at := first; at <= last; at += int(k.Step) {
			dst = append(dst, KeyRef{Arg: uint32(at), Flags: k.Flags})
		}
	}
	return dst, problem
}

// required reports whether a request without the spec's begin is malformed. Behind an index the arity decides; STORE is an option.
func (k *KeySpec) required() bool {
	return k.options != nil && k.options.required
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
func (k *KeySpec) span(frame []byte, args []resp.Arg, begin int) (first, last int, ok bool) {
	n := len(args)
	switch k.Count {
	case CountRange:
		switch {
		case k.LastKey >= 0:
			last = begin + int(k.LastKey)
		case k.Limit > 1:
			last = begin + (n-begin)/int(k.Limit) + int(k.LastKey)
		default:
			last = n + int(k.LastKey)
		}
		return begin, last, last >= begin && last < n
	case CountKeynum:
		at := begin + int(k.Keynum)
		if at >= n {
			return 0, 0, false
		}
		keys, ok := parseCountOfKeys(args[at].Of(frame), n)
		first = begin + int(k.First)
		last = first + (keys-1)*int(k.Step)
		return first, last, ok && last < n
	}
	return 0, -1, true
}

// parseCountOfKeys reads a number of keys as strictly as a server does: digits without sign, space or leading zero, and no more
// keys than there are arguments.
func parseCountOfKeys(text []byte, limit int) (keys int, ok bool) {
	if len(text) == 0 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		if keys = 10*keys + int(b-'0'); keys > limit {
			return 0, false
		}
	}
	return keys, true
}

package command

import (
	"math/bits"

	"mithril/src/resp"
)

// Refusals of COMMAND GETKEYS and GETKEYSANDFLAGS.
const (
	errNoCommand  = "-ERR Invalid command specified\r\n"
	errNoKeys     = "-ERR The command has no key arguments\r\n"
	errBadArity   = "-ERR Invalid number of arguments specified for command\r\n"
	errNoneOfKeys = "-ERR Invalid arguments specified for command\r\n"
)

// AppendKeys appends the reply to COMMAND GETKEYS: the keys of a request, which has at least one argument.
func (t *Table) AppendKeys(dst, frame []byte, args []resp.Arg) []byte {
	keys, refusal := t.tellKeys(frame, args)
	if refusal != "" {
		return append(dst, refusal...)
	}
	dst = resp.AppendArray(dst, len(keys))
	for _, k := range keys {
		dst = resp.AppendBulk(dst, args[k.Arg].Of(frame))
	}
	return dst
}

// AppendKeysAndFlags appends the reply to COMMAND GETKEYSANDFLAGS: the keys of a request and what it does with each.
func (t *Table) AppendKeysAndFlags(dst, frame []byte, args []resp.Arg, proto resp.Proto) []byte {
	keys, refusal := t.tellKeys(frame, args)
	if refusal != "" {
		return append(dst, refusal...)
	}
	dst = resp.AppendArray(dst, len(keys))
	for _, k := range keys {
		dst = resp.AppendArray(dst, 2)
		dst = resp.AppendBulk(dst, args[k.Arg].Of(frame))
		dst = k.Flags.append(dst, proto)
	}
	return dst
}

// tellKeys returns the keys of a request, or the error line that says why it has none. What is not offered does not exist.
func (t *Table) tellKeys(frame []byte, args []resp.Arg) (keys []KeyRef, refusal string) {
	c, problem := t.Find(frame, args)
	switch {
	case problem == UnknownCommand || problem == UnknownSubcommand || !c.Offered():
		return nil, errNoCommand
	case !c.namesKeys():
		return nil, errNoKeys
	case problem == WrongArity:
		return nil, errBadArity
	}
	keys = c.Keys(frame, args, nil)
	if len(keys) == 0 && c.Flags&FlagNoMandatoryKeys == 0 {
		return nil, errNoneOfKeys
	}
	return keys, ""
}

// namesKeys reports whether the command can have keys; channels do not count.
func (c *Command) namesKeys() bool {
	for i := range c.KeySpecs {
		if c.KeySpecs[i].Flags&KeyNotKey == 0 {
			return true
		}
	}
	return false
}

// append appends the names of the flags as a set.
func (f KeyFlags) append(dst []byte, proto resp.Proto) []byte {
	dst = resp.AppendSet(dst, proto, bits.OnesCount16(uint16(f)))
	for i, name := range keyFlagNames {
		if f&(1<<i) != 0 {
			dst = resp.AppendSimple(dst, name)
		}
	}
	return dst
}

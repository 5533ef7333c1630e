package command

import (
	"fmt"
	"sort"
	"strings"
)

// Lengths of a COMMAND INFO row.
const (
	rowElements  = 10 // since Redis 7.0
	rowElements6 = 7  // since Redis 6.0: up to the categories
	rowElements2 = 6  // before: up to the key range
)

// parsedRow is a row with its subcommands, before a table gives them their places.
type parsedRow struct {
	command Command
	subs    []Command
}

// parseRows reads a RESP3 reply to COMMAND. The rows come out in name order whatever their order in the reply.
func parseRows(reply string) ([]parsedRow, error) {
	r := &reader{text: reply}
	var rows []parsedRow
	for range r.count("*") {
		row := parsedRow{}
		var subs int
		row.command, subs = parseRow(r)
		for range subs {
			sub, nested := parseRow(r)
			if nested != 0 {
				r.fail("%s has %d subcommands of its own", sub.Name, nested)
			}
			row.subs = append(row.subs, sub)
		}
		sort.Slice(row.subs, func(i, j int) bool { return row.subs[i].Name < row.subs[j].Name })
		rows = append(rows, row)
	}
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].command.Name < rows[j].command.Name })
	for i := 1; i < len(rows); i++ {
		if strings.EqualFold(rows[i].command.Name, rows[i-1].command.Name) {
			return nil, fmt.Errorf("two rows for %q", rows[i].command.Name)
		}
	}
	return rows, nil
}

// parseRow reads one row up to its subcommands and returns how many of them follow. The key range (first, last, step) counts only where
// there are no key specs, which say more. A row of an older version becomes one of today.
func parseRow(r *reader) (c Command, subs int) {
	elements := r.count("*")
	if elements != rowElements && elements != rowElements6 && elements != rowElements2 {
		r.fail("a row of %d elements, want %d", elements, rowElements)
		return c, 0
	}
	start := r.pos
	c.Name = r.string()
	c.ShortName = c.Name[strings.LastIndexByte(c.Name, '|')+1:]
	if c.ShortName == "" || strings.IndexFunc(c.Name, notNameByte) >= 0 {
		r.fail("a command named %q", c.Name)
	}
	c.pattern = newPattern(c.ShortName)
	c.Arity = r.small()
	for range r.count("*~") {
		c.Flags |= flagBits[r.string()]
	}
	first, last, step := r.small(), r.small(), r.small()
	if elements >= rowElements6 {
		for range r.count("*~") {
			c.Categories |= categoryBits[strings.TrimPrefix(r.string(), "@")]
		}
	}
	if elements == rowElements {
		c.Tips = r.strings()
		for range r.count("*~") {
			c.KeySpecs = append(c.KeySpecs, parseKeySpec(r))
		}
		c.info = r.text[start:r.pos]
		if subs = r.count("*~"); subs == 0 {
			c.info = r.text[start:r.pos]
		}
	} else {
		c.info = r.text[start:r.pos] + strings.Repeat("~0\r\n", rowElements-elements-1) + "*0\r\n"
	}
	if len(c.KeySpecs) == 0 && first != 0 {
		c.KeySpecs = []KeySpec{rangeSpec(first, last, step)}
	}
	c.setTips()
	if c.Flags&FlagModule != 0 {
		c.docs, c.docsPairs = docsOfModule, 1
	}
	return c, subs
}

// docsOfModule is what COMMAND DOCS says of every command of a module.
const docsOfModule = "$5\r\ngroup\r\n$6\r\nmodule\r\n"

func notNameByte(r rune) bool { return r < '!' || r > '~' }

// Beginnings of the tips that name a policy.
const (
	requestTip  = "request_policy:"
	responseTip = "response_policy:"
)

// setTips reads the policies among the tips.
func (c *Command) setTips() {
	if c.HasKeys() {
		c.Response = ResponseDefaultHashslot
	}
	for _, tip := range c.Tips {
		if value, ok := strings.CutPrefix(tip, requestTip); ok {
			c.Request = requestPolicies[value]
		}
		if value, ok := strings.CutPrefix(tip, responseTip); ok {
			c.Response = responsePolicies[value]
		}
	}
}

func parseKeySpec(r *reader) KeySpec {
	var k KeySpec
	for range r.count("%") {
		switch field := r.string(); field {
		case "flags":
			for range r.count("*~") {
				k.Flags |= keyFlagBits[r.string()]
			}
		case "begin_search":
			k.parseBegin(r)
		case "find_keys":
			k.parseCount(r)
		default:
			r.skip()
		}
	}
	return k.orUnknown()
}

// rangeSpec is the key spec that a key range stands for; last is relative to the end of the request if it is negative.
func rangeSpec(first, last, step int16) KeySpec {
	k := KeySpec{Flags: KeyRW | KeyAccess | KeyUpdate, Begin: BeginIndex, Count: CountRange, Index: first, LastKey: last, Step: step}
	switch {
	case last >= first:
		k.LastKey -= first
	case last >= 0:
		k.Count = CountUnknown
	}
	return k.orUnknown()
}

// orUnknown is the spec, or one that leads to no key if it contradicts itself or leaves anything to the server.
func (k KeySpec) orUnknown() KeySpec {
	begins := k.Begin == BeginIndex && k.Index > 0 || k.Begin == BeginKeyword
	counts := k.Count == CountRange || k.Count == CountKeynum && k.Keynum >= 0 && k.First >= 0
	if !begins || !counts || k.Step < 1 {
		return KeySpec{Flags: k.Flags}
	}
	return k
}

func (k *KeySpec) parseBegin(r *reader) {
	kind := readSpec(r, func(field string) {
		switch field {
		case "index", "startfrom":
			k.Index = r.small()
		case "keyword":
			k.Keyword = strings.ToLower(r.string())
		default:
			r.skip()
		}
	})
	switch kind {
	case "index":
		k.Begin = BeginIndex
	case "keyword":
		k.Begin = BeginKeyword
	}
}

func (k *KeySpec) parseCount(r *reader) {
	kind := readSpec(r, func(field string) {
		switch field {
		case "lastkey":
			k.LastKey = r.small()
		case "keystep":
			k.Step = r.small()
		case "limit":
			k.Limit = r.small()
		case "keynumidx":
			k.Keynum = r.small()
		case "firstkey":
			k.First = r.small()
		default:
			r.skip()
		}
	})
	switch kind {
	case "range":
		k.Count = CountRange
	case "keynum":
		k.Count = CountKeynum
	}
}

// readSpec reads a map of a type and a map of fields, calls field at the value of each of them, and returns the type.
func readSpec(r *reader, field func(name string)) (kind string) {
	for range r.count("%") {
		switch name := r.string(); name {
		case "type":
			kind = r.string()
		case "spec":
			for range r.count("%") {
				field(r.string())
			}
		default:
			r.skip()
		}
	}
	return kind
}

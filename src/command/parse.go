package command

import (
	"fmt"
	"sort"
	"strings"
)

// rowElements is the length of a COMMAND INFO row since Redis 7.0.
const rowElements = 10

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

// parseRow reads one row up to its subcommands and returns how many of them follow. The legacy key range (first, last, step) is passed
// over: the key specs say more.
func parseRow(r *reader) (c Command, subs int) {
	if n := r.count("*"); n != rowElements {
		r.fail("a row of %d elements, want %d", n, rowElements)
	}
	start := r.pos
	c.Name = r.string()
	c.ShortName = c.Name[strings.LastIndexByte(c.Name, '|')+1:]
	c.pattern = newPattern(c.ShortName)
	c.Arity = r.small()
	for range r.count("*~") {
		c.Flags |= flagBits[r.string()]
	}
	for range 3 {
		r.small()
	}
	for range r.count("*~") {
		c.Categories |= categoryBits[strings.TrimPrefix(r.string(), "@")]
	}
	c.Tips = r.strings()
	for range r.count("*~") {
		c.KeySpecs = append(c.KeySpecs, parseKeySpec(r))
	}
	c.info = r.text[start:r.pos]
	if subs = r.count("*~"); subs == 0 {
		c.info = r.text[start:r.pos]
	}
	c.setTips()
	return c, subs
}

// setTips reads the policies among the tips.
func (c *Command) setTips() {
	if c.HasKeys() {
		c.Response = ResponseDefaultHashslot
	}
	for _, tip := range c.Tips {
		if value, ok := strings.CutPrefix(tip, "request_policy:"); ok {
			c.Request = requestPolicies[value]
		}
		if value, ok := strings.CutPrefix(tip, "response_policy:"); ok {
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
	if k.Count != CountUnknown && k.Step < 1 {
		r.fail("a key step of %d", k.Step)
	}
	if k.Keynum < 0 || k.First < 0 {
		r.fail("keys %d and their number %d arguments behind the begin", k.First, k.Keynum)
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

package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mithril/src/resp"
)

// ExtraForm says what ParseExtra reads.
const ExtraForm = "name, arity, flags, first key, last key, step and tips of a command, in the order and with the words of COMMAND"

// extraWords is how many words describe a command without tips.
const extraWords = 6

// ParseExtra reads the one command that somebody describes in words, as ExtraForm says; "-" stands for no flags, and 0 0 0 for no keys. The
// error says what was expected.
func ParseExtra(words []string) (*Rows, error) {
	if len(words) < extraWords {
		return nil, errors.New("expected " + ExtraForm)
	}
	text, err := appendExtra(resp.AppendArray(nil, 1), words)
	if err != nil {
		return nil, err
	}
	rows, err := parseRows(string(text))
	if err != nil {
		return nil, err
	}
	c := &rows[0].command
	for _, table := range tables {
		if table().rowOf(c.pattern.name) != nil {
			return nil, fmt.Errorf("expected a command that is not built in, not %q", c.Name)
		}
	}
	if table, err := newTable(rows, openTo); err != nil || !table.rows[0].Offered() {
		return nil, errors.New("expected a command that one node, or all by their tips, can serve on a connection that clients share")
	}
	return &Rows{rows}, nil
}

// rowOf returns the row of a command by its name in lower case, a refused one too, or nil.
func (t *Table) rowOf(name string) *Command {
	for i := range t.rows {
		if c := &t.rows[i]; c.parent == nil && c.pattern.name == name {
			return c
		}
	}
	return nil
}

// appendExtra writes the row that words describe, as a server writes it.
func appendExtra(dst []byte, words []string) ([]byte, error) {
	name, flags, tips := strings.ToLower(words[0]), words[2], words[extraWords:]
	if strings.IndexFunc(name, notNameByte) >= 0 || strings.Contains(name, "|") {
		return nil, fmt.Errorf("expected a name of printable characters without |, not %q", words[0])
	}
	arity, err := strconv.ParseInt(words[1], 10, 16)
	if err != nil || arity == 0 {
		return nil, fmt.Errorf("expected as arity an integer from -32768 to 32767, but not 0, instead of %q", words[1])
	}
	dst = resp.AppendBulkString(resp.AppendArray(dst, rowElements), name)
	dst = resp.AppendInt(dst, arity)
	var set Flags
	if dst, set, err = appendExtraFlags(dst, flags); err != nil {
		return nil, err
	}
	keys, err := parseExtraKeys(words[3:extraWords])
	if err != nil {
		return nil, err
	}
	for _, n := range keys {
		dst = resp.AppendInt(dst, int64(n))
	}
	dst = appendImplied(dst, set)
	dst = resp.AppendSet(dst, resp.RESP3, len(tips))
	for _, tip := range tips {
		if !isTip(tip) {
			return nil, fmt.Errorf("expected as tip %s, not %q", tipForm(), tip)
		}
		dst = resp.AppendBulkString(dst, tip)
	}
	return resp.AppendArray(appendRange(dst, keys), 0), nil
}

func appendExtraFlags(dst []byte, text string) ([]byte, Flags, error) {
	if text == "-" {
		return resp.AppendSet(dst, resp.RESP3, 0), 0, nil
	}
	var set Flags
	names := strings.Split(text, ",")
	dst = resp.AppendSet(dst, resp.RESP3, len(names))
	for _, name := range names {
		bit := flagBits[name]
		if bit == 0 || set&bit != 0 {
			known := strings.Join(slices.Sorted(maps.Keys(flagBits)), ", ")
			return nil, 0, fmt.Errorf("expected as flags each once and separated by commas of %s, or -; not %q", known, name)
		}
		set |= bit
		dst = resp.AppendSimple(dst, name)
	}
	return dst, set, nil
}

// parseExtraKeys reads first key, last key and step.
func parseExtraKeys(words []string) (keys [3]int16, err error) {
	for i, word := range words {
		n, bad := strconv.ParseInt(word, 10, 16)
		if bad != nil {
			err = bad
		}
		keys[i] = int16(n)
	}
	if err != nil || keys != [3]int16{} && rangeSpec(keys[0], keys[1], keys[2]).Begin == BeginUnknown {
		err = fmt.Errorf("expected 0 0 0, or a first key from 1 on, a last one not before it or negative, and a step from 1 on; not %q",
			strings.Join(words, " "))
	}
	return keys, err
}

// appendImplied writes the categories that servers derive from the flags.
func appendImplied(dst []byte, flags Flags) []byte {
	implied := []string{"slow"}
	if flags&FlagFast != 0 {
		implied[0] = "fast"
	}
	for _, f := range []struct {
		flag     Flags
		category string
	}{{FlagWrite, "write"}, {FlagReadOnly, "read"}, {FlagAdmin, "admin"}, {FlagAdmin, "dangerous"}} {
		if flags&f.flag != 0 {
			implied = append(implied, f.category)
		}
	}
	dst = resp.AppendSet(dst, resp.RESP3, len(implied))
	for _, category := range implied {
		dst = resp.AppendSimple(dst, "@"+category)
	}
	return dst
}

// appendRange writes the key specs that servers derive from a key range.
func appendRange(dst []byte, keys [3]int16) []byte {
	if keys[0] == 0 {
		return resp.AppendSet(dst, resp.RESP3, 0)
	}
	k := rangeSpec(keys[0], keys[1], keys[2])
	dst = resp.AppendMap(resp.AppendSet(dst, resp.RESP3, 1), resp.RESP3, 3)
	dst = resp.AppendSet(resp.AppendBulkString(dst, "flags"), resp.RESP3, 3)
	for _, flag := range []string{"RW", "access", "update"} {
		dst = resp.AppendSimple(dst, flag)
	}
	dst = appendSpec(dst, "begin_search", "index", []specField{{"index", k.Index}})
	return appendSpec(dst, "find_keys", "range", []specField{{"lastkey", k.LastKey}, {"keystep", k.Step}, {"limit", 0}})
}

type specField struct {
	name  string
	value int16
}

func appendSpec(dst []byte, name, kind string, fields []specField) []byte {
	dst = resp.AppendMap(resp.AppendBulkString(dst, name), resp.RESP3, 2)
	dst = resp.AppendBulkString(resp.AppendBulkString(dst, "type"), kind)
	dst = resp.AppendMap(resp.AppendBulkString(dst, "spec"), resp.RESP3, len(fields))
	for _, f := range fields {
		dst = resp.AppendInt(resp.AppendBulkString(dst, f.name), int64(f.value))
	}
	return dst
}

// plainTips are the tips without a value.
var plainTips = []string{"nondeterministic_output", "nondeterministic_output_order"}

func isTip(tip string) bool {
	request, isRequest := strings.CutPrefix(tip, requestTip)
	response, isResponse := strings.CutPrefix(tip, responseTip)
	return isRequest && requestPolicies[request] != 0 || isResponse && responsePolicies[response] != 0 || slices.Contains(plainTips, tip)
}

// tipForm lists the tips.
func tipForm() string {
	return requestTip + strings.Join(slices.Sorted(maps.Keys(requestPolicies)), "|") + ", " +
		responseTip + strings.Join(slices.Sorted(maps.Keys(responsePolicies)), "|") + ", " + strings.Join(plainTips, ", ")
}

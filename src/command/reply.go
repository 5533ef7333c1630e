package command

import "mithril/src/resp"

// AppendCount appends the reply to COMMAND COUNT: the commands that are offered, without subcommands.
func (t *Table) AppendCount(dst []byte) []byte { return resp.AppendInt(dst, int64(t.count)) }

// AppendList appends the reply to COMMAND: the rows of all commands that are offered.
func (t *Table) AppendList(dst []byte, proto resp.Proto) []byte {
	dst = resp.AppendArray(dst, t.count)
	for i := range t.rows {
		if c := &t.rows[i]; c.parent == nil && c.Offered() {
			dst = AppendInfo(dst, c, proto)
		}
	}
	return dst
}

// AppendNames appends the reply to COMMAND LIST: the names of all commands and subcommands that are offered and that match.
func (t *Table) AppendNames(dst []byte, match func(*Command) bool) []byte {
	var names []string
	for i := range t.rows {
		if c := &t.rows[i]; c.Offered() && match(c) {
			names = append(names, c.Name)
		}
	}
	dst = resp.AppendArray(dst, len(names))
	for _, name := range names {
		dst = resp.AppendBulkString(dst, name)
	}
	return dst
}

// AppendInfoReply appends the reply to COMMAND INFO: a row per name, null for a name of nothing that is offered; the whole list without
// names.
func (t *Table) AppendInfoReply(dst []byte, names [][]byte, proto resp.Proto) []byte {
	if len(names) == 0 {
		return t.AppendList(dst, proto)
	}
	dst = resp.AppendArray(dst, len(names))
	for _, name := range names {
		dst = AppendInfo(dst, t.lookupOffered(name), proto)
	}
	return dst
}

// lookupOffered is LookupFull for commands that are offered.
func (t *Table) lookupOffered(name []byte) *Command {
	if c := t.LookupFull(name); c != nil && c.Offered() {
		return c
	}
	return nil
}

// AppendInfo appends one row of COMMAND INFO as the server shapes it, with the subcommands that are offered; null for nil.
func AppendInfo(dst []byte, c *Command, proto resp.Proto) []byte {
	if c == nil {
		return resp.AppendNull(dst, proto)
	}
	dst = resp.AppendArray(dst, rowElements)
	dst = appendProto(dst, c.info, proto)
	if len(c.subs) == 0 {
		return dst
	}
	dst = resp.AppendArray(dst, c.offeredSubs())
	for i := range c.subs {
		if s := &c.subs[i]; s.Offered() {
			dst = AppendInfo(dst, s, proto)
		}
	}
	return dst
}

// AppendDocsReply appends the reply to COMMAND DOCS: a map from name to documentation. Names of nothing that is offered are left
// out; without names it holds all commands that are.
func (t *Table) AppendDocsReply(dst []byte, names [][]byte, proto resp.Proto) []byte {
	if len(names) == 0 {
		dst = resp.AppendMap(dst, proto, t.count)
		for i := range t.rows {
			if c := &t.rows[i]; c.parent == nil && c.Offered() {
				dst = c.appendDocs(dst, proto)
			}
		}
		return dst
	}
	known := 0
	for _, name := range names {
		if t.lookupOffered(name) != nil {
			known++
		}
	}
	dst = resp.AppendMap(dst, proto, known)
	for _, name := range names {
		if c := t.lookupOffered(name); c != nil {
			dst = c.appendDocs(dst, proto)
		}
	}
	return dst
}

// appendDocs appends the name and the documentation of a command, with those of its subcommands that are offered.
func (c *Command) appendDocs(dst []byte, proto resp.Proto) []byte {
	dst = resp.AppendBulkString(dst, c.Name)
	subs := c.offeredSubs()
	if subs == 0 {
		dst = resp.AppendMap(dst, proto, c.docsPairs)
		return appendProto(dst, c.docs, proto)
	}
	dst = resp.AppendMap(dst, proto, c.docsPairs+1)
	dst = appendProto(dst, c.docs, proto)
	dst = resp.AppendBulkString(dst, docsSubcommands)
	dst = resp.AppendMap(dst, proto, subs)
	for i := range c.subs {
		if s := &c.subs[i]; s.Offered() {
			dst = s.appendDocs(dst, proto)
		}
	}
	return dst
}

// docsSubcommands is the field of a container's docs that holds those of its subcommands. It is always the last one.
const docsSubcommands = "subcommands"

// addDocs gives every row its part of a RESP3 reply to COMMAND DOCS.
func (t *Table) addDocs(reply string) error {
	r := &reader{text: reply}
	byName := map[string]*Command{}
	for i := range t.rows {
		byName[t.rows[i].Name] = &t.rows[i]
	}
	readDocs(r, byName)
	r.end()
	return r.err
}

func readDocs(r *reader, byName map[string]*Command) {
	for range r.count("%") {
		name := r.string()
		c := byName[name]
		if c == nil {
			r.fail("docs of %q, which has no row", name)
			return
		}
		pairs := r.count("%")
		start, end := r.pos, r.pos
		c.docsPairs = pairs
		for i := range pairs {
			end = r.pos
			if r.string() == docsSubcommands {
				if i != pairs-1 {
					r.fail("subcommands of %q are not its last field", name)
				}
				c.docsPairs--
				readDocs(r, byName)
				break
			}
			r.skip()
			end = r.pos
		}
		c.docs = r.text[start:end]
	}
}

// appendProto appends RESP3 text, in RESP2 with arrays in place of sets and maps. Other types that RESP2 lacks do not occur.
func appendProto(dst []byte, text string, proto resp.Proto) []byte {
	if proto == resp.RESP3 {
		return append(dst, text...)
	}
	r := &reader{text: text}
	for r.pos < len(text) && r.err == nil {
		start := r.pos
		switch text[start] {
		case '~':
			dst = resp.AppendArray(dst, r.count("~"))
		case '%':
			dst = resp.AppendMap(dst, proto, r.count("%"))
		case '*':
			dst = resp.AppendArray(dst, r.count("*"))
		default:
			dst = append(dst, r.skip()...)
		}
	}
	return dst
}

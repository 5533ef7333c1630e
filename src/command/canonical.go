package command

import (
	"cmp"
	"slices"

	"mithril/src/resp"
)

// CanonicalRows puts a RESP3 reply to COMMAND into the form that data/ keeps: rows and subcommands in name order, everything else as the
// server said it. A server lists them in the order of its hash tables, which differs from run to run.
func CanonicalRows(reply []byte) ([]byte, error) {
	rows, err := parseRows(string(reply))
	if err != nil {
		return nil, err
	}
	dst := resp.AppendArray(nil, len(rows))
	for _, row := range rows {
		dst = resp.AppendArray(dst, rowElements)
		dst = append(dst, row.command.info...)
		if len(row.subs) != 0 {
			dst = resp.AppendArray(dst, len(row.subs))
		}
		for _, sub := range row.subs {
			dst = resp.AppendArray(dst, rowElements)
			dst = append(dst, sub.info...)
		}
	}
	return dst, nil
}

// CanonicalDocs is CanonicalRows for a RESP3 reply to COMMAND DOCS.
func CanonicalDocs(reply []byte) ([]byte, error) {
	r := &reader{text: string(reply)}
	dst := appendSortedDocs(nil, r)
	r.end()
	return dst, r.err
}

// appendSortedDocs appends the map of docs at the reader's position with its names in order, at every level.
func appendSortedDocs(dst []byte, r *reader) []byte {
	type entry struct{ name, docs string }
	entries := make([]entry, r.count("%"))
	for i := range entries {
		entries[i].name = r.string()
		fields := r.count("%")
		docs := resp.AppendMap(nil, resp.RESP3, fields)
		for range fields {
			field := r.string()
			docs = resp.AppendBulkString(docs, field)
			if field == docsSubcommands {
				docs = appendSortedDocs(docs, r)
			} else {
				docs = append(docs, r.skip()...)
			}
		}
		entries[i].docs = string(docs)
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	dst = resp.AppendMap(dst, resp.RESP3, len(entries))
	for _, e := range entries {
		dst = append(resp.AppendBulkString(dst, e.name), e.docs...)
	}
	return dst
}

package command

import (
	"errors"
	"slices"

	"mithril/src/resp"
)

// Rows are commands as a node or the configuration describes them. They never change.
type Rows struct {
	rows []parsedRow // in name order
}

// ParseRows reads a node's whole reply to COMMAND: one of RESP3, or of a version that describes no key specs yet.
func ParseRows(reply []byte) (*Rows, error) {
	if len(reply) != 0 && reply[0] == '-' {
		return nil, errors.New(string(resp.Complaint(reply)))
	}
	rows, err := parseRows(string(reply))
	if err != nil {
		return nil, err
	}
	return &Rows{rows}, nil
}

// Equal reports whether both describe the same commands alike.
func (r *Rows) Equal(o *Rows) bool { return slices.EqualFunc(r.rows, o.rows, isAlike) }

// Common returns the commands that every list has and that all describe alike; none for no list.
func Common(lists []*Rows) *Rows {
	if len(lists) == 0 {
		return &Rows{}
	}
	common := lists[0].rows
	for _, list := range lists[1:] {
		byName := map[string]parsedRow{}
		for _, row := range list.rows {
			byName[row.command.pattern.name] = row
		}
		var kept []parsedRow
		for _, row := range common {
			if other, has := byName[row.command.pattern.name]; has && isAlike(row, other) {
				kept = append(kept, row)
			}
		}
		common = kept
	}
	return &Rows{common}
}

// isAlike reports whether two rows say the same of what matters for routing.
func isAlike(a, b parsedRow) bool {
	return isRoutedAlike(a.command, b.command) && slices.EqualFunc(a.subs, b.subs, isRoutedAlike)
}

func isRoutedAlike(a, b Command) bool {
	return a.pattern.name == b.pattern.name && a.Arity == b.Arity && a.Flags == b.Flags && a.Categories == b.Categories &&
		a.Request == b.Request && a.Response == b.Response && slices.Equal(a.KeySpecs, b.KeySpecs)
}

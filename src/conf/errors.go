package conf

import "strings"

// Error is one fault of a configuration.
type Error struct {
	Where  string // "mithril.conf:12", "mithril.conf" or "command line"
	Key    string // as written; empty when the fault is not about one key
	Value  string // as shown, in quotes or (redacted); empty when there is none to show
	Reason string // what is wrong and what would be accepted
}

// Error prints the fault on one line, such as
//
//	mithril.conf:12: worker-threads "abc": expected an integer between 1 and 1024
func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Where)
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key)
		if e.Value != "" {
			b.WriteString(" " + e.Value)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Errors is every fault found, in the order of the lines.
type Errors []Error

// Error prints one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, fault := range e {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

const redacted = "(redacted)"

// shownBytesMax bounds the part of a value that an error repeats.
const shownBytesMax = 128

// shown prints the words of k's line for an error.
func (k *key) shown(words []string) string {
	if k.secret {
		return redacted
	}
	text := strings.Join(words, " ")
	if len(text) > shownBytesMax {
		return quoteAlways(text[:shownBytesMax]) + "..."
	}
	return quoteAlways(text)
}

// unknownKey answers how an error shows a name that is no key, and the reason.
func unknownKey(name string) (shown, reason string) {
	if before, _, found := strings.Cut(name, "="); found && lookup(before) != nil {
		return before, "expected a blank, not =, between key and value" // the value may be a secret
	}
	if best := closestKey(name); best != "" {
		return quoteWord(name), "unknown key; did you mean " + best + "?"
	}
	return quoteWord(name), "unknown key; mithril --help lists the keys"
}

// closestKey returns the key that the fewest edits turn name into, or "" when
// even that one takes edits in more than a third of its letters.
func closestKey(name string) string {
	const nameBytesMax = 64 // no key is as long; bounds the work for a stray word
	if len(name) > nameBytesMax {
		return ""
	}
	name = strings.ToLower(name)
	best, bestEdits := "", nameBytesMax
	for i := range keys {
		candidate := keys[i].name
		allowed := min(max(len(candidate)/3, 1), bestEdits-1)
		if max(len(name)-len(candidate), len(candidate)-len(name)) > allowed {
			continue
		}
		if n := edits(name, candidate); n <= allowed {
			best, bestEdits = candidate, n
		}
	}
	return best
}

// edits is the least number of bytes to insert, delete or replace that turns a
// into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

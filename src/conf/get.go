package conf

import (
	"fmt"
	"slices"
	"strings"

	"mithril/src/glob"
)

// KV is one key and its value as CONFIG GET prints it.
type KV struct{ Key, Value string }

// Get returns the keys that match any of the glob patterns, in any case, each
// once and in the order of the key table. A value has the form that the file
// accepts, sizes in bytes; the lines of a repeatable key are separated by line
// feeds where one line cannot hold them. A secret that is set is (redacted).
func (c *Config) Get(patterns ...string) []KV {
	var found []KV
	for i := range keys {
		k := &keys[i]
		if !slices.ContainsFunc(patterns, func(p string) bool { return glob.MatchFold(p, k.name) }) {
			continue
		}
		value := k.kind.value(c)
		if k.secret && value != "" {
			value = redacted
		}
		found = append(found, KV{Key: k.name, Value: value})
	}
	return found
}

// Usage is the text of --help: the forms of the command line, then every key
// with its default, what it accepts and its meaning.
func Usage() string {
	var b strings.Builder
	b.WriteString(`Usage: mithril [conf-file] [--key value]...
       mithril --check [conf-file] [--key value]...
       mithril --version
       mithril --help

The conf file holds the same keys, one "key value" a line; the command line
wins. "include path" reads another file. Keys, with their defaults:

`)
	for i := range keys {
		k := &keys[i]
		fmt.Fprintf(&b, "  %s %s\n      %s\n      %s%s\n", k.name, k.def, k.help, k.kind.accepts(), k.notes())
	}
	return b.String()
}

// notes are the remarks on a key that its help and kind do not tell.
func (k *key) notes() string {
	var notes string
	if k.repeat {
		notes += "; repeatable"
	}
	for _, row := range unavailable {
		switch {
		case row.key != k.name:
		case row.others != nil:
			notes += "; in this build: " + strings.Join(append([]string{k.def}, row.others...), ", ")
		default:
			notes += strings.TrimSuffix("; not available in this build: "+row.class, ": ")
		}
	}
	return notes
}

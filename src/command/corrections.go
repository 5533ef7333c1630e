package command

import "mithril/src/resp"

// corrections replaces the key specs behind the first ones of commands whose published specs miss a key, or take an option's value for
// one. They stand for what the servers do in code when they route the command themselves:
//
//   - SORT says that its destination is anywhere.
//   - GEORADIUS names the first STORE and the first STOREDIST; the servers use the last of either.
//   - XREAD names the first word STREAMS, which may also be a group, a consumer or a count.
var corrections = map[string]struct {
	keep int // published specs that stay
	spec KeySpec
}{
	"sort":              {1, storeSpec(&sortOptions)},
	"georadius":         {1, storeSpec(&geoOptions)},
	"georadiusbymember": {1, storeSpec(&geoOptions)},
	"sort_ro":           {1, KeySpec{}},
	"xread":             {0, streamsSpec(&streamReadOptions, KeyRO|KeyAccess)},
	"xreadgroup":        {0, streamsSpec(&streamReadOptions, KeyRO|KeyAccess)},
}

var (
	sortOptions = optionGrammar{from: 2, words: []option{{"limit", 2}, {"get", 1}, {"by", 1}, {"store", 1}}, keys: []string{"store"}}
	geoOptions  = optionGrammar{from: 5, words: []option{{"store", 1}, {"storedist", 1}}, keys: []string{"store", "storedist"}}

	streamReadOptions = optionGrammar{
		from: 1, words: []option{{"block", 1}, {"count", 1}, {"claim", 1}, {"group", 2}, {"noack", 0}}, last: "streams",
		keys: []string{"streams"},
	}
)

func storeSpec(g *optionGrammar) KeySpec {
	return KeySpec{Flags: KeyOW | KeyUpdate, Begin: BeginOption, Count: CountRange, Step: 1, options: g}
}

func streamsSpec(g *optionGrammar, flags KeyFlags) KeySpec {
	return KeySpec{Flags: flags, Begin: BeginOption, Count: CountRange, LastKey: -1, Step: 1, Limit: 2, even: true, options: g}
}

// flagRules say what a request does with its key where the published flags are variable.
var flagRules = map[string]func(frame []byte, args []resp.Arg) KeyFlags{"set": flagsOfSet, "bitfield": flagsOfBitfield}

// flagsOfSet: with GET the old value is read.
func flagsOfSet(frame []byte, args []resp.Arg) KeyFlags {
	for _, arg := range args[3:] {
		if isWord(arg.Of(frame), "get") {
			return KeyRW | KeyAccess | KeyUpdate
		}
	}
	return KeyOW | KeyUpdate
}

// flagsOfBitfield: with nothing but GET the value is not changed. What is malformed might change it.
func flagsOfBitfield(frame []byte, args []resp.Arg) KeyFlags {
	for i := 2; i < len(args); {
		switch word := args[i].Of(frame); {
		case isWord(word, "get") && i+2 < len(args):
			i += 3
		case isWord(word, "overflow") && i+1 < len(args):
			i += 2
		default:
			return KeyRW | KeyAccess | KeyUpdate
		}
	}
	return KeyRO | KeyAccess
}

// correct applies the corrections to a row.
func (c *Command) correct() {
	c.variableFlags = flagRules[c.Name]
	fix, ok := corrections[c.Name]
	if !ok || len(c.KeySpecs) < fix.keep {
		return
	}
	c.KeySpecs = c.KeySpecs[:fix.keep:fix.keep]
	if fix.spec.Begin != BeginUnknown {
		c.KeySpecs = append(c.KeySpecs, fix.spec)
	}
}

// option is a word of a command's syntax and the number of arguments that belong to it.
type option struct {
	word string // lower case
	args int
}

// optionGrammar is what of a command's syntax is needed to tell its options from their values.
type optionGrammar struct {
	from  int      // first argument that may be an option
	words []option // with their values; one that is not here has none, and ends the options if there is a last word
	last  string   // the word behind which no option follows; empty if none
	keys  []string // the words that keys follow
}

// find returns the position behind the last option among names that has a value, or 0.
func (g *optionGrammar) find(frame []byte, args []resp.Arg, names ...string) int {
	found := 0
	for i := g.from; i < len(args); i++ {
		arg := args[i].Of(frame)
		if i+1 < len(args) {
			for _, name := range names {
				if isWord(arg, name) {
					found = i + 1
				}
			}
		}
		values, known := g.values(arg)
		if !known && g.last != "" {
			break
		}
		i += values
	}
	return found
}

// values returns the number of arguments that belong to an option.
func (g *optionGrammar) values(arg []byte) (n int, known bool) {
	for _, o := range g.words {
		if isWord(arg, o.word) {
			return o.args, true
		}
	}
	return 0, false
}

// isWord compares an argument with a lower-case word in any case. Servers compare C strings, so a NUL byte ends the argument.
func isWord(arg []byte, word string) bool {
	ends := len(arg) == len(word) || len(arg) > len(word) && arg[len(word)] == 0
	return ends && equalFold(arg[:len(word)], word)
}

package conf

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// kind is the type of a key's value: it reads the words that follow the key
// into the key's field and prints the field as such words. What lines prints,
// set reads back to an equal field.
type kind interface {
	// set reads the words of one line and answers "", or why it does not
	// accept them; the field is then unspecified. Kinds that hold several
	// values add to them.
	set(c *Config, words []string) (reason string)
	// clear empties a kind that holds several values before a line that
	// replaces them.
	clear(c *Config)
	// lines prints the field: the words of each line that sets it.
	lines(c *Config) [][]string
	// value prints the field as CONFIG GET does.
	value(c *Config) string
	// accepts says what set accepts, to follow "expected ".
	accepts() string
}

// single is a value of one word.
type single[T any] struct {
	at    func(*Config) *T
	parse func(string) (T, bool)
	print func(T) string
	want  string
}

func (k single[T]) set(c *Config, words []string) string {
	if len(words) != 1 {
		return expected(k)
	}
	v, ok := k.parse(words[0])
	if !ok {
		return expected(k)
	}
	*k.at(c) = v
	return ""
}

func (k single[T]) clear(*Config)              {}
func (k single[T]) lines(c *Config) [][]string { return [][]string{{k.value(c)}} }
func (k single[T]) value(c *Config) string     { return k.print(*k.at(c)) }
func (k single[T]) accepts() string            { return k.want }

func integer(at func(*Config) *int, low, high int) kind {
	parse := func(word string) (int, bool) {
		n, ok := parseInt(word)
		return n, ok && n >= low && n <= high
	}
	show := func(n int) string { return fmt.Sprint(n) }
	return single[int]{at, parse, show, fmt.Sprintf("an integer between %d and %d", low, high)}
}

func port(at func(*Config) *uint16) kind {
	parse := func(word string) (uint16, bool) {
		n, ok := parseInt(word)
		return uint16(n), ok && n >= 0 && n <= math.MaxUint16
	}
	show := func(n uint16) string { return fmt.Sprint(n) }
	return single[uint16]{at, parse, show, "an integer between 0 and 65535"}
}

func size(at func(*Config) *int64, low, high int64) kind {
	parse := func(word string) (int64, bool) {
		n, ok := parseSize(word)
		return n, ok && n >= low && n <= high
	}
	want := fmt.Sprintf("a size between %s and %s, in bytes or with k, kb, m, mb, g or gb", showSize(low), showSize(high))
	return single[int64]{at, parse, printSize, want}
}

func boolean(at func(*Config) *bool) kind {
	return single[bool]{at, parseBool, printBool, "yes or no"}
}

// enum reads one of words, which are indexed by value, in any case.
func enum[T ~uint8](at func(*Config) *T, words []string) kind {
	parse := func(word string) (T, bool) {
		i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
		return T(max(i, 0)), i >= 0
	}
	show := func(v T) string { return words[v] }
	return single[T]{at, parse, show, oneOf(words)}
}

// text reads any one word, the empty one included.
func text(at func(*Config) *string) kind {
	parse := func(word string) (string, bool) { return word, true }
	return single[string]{at, parse, printWord, "one word, in quotes if it has blanks"}
}

// address reads what parse accepts, or the empty word.
func address(at func(*Config) *string, parse func(string) (string, bool), want string) kind {
	orNone := func(word string) (string, bool) {
		if word == "" {
			return "", true
		}
		return parse(word)
	}
	return single[string]{at, orNone, printWord, want}
}

// list is any number of values of one word each, no two equal. Without
// atLeastOne the empty word alone stands for the empty list.
type list[T comparable] struct {
	at         func(*Config) *[]T
	parse      func(string) (T, bool)
	print      func(T) string
	want       string
	commas     bool // values are separated by commas, not by blanks
	atLeastOne bool
}

func (k list[T]) set(c *Config, words []string) string {
	field := k.at(c)
	if !k.atLeastOne && len(words) == 1 && words[0] == "" {
		*field = nil
		return ""
	}
	if k.commas {
		if len(words) != 1 {
			return expected(k)
		}
		words = strings.Split(words[0], ",")
	}
	for _, word := range words {
		v, ok := k.parse(word)
		if !ok {
			return expected(k) + notWord(word, words)
		}
		if slices.Contains(*field, v) {
			return "expected each value once" + notWord(word, words)
		}
		*field = append(*field, v)
	}
	return ""
}

func (k list[T]) clear(c *Config) { *k.at(c) = nil }

func (k list[T]) lines(c *Config) [][]string {
	field := *k.at(c)
	if len(field) == 0 {
		return [][]string{{""}}
	}
	words := make([]string, len(field))
	for i, v := range field {
		words[i] = k.print(v)
	}
	if k.commas {
		words = []string{strings.Join(words, ",")}
	}
	return [][]string{words}
}

func (k list[T]) value(c *Config) string { return joinLines(k.lines(c), "\n") }
func (k list[T]) accepts() string        { return k.want }

// named is any number of names, each followed by its own words; one line each.
type named struct {
	at    func(*Config) *[]Named
	check func(words []string) bool // judges the words behind the name
	want  string
}

func (k named) set(c *Config, words []string) string {
	field := k.at(c)
	if len(words) == 1 && words[0] == "" {
		*field = nil
		return ""
	}
	name, rest := words[0], words[1:]
	if name == "" || !k.check(rest) {
		return expected(k)
	}
	if slices.ContainsFunc(*field, func(n Named) bool { return n.Name == name }) {
		return fmt.Sprintf("expected each name once: %s is already there", quoteWord(name))
	}
	if len(rest) == 0 {
		rest = nil
	}
	*field = append(*field, Named{Name: name, Words: rest})
	return ""
}

func (k named) clear(c *Config) { *k.at(c) = nil }

func (k named) lines(c *Config) [][]string {
	field := *k.at(c)
	if len(field) == 0 {
		return [][]string{{""}}
	}
	lines := make([][]string, len(field))
	for i, n := range field {
		lines[i] = append([]string{n.Name}, n.Words...)
	}
	return lines
}

func (k named) value(c *Config) string { return joinLines(k.lines(c), "\n") }
func (k named) accepts() string        { return k.want }

// allAddrs accepts one or more different addresses.
func allAddrs(words []string) bool {
	for i, word := range words {
		if _, ok := parseAddr(word); !ok || slices.Contains(words[:i], word) {
			return false
		}
	}
	return len(words) > 0
}

func anyWords([]string) bool { return true }

// outputLimits is client-output-buffer-limit: groups of a class and its
// limits; a class not named keeps what it has.
type outputLimits struct{}

// outputHardMin is one receive chunk: a smaller limit would close clients for
// a single reply.
const outputHardMin = 16 << 10

func (k outputLimits) set(c *Config, words []string) string {
	if len(words) == 0 || len(words)%4 != 0 {
		return expected(k)
	}
	for group := range slices.Chunk(words, 4) {
		hard, okHard := parseSize(group[1])
		soft, okSoft := parseSize(group[2])
		secs, okSecs := parseInt(group[3])
		if !okHard || !okSoft || !okSecs || hard < outputHardMin || soft > hard || secs < 0 || secs > secsMax {
			return expected(k)
		}
		limit := OutputLimit{Hard: hard, Soft: soft, SoftSecs: secs}
		switch strings.ToLower(group[0]) {
		case "normal":
			c.OutputNormal = limit
		case "pubsub":
			c.OutputPubsub = limit
		default:
			return expected(k)
		}
	}
	return ""
}

func (k outputLimits) clear(*Config) {}

func (k outputLimits) lines(c *Config) [][]string {
	line := func(class string, l OutputLimit) []string {
		return []string{class, printSize(l.Hard), printSize(l.Soft), fmt.Sprint(l.SoftSecs)}
	}
	return [][]string{line("normal", c.OutputNormal), line("pubsub", c.OutputPubsub)}
}

func (k outputLimits) value(c *Config) string { return joinLines(k.lines(c), " ") }

func (k outputLimits) accepts() string {
	return fmt.Sprintf("normal or pubsub, a hard size of at least %s, a soft size of at most that (0 = none), soft seconds", showSize(outputHardMin))
}

func expected(k kind) string { return "expected " + k.accepts() }

// notWord points at the one of several words that a reason is about.
func notWord(word string, words []string) string {
	if len(words) == 1 {
		return ""
	}
	return ", not " + quoteAlways(word)
}

func joinLines(lines [][]string, between string) string {
	if len(lines) == 1 && len(lines[0]) == 1 && lines[0][0] == "" {
		return ""
	}
	printed := make([]string, len(lines))
	for i, words := range lines {
		printed[i] = joinWords(words)
	}
	return strings.Join(printed, between)
}

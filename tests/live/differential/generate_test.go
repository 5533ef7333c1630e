package differential

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes calls of an engine's commands from their documentation.
type generator struct {
	*rig
	*rand.Rand
	values map[string][]string // of the vocabulary
}

func (g *rig) newGenerator(seed uint64) *generator {
	values := map[string][]string{}
	for key, text := range vocabulary {
		values[key], _ = splitWords(text)
	}
	return &generator{rig: g, Rand: rand.New(rand.NewPCG(seed, 0)), values: values}
}

// The keys that testdata/setup.txt makes, by the group of the commands that are for them.
// Each is there a second time with the tag {t} in front.
var keysOf = map[string][]string{
	"string": {"str", "num", "bits"}, "bitmap": {"bits", "str"}, "hyperloglog": {"hll", "hll2"}, "list": {"list", "list2"}, "set": {"set", "words"},
	"sorted-set": {"zset", "lex", "geo"}, "geo": {"geo"}, "hash": {"hash"}, "stream": {"stream"},
}

// kindsOfKeys has one key of every type, and one that does not exist.
var kindsOfKeys = []string{"str", "list", "set", "zset", "hash", "stream", "none"}

// oddKeys may take the place of any key.
var oddKeys = []string{"", "\x00\xff\r\n", "{}a", "{t", "a b", "none", "none2"}

const tag = "{t}"

// keyChoice draws the keys of one call.
type keyChoice struct {
	tag   string  // in front of each
	mixed bool    // with or without the tag, by lot
	fixed string  // this key alone, unless it is ""
	fits  float64 // how often a key has the type that the command is for
}

// call is a request on its way.
type call struct {
	*generator
	grammar
	keyChoice
	count int // how many keys, fields, weights, ids ... there are
	args  []string
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// valid makes a call that follows the grammar, if its values are right.
func (g *generator) valid(of grammar, keys keyChoice) []string {
	c := call{generator: g, grammar: of, keyChoice: keys, count: 1 + g.IntN(3)}
	c.args = slices.Clone(of.name)
	for _, a := range of.args {
		c.add(a)
	}
	return c.args
}

// add appends an argument, with its parts, or leaves it out.
func (c *call) add(a argument) {
	if a.optional && c.chance(0.5) || a.token == "BLOCK" {
		return
	}
	times := 1
	if a.multiple {
		if times = c.count; c.chance(0.05) {
			times = 1 + c.IntN(4)
		}
	}
	for i := range times {
		if a.token != "" && (i == 0 || a.multipleToken) {
			c.args = append(c.args, c.inSomeCase(a.token))
		}
		switch a.kind {
		case "block":
			for _, part := range a.parts {
				c.add(part)
			}
		case "oneof":
			c.add(pick(c.generator, a.parts))
		case "pure-token":
		case "key":
			c.args = append(c.args, c.key())
		default:
			c.args = append(c.args, c.value(a))
		}
	}
}

func (c *call) inSomeCase(token string) string {
	if c.chance(0.2) {
		return strings.ToLower(token)
	}
	return token
}

// key draws a key.
func (c *call) key() string {
	tagged := func(key string) string {
		if c.mixed && c.chance(0.5) {
			return key
		}
		return c.tag + key
	}
	fit := keysOf[c.group]
	switch {
	case c.fixed != "":
		return tagged(c.fixed)
	case fit != nil && c.chance(c.fits):
		return tagged(pick(c.generator, fit))
	case c.chance(0.2):
		return pick(c.generator, oddKeys)
	}
	return tagged(pick(c.generator, kindsOfKeys))
}

// value draws the value of an argument.
func (c *call) value(a argument) string {
	if counts[a.name] && c.chance(0.9) {
		return string('0' + rune(c.count))
	}
	if values := c.values[a.kind+" "+a.name]; values != nil {
		return pick(c.generator, values)
	}
	if values := c.values[a.kind]; values != nil {
		return pick(c.generator, values)
	}
	return pick(c.generator, c.values["string"])
}

// counts are the names of arguments that say how many others follow.
var counts = map[string]bool{"numkeys": true, "numfields": true}

// oddWords take the place of an argument in a damaged call.
var oddWords = []string{"", "x", "-1", "\x00", "\r\n", strings.Repeat("long", 50), "NX", "COUNT", "STORE", "9223372036854775808", "{t}none"}

// damaged is a call that does not follow the grammar any more, perhaps.
func (g *generator) damaged(of grammar, keys keyChoice) []string {
	args := g.valid(of, keys)
	first := len(of.name)
	moves := 5
	if isTimed(of.args) {
		moves = 2
	}
	for range 1 + g.IntN(2) {
		if len(args) == first {
			return append(args, pick(g, oddWords))
		}
		at := first + g.IntN(len(args)-first)
		switch g.IntN(moves) {
		case 0:
			args = slices.Delete(args, at, at+1)
		case 1:
			args = append(args, pick(g, oddWords))
		case 2:
			args[at] = pick(g, oddWords)
		case 3:
			args = slices.Insert(args, at, args[at])
		case 4:
			other := first + g.IntN(len(args)-first)
			args[at], args[other] = args[other], args[at]
		}
	}
	return args
}

// plain is a command with n arguments in all, each of which is a word or a key.
func (g *generator) plain(of grammar, n int) []string {
	args := slices.Clone(of.name)
	for len(args) < n {
		args = append(args, pick(g, []string{"x", "0", "1", "str", "none"}))
	}
	return args
}

// calls makes the requests for one command: each count of arguments around its arity, keys
// of every type, and by lot so many that follow the grammar and half as many that do not.
func (g *generator) calls(of grammar, byLot int) (requests []request) {
	add := func(args []string) {
		if !g.comparable(args) {
			return
		}
		requests = append(requests, request{args: args, inline: g.chance(0.2)})
	}
	least := int(g.row(of.name).Arity)
	least = max(least, -least)
	for n := max(len(of.name), least-1); n <= least+3; n++ {
		if !isTimed(of.args) || !g.row(of.name).Accepts(n) {
			add(g.plain(of, n))
		}
	}
	if g.row(of.name).HasKeys() {
		for _, key := range kindsOfKeys {
			add(g.valid(of, keyChoice{tag: tag, fixed: key}))
		}
	}
	for i := range byLot {
		keys := keyChoice{tag: tag, fits: 0.8}
		switch {
		case g.chance(0.15):
			keys.mixed = true
		case g.chance(0.15):
			keys.tag = ""
		}
		add(g.valid(of, keys))
		if i%2 == 0 {
			add(g.damaged(of, keys))
		}
	}
	return requests
}

// batches deals requests out by lot, 1 to depthMost to a batch, each behind the setup.
func (g *generator) batches(setup, requests []request) (list []batch) {
	g.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	for len(requests) > 0 {
		n := min(len(requests), 1+g.IntN(depthMost))
		b := batch{seed: g.Uint64(), proto: 2 + len(list)%2, depth: 1 + g.IntN(depthMost), requests: slices.Clone(setup)}
		for _, r := range requests[:n] {
			b.requests = append(append(b.requests, r), g.behind(r)...)
		}
		list, requests = append(list, b), requests[n:]
	}
	return list
}

package ring

import "fmt"

// Kind tells what sort of thing a token names.
type Kind uint8

// The kinds a worker uses.
const (
	KindListener Kind = iota + 1
	KindSession
	KindPipe
)

// Token names the target of an event: a kind, an index into the slab of that kind,
// and the generation of that index, so that an event for something already gone
// is recognised.
//
//	63      56 55                32 31                 0
//	| kind   | generation          | index             |
type Token uint64

// MakeToken packs a token. Only the low 24 bits of generation are kept.
func MakeToken(kind Kind, generation, index uint32) Token {
	return Token(kind)<<56 | Token(generation&GenerationMask)<<32 | Token(index)
}

// GenerationMask covers the bits of a generation that a token keeps.
const GenerationMask = 1<<24 - 1

// Kind is what sort of thing the token names.
func (t Token) Kind() Kind { return Kind(t >> 56) }

// Generation is the generation of the index, 24 bits.
func (t Token) Generation() uint32 { return uint32(t>>32) & GenerationMask }

// Index is the index in the slab of the token's kind.
func (t Token) Index() uint32 { return uint32(t) }

// String writes the token as log lines show it: s12 for session 12, p3 for pipe 3.
func (t Token) String() string {
	letter := map[Kind]string{KindListener: "l", KindSession: "s", KindPipe: "p"}[t.Kind()]
	if letter == "" {
		letter = "?"
	}
	return fmt.Sprintf("%s%d", letter, t.Index())
}

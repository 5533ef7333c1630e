package command

import (
	"encoding/binary"
	"math/bits"
)

// pattern compares a name with the bytes of a request without regard to case, up to sixteen bytes in two steps.
//
// A byte matches if it equals the pattern's byte after setting the bits of its mask: 0x20 for a letter, so that both cases become the
// lower one, and 0 for anything else, so that '_' and DEL stay apart.
type pattern struct {
	head, tail         uint64 // see edges
	headMask, tailMask uint64
	name               string // lower case
}

func newPattern(name string) pattern {
	lower, mask := make([]byte, len(name)), make([]byte, len(name))
	for i := range lower {
		lower[i], mask[i] = foldByte(name[i])
	}
	p := pattern{name: string(lower)}
	p.head, p.tail = edges(lower)
	p.headMask, p.tailMask = edges(mask)
	return p
}

// foldByte returns the lower case of b, and 0x20 if b is a letter.
func foldByte(b byte) (lower, mask byte) {
	if b|0x20 >= 'a' && b|0x20 <= 'z' {
		return b | 0x20, 0x20
	}
	return b, 0
}

// edges returns the first and the last bytes of a name as two words. They overlap in names shorter than sixteen bytes and leave out the
// middle of longer ones. Names of equal length up to sixteen are equal if both words are.
func edges(name []byte) (head, tail uint64) {
	switch n := len(name); {
	case n >= 8:
		return binary.LittleEndian.Uint64(name), binary.LittleEndian.Uint64(name[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(name)), uint64(binary.LittleEndian.Uint32(name[n-4:]))
	case n > 0:
		return uint64(name[0]) | uint64(name[n/2])<<8, uint64(name[n-1])
	}
	return 0, 0
}

// matches reports whether name is the pattern's name; head and tail are its edges.
func (p *pattern) matches(name []byte, head, tail uint64) bool {
	if len(name) != len(p.name) || head|p.headMask != p.head || tail|p.tailMask != p.tail {
		return false
	}
	return len(name) <= 16 || equalFold(name[8:len(name)-8], p.name[8:])
}

// equalFold reports whether b is the start of the lower-case string s in any case.
func equalFold(b []byte, s string) bool {
	if len(b) > len(s) {
		return false
	}
	for i, c := range b {
		if lower, _ := foldByte(c); lower != s[i] {
			return false
		}
	}
	return true
}

// hash spreads names over 64 bits, the same for every case of a name. The multipliers are odd and have no structure.
func hash(n int, head, tail uint64) uint64 {
	const fold = 0x2020202020202020
	h := (head | fold) * 0x9e3779b97f4a7c15
	h ^= bits.RotateLeft64(h, 32)
	h = (h ^ (tail | fold) + uint64(n)) * 0xd6e8feb86659fd93
	return h
}

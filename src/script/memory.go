package script

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"hash/maphash"
)

const (
	// BytesMax is how many bytes of bodies a Memory holds at most.
	BytesMax = 4 << 20

	// BodyBytesMax is the longest body that it takes.
	BodyBytesMax = 256 << 10

	// BodiesMax is how many bodies it holds at most.
	BodiesMax = 8192
)

// Memory is the bodies that one worker has seen. The zero Memory is empty.
type Memory struct {
	young, old generation
}

// seed makes it unknown to clients which bodies share a place.
var seed = maphash.MakeSeed()

// Remember keeps a body, unless it is too long. isNews says that it has not been remembered
// lately.
func (m *Memory) Remember(body []byte) (isNews bool) {
	if len(body) > BodyBytesMax {
		return false
	}
	e := entry{hash: maphash.Bytes(seed, body)}
	if m.young.byBody(e.hash, body) != nil {
		return false
	}
	if known := m.old.byBody(e.hash, body); known != nil {
		e = *known
	} else {
		e.digest = sha1.Sum(body)
	}
	m.keep(e, body)
	return true
}

// Body returns the body with a SHA1, which is given as clients give it: in hex, in either
// case. It is valid until the next call of a method. ok is false for one that is not known.
func (m *Memory) Body(sha []byte) (body []byte, ok bool) {
	var d digest
	if len(sha) != hex.EncodedLen(len(d)) {
		return nil, false
	}
	if _, err := hex.Decode(d[:], sha); err != nil {
		return nil, false
	}
	if e := m.young.byDigest(&d); e != nil {
		return m.young.body(e), true
	}
	known := m.old.byDigest(&d)
	if known == nil {
		return nil, false
	}
	m.keep(*known, m.old.body(known))
	return m.young.body(m.young.byDigest(&d)), true
}

// Forget forgets all bodies.
func (m *Memory) Forget() {
	m.young.reset()
	m.old.reset()
}

// keep puts a body into the young generation. It may lie in the old one, even when that is
// given up for it: then it moves towards the beginning of its own memory.
func (m *Memory) keep(e entry, body []byte) {
	if !m.young.hasRoom(len(body)) {
		m.young, m.old = m.old, m.young
		m.young.reset()
	}
	m.young.add(e, body)
}

type digest [sha1.Size]byte

// entry is one body.
type entry struct {
	hash     uint64 // of the body
	digest   digest
	off, len uint32 // where it is in bodies
}

const (
	generationBytes  = BytesMax / 2
	generationBodies = BodiesMax / 2
	indexSize        = 4 * generationBodies // half full at most
)

// generation is a part of the memory that is forgotten as a whole.
type generation struct {
	bodies  []byte   // one behind the other
	entries []entry  // in the order added
	index   []uint16 // hash of a body or of a digest -> number of its entry from 1 on, or where to look next
}

func (g *generation) body(e *entry) []byte { return g.bodies[e.off : e.off+e.len] }

func (g *generation) hasRoom(n int) bool {
	return len(g.entries) < generationBodies && len(g.bodies)+n <= generationBytes
}

func (g *generation) add(e entry, body []byte) {
	if g.index == nil {
		g.index = make([]uint16, indexSize)
	}
	e.off, e.len = uint32(len(g.bodies)), uint32(len(body))
	g.bodies = append(g.bodies, body...)
	g.entries = append(g.entries, e)
	g.enter(e.hash)
	g.enter(e.digest.hash())
}

// enter makes a hash lead to the newest entry.
func (g *generation) enter(h uint64) {
	at := h % indexSize
	for g.index[at] != 0 {
		at = (at + 1) % indexSize
	}
	g.index[at] = uint16(len(g.entries))
}

func (d *digest) hash() uint64 { return maphash.Bytes(seed, d[:]) }

// byBody finds the entry of a body with its hash, nil if there is none.
func (g *generation) byBody(h uint64, body []byte) *entry {
	for at := h % indexSize; len(g.entries) > 0 && g.index[at] != 0; at = (at + 1) % indexSize {
		if e := &g.entries[g.index[at]-1]; e.hash == h && bytes.Equal(g.body(e), body) {
			return e
		}
	}
	return nil
}

// byDigest is byBody for a digest.
func (g *generation) byDigest(d *digest) *entry {
	for at := d.hash() % indexSize; len(g.entries) > 0 && g.index[at] != 0; at = (at + 1) % indexSize {
		if e := &g.entries[g.index[at]-1]; e.digest == *d {
			return e
		}
	}
	return nil
}

func (g *generation) reset() {
	g.bodies, g.entries = g.bodies[:0], g.entries[:0]
	clear(g.index)
}

package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// shaOf is the SHA1 of a body as clients write it.
func shaOf(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// expect checks whether a body is known.
func expect(t *testing.T, m *Memory, body string, known bool) {
	t.Helper()
	got, ok := m.Body([]byte(shaOf(body)))
	if ok != known || known && string(got) != body {
		t.Fatalf("body of %.20q: %.20q, %v; want it known: %v", body, got, ok, known)
	}
}

func TestContract_SCRIPT1_BodiesAreFoundBySHA1(t *testing.T) {
	var m Memory
	bodies := []string{"return 1", "", "return redis.call('get', KEYS[1])\r\n", "\x00\xff", strings.Repeat("x", BodyBytesMax)}
	for _, body := range bodies {
		expect(t, &m, body, false)
		m.Remember([]byte(body))
		m.Remember([]byte(body))
	}
	for _, body := range bodies {
		expect(t, &m, body, true)
	}
	if n := len(m.young.entries); n != len(bodies) {
		t.Errorf("%d bodies are kept, %d were seen", n, len(bodies))
	}
	if _, ok := m.Body([]byte(strings.ToUpper(shaOf("return 1")))); !ok {
		t.Error("a SHA1 in upper case is not known")
	}
	m.Forget()
	for _, body := range bodies {
		expect(t, &m, body, false)
	}
}

func TestContract_SCRIPT1_WhatIsNoSHA1IsNotKnown(t *testing.T) {
	var m Memory
	m.Remember([]byte("return 1"))
	sha := shaOf("return 1")
	for _, other := range []string{"", "x", sha[:39], sha + "0", sha[:39] + "g", strings.Repeat("f", 40)} {
		if body, ok := m.Body([]byte(other)); ok {
			t.Errorf("%q is known as %q", other, body)
		}
	}
}

func TestContract_SCRIPT1_MemoryIsBounded(t *testing.T) {
	long := strings.Repeat("x", BodyBytesMax)
	for name, tc := range map[string]struct {
		pad  string
		many int
	}{"by number": {"", BodiesMax}, "by bytes": {long[:BodyBytesMax-20], BytesMax / BodyBytesMax}} {
		t.Run(name, func(t *testing.T) {
			var m Memory
			body := func(i int) string { return fmt.Sprintf("return %08d -- %s", i, tc.pad) }
			for i := range 3 * tc.many {
				m.Remember([]byte(body(i)))
				m.Remember([]byte(body(0))) // is used all the time
				if n := len(m.young.entries) + len(m.old.entries); n > BodiesMax {
					t.Fatalf("%d bodies", n)
				}
				if n := len(m.young.bodies) + len(m.old.bodies); n > BytesMax {
					t.Fatalf("%d bytes", n)
				}
			}
			expect(t, &m, body(0), true)
			expect(t, &m, body(1), false)
			for i := 3*tc.many - tc.many/2 + 2; i < 3*tc.many; i++ {
				expect(t, &m, body(i), true)
			}
		})
	}
	var m Memory
	m.Remember([]byte(long + "x"))
	expect(t, &m, long+"x", false)
}

// A body of the old generation for which that is given up comes out whole.
func TestABodyMovesWithinItsOwnMemory(t *testing.T) {
	var m Memory
	first, wanted := strings.Repeat("a", 1000), strings.Repeat("b", BodyBytesMax)+"!"
	wanted = wanted[1:]
	m.Remember([]byte(first))
	m.Remember([]byte(wanted))
	for i := 0; len(m.old.entries) == 0; i++ {
		m.Remember(fmt.Appendf(nil, "%0*d", BodyBytesMax, i))
	}
	for i := 0; m.young.hasRoom(BodyBytesMax); i++ {
		m.Remember(fmt.Appendf(nil, "-%0*d", BodyBytesMax-1, i))
	}
	expect(t, &m, wanted, true)
	if n := len(m.young.entries); n != 1 {
		t.Fatalf("%d bodies in the young generation, want the one that has moved", n)
	}
	expect(t, &m, wanted, true)
	expect(t, &m, first, false)
}

func TestContract_SCRIPT1_KnownBodiesCostNoMemory(t *testing.T) {
	var m Memory
	body := []byte(strings.Repeat("return 1 ", 100))
	sha := []byte(shaOf(string(body)))
	m.Remember(body)
	n := testing.AllocsPerRun(100, func() {
		m.Remember(body)
		if _, ok := m.Body(sha); !ok {
			t.Fatal("not known")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a known body", n)
	}
}

func BenchmarkRemember(b *testing.B) {
	for _, size := range []int{100, 1000} {
		body := []byte(strings.Repeat("x", size))
		b.Run(fmt.Sprintf("known/%d", size), func(b *testing.B) {
			var m Memory
			for b.Loop() {
				m.Remember(body)
			}
		})
		b.Run(fmt.Sprintf("new/%d", size), func(b *testing.B) {
			var m Memory
			for i := 0; b.Loop(); i++ {
				body[i%8] = byte(i >> (i % 8 * 3))
				body[8], body[9], body[10] = byte(i), byte(i>>8), byte(i>>16)
				m.Remember(body)
			}
		})
	}
}

package crc16

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// bitwise is the definition: one bit after the other.
func bitwise(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 16))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// The check value stands in the Redis cluster specification.
func TestCheckValue(t *testing.T) {
	if got := Checksum([]byte("123456789")); got != 0x31C3 {
		t.Errorf("%#04x", got)
	}
	if got := Checksum(nil); got != 0 {
		t.Errorf("of nothing: %#04x", got)
	}
}

// Every kernel agrees with the definition at every length and alignment.
func TestKernelsAtAllLengthsAndAlignments(t *testing.T) {
	data := randomBytes(1, 400)
	for start := range 17 {
		for n := range len(data) - start - 17 {
			b := data[start : start+n : start+n]
			want := bitwise(b)
			for name, kernel := range kernels() {
				if n >= kernel.min && kernel.sum(b) != want {
					t.Fatalf("%s of %d bytes at %d: %#04x, want %#04x", name, n, start, kernel.sum(b), want)
				}
			}
		}
	}
}

func TestChecksumDoesNotAllocate(t *testing.T) {
	short, long := randomBytes(2, 20), randomBytes(3, 200)
	if n := testing.AllocsPerRun(100, func() { Checksum(short); Checksum(long) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzChecksum(f *testing.F) {
	f.Add([]byte("123456789"))
	f.Add(randomBytes(4, 64))
	f.Add(randomBytes(5, 1000))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := bitwise(b)
		for name, kernel := range kernels() {
			if len(b) >= kernel.min && kernel.sum(b) != want {
				t.Fatalf("%s of %q: %#04x, want %#04x", name, b, kernel.sum(b), want)
			}
		}
	})
}

func BenchmarkChecksum(b *testing.B) {
	for _, n := range []int{5, 8, 16, 24, 31, 32, 40, 48, 64, 128, 1024} {
		data := randomBytes(6, n+1)
		for name, kernel := range kernels() {
			if n < kernel.min {
				continue
			}
			b.Run(fmt.Sprintf("%s/%dB", name, n), func(b *testing.B) {
				var sum uint16
				for range b.N {
					from := int(sum & 1) // as in real use, a sum begins when the one before is known
					sum = kernel.sum(data[from : from+n])
				}
			})
		}
	}
}
